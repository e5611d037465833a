"""Choose the backend: a named server or folder; otherwise, with a current profile, its server or this folder.

A run that was started in this folder is found here under any current profile.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tradewind.client.backend import Backend
from tradewind.client.errors import ClientError, NoServerError
from tradewind.client.profiles import load_profiles

if TYPE_CHECKING:
    from tradewind.client.http import Http

FOLDER = Path(".tradewind")


class Where(NamedTuple):
    """The user's choice of where to look."""

    server: str | None = None
    """An address; default `TRADEWIND_SERVER`."""
    profile: str | None = None
    """A name; default the current profile."""
    folder: Path | None = None
    """Use this folder, and no server."""
    here: bool = False
    """Use the current folder, and no server."""


def address(where: Where) -> tuple[str, str] | None:
    """Return address and token of the selected server; None: the store of a folder is selected."""
    token = os.environ.get("TRADEWIND_TOKEN", "")
    if where.here and (where.server is not None or where.profile is not None):
        raise ClientError("--here uses this folder, --server and --profile use a server; give only one of them")
    if where.here or (where.folder is not None and where.server is None and where.profile is None):
        return None
    url = where.server or ("" if where.profile else os.environ.get("TRADEWIND_SERVER", ""))
    if url and token:
        return url, token
    profiles = load_profiles()
    if url:
        known = profiles.of_url(url)
        return url, known.read_token() if known is not None else ""
    name = where.profile or profiles.current
    if not name:
        return None
    profile = profiles.named(name)
    return profile.url, token or profile.read_token()


def settled(where: Where, run: str | None = None) -> tuple[Where, str]:
    """Return where to look for a run, or for everything, and a note if this was ambiguous."""
    found = address(where)
    is_named = where.here or any(each is not None for each in (where.server, where.profile, where.folder))
    if found is None or is_named or not FOLDER.is_dir():
        return where, ""
    if run is not None and _is_here(run, where):
        return Where(folder=FOLDER), f"in {FOLDER}; use --server {found[0]} for that server"
    return where, f"at {found[0]}; use --here for {FOLDER}"


def _is_here(run: str, where: Where) -> bool:
    """Return whether this folder has a run; for the last one, whether none on the server is newer."""
    from tradewind.client.embedded import reading  # noqa: PLC0415 - slow

    try:
        with reading(FOLDER) as folder:
            ours = folder.run(run)
    except ClientError:
        return False
    if run != "last":
        return True
    try:
        with opened(where) as backend:
            theirs = backend.runs(limit=1)
    except ClientError:
        return True
    return not theirs or bool(ours["submitted"] >= theirs[0]["submitted"])


@contextmanager
def opened(where: Where) -> Iterator[Backend]:
    """Open the selected backend for a block."""
    found = address(where)
    backend: Backend
    if found is not None:
        from tradewind.client.http import Http  # noqa: PLC0415 - slow

        backend = Http(*found)
    else:
        from tradewind.client.embedded import Embedded  # noqa: PLC0415 - slow

        backend = Embedded(where.folder or FOLDER)
    try:
        yield backend
    finally:
        backend.close()


@contextmanager
def server(where: Where, what: str) -> "Iterator[Http]":
    """Open the selected server for an operation that only a server supports."""
    from tradewind.client.http import Http  # noqa: PLC0415 - slow

    found = address(where)
    if found is None:
        raise NoServerError(what)
    backend = Http(*found)
    try:
        yield backend
    finally:
        backend.close()
