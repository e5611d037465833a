"""Files between the server's folder and agents: inputs go out, outputs come in.

An agent reads what its orders name, as far as it belongs to the tenant whose run it is; it writes into the folders of
attempts that it was given. Names are checked, and links are not followed out of those folders.
"""

import base64
import binascii
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from tradewind.live.engines.pull import Key
from tradewind.live.order_json import Sent, is_plain_path
from tradewind.live.uploads import INPUTS, folder_of
from tradewind.server.context import Context
from tradewind.server.problems import Problem

_MOST_SMALL = 10_000


async def sent(context: Context, key: Key, file: Sent) -> Response:
    """A file on its way to an agent, if the run may read it."""
    place = context.service.place_of(*key)
    if place is None:
        raise Problem(404, "the attempt is over")
    path = await run_in_threadpool(_resolved, Path(file.path).parent / file.name)
    if path is None or not await _is_readable(context, path, place.tenant):
        raise Problem(410, f"{file.name!r} is not there, or not for this run")
    return FileResponse(path, media_type="application/octet-stream")


async def _is_readable(context: Context, path: Path, tenant: str) -> bool:
    """Whether a file is one of a tenant's uploads, or was left by one of its runs."""
    runs = context.artefacts.root
    if path.is_relative_to(runs.parent / INPUTS):
        return path.is_relative_to(folder_of(runs.parent, tenant))
    if not path.is_relative_to(runs) or path == runs:
        return False
    head = await context.look(context.pages.head, path.relative_to(runs).parts[0])
    return head is not None and head.tenant == tenant


async def kept(context: Context, key: Key, path: str, content: AsyncIterator[bytes]) -> None:
    """Store a file of an attempt, all of it or nothing."""
    target = await run_in_threadpool(_target, context, key, path)
    part = target.with_name(f".{os.urandom(8).hex()}")
    try:
        with part.open("xb") as file:
            async for chunk in content:
                await run_in_threadpool(file.write, chunk)
        await run_in_threadpool(part.replace, target)
    except OSError as error:
        raise Problem(409, f"{path!r} cannot be stored: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


async def kept_small(context: Context, key: Key, small: Any) -> None:
    """Store the small files that came with the end of an attempt."""
    if not isinstance(small, dict) or len(small) > _MOST_SMALL:
        raise Problem(422, "files: a mapping of paths and contents is expected", type="/problems/request")
    await run_in_threadpool(_write_all, context, key, small)


def _write_all(context: Context, key: Key, small: dict[str, Any]) -> None:
    for path, text in small.items():
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise Problem(422, f"files: {path!r:.100} is not base64", type="/problems/request") from None
        target = _target(context, key, path)
        part = target.with_name(f".{os.urandom(8).hex()}")
        try:
            part.write_bytes(data)
            part.replace(target)
        except OSError as error:
            raise Problem(409, f"{path!r} cannot be stored: {error.strerror}") from None
        finally:
            part.unlink(missing_ok=True)


def _target(context: Context, key: Key, path: str) -> Path:
    """Where a file of an attempt goes, with its folder made."""
    place = context.service.place_of(*key)
    if place is None:
        raise Problem(404, "the attempt is over")
    if not is_plain_path(path):
        raise Problem(422, f"{path!r:.100} is not the path of a file in a folder", type="/problems/request")
    base = Path(place.folder)
    target = base / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.resolve(strict=True).is_relative_to(base.resolve(strict=True)):
            raise Problem(422, f"{path!r:.100} leads out of the attempt's folder", type="/problems/request")
    except OSError as error:
        raise Problem(409, f"{path!r} cannot be stored: {error.strerror}") from None
    return target


def _resolved(path: Path) -> Path | None:
    """The regular file behind a path."""
    try:
        found = path.resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return found if found.is_file() else None
