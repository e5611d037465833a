"""Which backend is meant: a server that is named, the current profile's, or the store of a folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tradewind.client.backend import Backend
from tradewind.client.errors import NoServerError
from tradewind.client.profiles import load_profiles

if TYPE_CHECKING:
    from tradewind.client.http import Http

FOLDER = Path(".tradewind")


class Where(NamedTuple):
    """What a user has said about where to look."""

    server: str | None = None
    """An address; else `TRADEWIND_SERVER`."""
    profile: str | None = None
    """A name; else the current one."""
    folder: Path | None = None
    """Look there, and ask no server."""


def address(where: Where) -> tuple[str, str] | None:
    """Address and token of the server that is meant; None: the store of a folder is."""
    token = os.environ.get("TRADEWIND_TOKEN", "")
    if where.folder is not None and where.server is None and where.profile is None:
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


@contextmanager
def opened(where: Where) -> Iterator[Backend]:
    """The backend that is meant, as long as it is needed."""
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
    """The server that is meant, for what only a server can do."""
    from tradewind.client.http import Http  # noqa: PLC0415 - slow

    found = address(where)
    if found is None:
        raise NoServerError(what)
    backend = Http(*found)
    try:
        yield backend
    finally:
        backend.close()
