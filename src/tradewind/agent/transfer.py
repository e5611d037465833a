"""Files to and from an agent: inputs are fetched once and shared by attempts, outputs are uploaded when they end.

On the server an input has another path than here, and so has an attempt's folder. Texts in inputs that name a file on
the server name the fetched one instead, and texts in results the other way round.
"""

import asyncio
import base64
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tradewind.agent.control_plane import PREFIX, Backoff, ControlPlane, RefusedError, UnreachableError
from tradewind.live.order_json import RemoteOrder, Sent, end_json, is_plain_path, replaced
from tradewind.live.port import Broke, Done
from tradewind.live.worker.outputs import OURS
from tradewind.model.action import Call, Json

INPUTS = "inputs"
SMALL = 64 << 10
"""Bytes of a file that travels with the report."""
_MUCH = 1 << 20
"""Bytes of all of them."""
_MOST = 10_000
"""Files of one attempt."""
KEPT = 3600.0
"""Seconds for which an input that no attempt needs is kept, for another one may."""


class Transfer:
    """Moves the files of attempts between a server and a folder."""

    def __init__(self, server: ControlPlane, folder: Path, name: str) -> None:
        self._server = server
        self._folder = folder / INPUTS
        self._name = name
        self._fetching: dict[Path, asyncio.Task[None]] = {}

    # Inputs

    async def inputs(self, order: RemoteOrder, session: str) -> tuple[Call, ...]:
        """Fetch what an order needs; its calls, with paths of this host."""
        for index, sent in enumerate(order.files):
            place = self._home(sent.path) / sent.name
            address = f"{self._address(order)}/inputs/{index}?session={session}"
            await self._fetched(address, place, sent)
        names = self._names(order.files)
        return tuple(
            Call(
                call.id,
                call.action,
                {name: replaced(value, lambda text: _swap(text, names)) for name, value in call.inputs.items()},
                call.outputs,
                call.environment,
                call.limits,
            )
            for call in order.calls
        )

    async def _fetched(self, address: str, place: Path, sent: Sent) -> None:
        if place.is_file() and place.stat().st_size == sent.size:
            os.utime(place.parent)
            return
        task = self._fetching.get(place)
        if task is None:
            task = self._fetching[place] = asyncio.create_task(self._fetch(address, place, sent.size))
            task.add_done_callback(lambda _: self._fetching.pop(place, None))
        await asyncio.shield(task)

    async def _fetch(self, address: str, place: Path, size: int) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        await _patiently(lambda: self._server.fetch(address, place, size))

    def _home(self, path: str) -> Path:
        return self._folder / sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    def _names(self, files: Iterable[Sent]) -> list[tuple[str, str]]:
        """Paths on the server and here, longest first: one may begin like another."""
        pairs = {sent.path: str(self._home(sent.path) / sent.name.split("/")[0]) for sent in files}
        return sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def tidy(self, needed: Iterable[RemoteOrder]) -> None:
        """Remove inputs that nothing needs and that have not been used for a while."""
        used = {self._home(sent.path) for order in needed for sent in order.files}
        before = time.time() - KEPT
        with suppress(OSError):
            for place in self._folder.iterdir():
                if place not in used and place.stat().st_mtime < before:
                    shutil.rmtree(place, ignore_errors=True)

    # Outputs

    async def end(self, order: RemoteOrder, folder: Path, report: Done | Broke, session: str) -> dict[str, Any]:
        """Upload what an attempt has left; its end as it is told to the server, with small files in it."""
        small: dict[str, str] = {}
        room = _MUCH
        for path in self._left(folder, report):
            place = folder / path
            try:
                size = place.stat().st_size
                if size <= SMALL and size <= room:
                    small[path] = base64.b64encode(place.read_bytes()).decode()
                    room -= size
                    continue
                address = f"{self._address(order)}/files/{quote(path)}?session={session}"
                await _patiently(lambda: self._server.store(address, place))  # noqa: B023 - called at once
            except (OSError, RefusedError) as error:
                if isinstance(report, Done) and Path(path).name not in OURS:
                    why = f"{path} could not be uploaded: {error}"
                    report = Broke(*report[:3], "error", why, usage=report.usage)
        told = end_json(report)
        if "results" in told:
            names = [(str(folder), order.folder), *((here, there) for there, here in self._names(order.files))]
            told["results"] = replaced(told["results"], lambda text: _swap(text, names))
        return told | {"files": small}

    def _left(self, folder: Path, report: Done | Broke) -> list[str]:
        """Paths of the files that go to the server: what the results name, what was printed, and how calls ended."""
        found: dict[str, None] = {}
        if isinstance(report, Done):
            for text in _texts(report.results):
                if text.startswith(f"{folder}/"):
                    found |= dict.fromkeys(_below(folder, text[len(str(folder)) + 1 :]))
        with suppress(OSError):
            for place in (folder, *(each for each in sorted(folder.iterdir()) if each.is_dir())):
                ours = (place / name for name in sorted(OURS))
                found |= dict.fromkeys(each.relative_to(folder).as_posix() for each in ours if each.is_file())
        return [path for path in found if is_plain_path(path)][:_MOST]

    def _address(self, order: RemoteOrder) -> str:
        return f"{PREFIX}/agents/{self._name}/attempts/{order.unit}.{order.attempt}"


def _below(folder: Path, path: str) -> Iterator[str]:
    """A file in a folder, or all files below a path in it."""
    place = folder / path
    if ".." in Path(path).parts:
        return
    if place.is_file():
        yield path
    elif place.is_dir():
        for where, folders, files in os.walk(place):
            folders.sort()
            yield from ((Path(where) / name).relative_to(folder).as_posix() for name in sorted(files))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)


def _swap(text: str, names: Iterable[tuple[str, str]]) -> str:
    for old, new in names:
        text = text.replace(old, new)
    return text


async def _patiently(work: Callable[[], Awaitable[None]]) -> None:
    """Try until the server answers, or somebody gives the attempt up."""
    backoff = Backoff()
    while True:
        try:
            return await work()
        except UnreachableError:
            await asyncio.sleep(backoff.pause())
