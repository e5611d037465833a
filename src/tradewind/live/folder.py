"""What is where in the folder of a session or server, and who may work there."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tradewind.live.privacy import private_folder
from tradewind.model.errors import TradewindError

STORE = "store.db"
ELSEWHERE = "store.url"
"""Says where the store is instead, for a folder whose runs are kept elsewhere."""
RUNS = "runs"
"""Holds a folder for each run."""
LOCK = "server.lock"
"""Whoever works in a folder holds a lock on this file, which ends with its process."""
_GLANCE = 0.05
"""Seconds in which whoever only looks whether somebody works there has surely looked."""


class BusyError(TradewindError):
    """Somebody works in a folder already."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder}: a session or server works there already; wait for it, name the server with --server, or give "
            "another --folder"
        )


class LeftRunningError(TradewindError):
    """A server has left tasks running in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder}: a server left tasks running there; start it again, end them with `tradewind server "
            f"--stop-machines --folder {folder}`, or give another --folder"
        )


class StoreElsewhereError(TradewindError):
    """The runs of a folder are in another store than the one that is named."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: its runs are in another store; leave --store out, or give another --folder")


def store_of(folder: Path, named: str | None = None) -> str | Path:
    """Where the store of a folder is: there, unless its first run has named another one; from then on it stays."""
    own, note = folder / STORE, folder / ELSEWHERE
    known: str | Path | None = own if own.exists() else None
    if note.exists():
        text = note.read_text().strip()
        known = text if _is_address(text) else Path(text)
    if named is None:
        return known or own
    wanted = named if _is_address(named) else Path(named.removeprefix("sqlite:///")).resolve()
    if known is not None and wanted != (known if isinstance(known, str) else known.resolve()):
        raise StoreElsewhereError(folder)
    return known or wanted


def note_store(folder: Path, where: str | Path) -> None:
    """Remember where the store of a folder is; only its user may read that, for an address can hold a password."""
    note = folder / ELSEWHERE
    if where == folder / STORE or note.exists():
        return
    new = note.with_suffix(".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:  # noqa: PTH123 - it has no mode
        file.write(f"{where}\n")
    new.replace(note)


def _is_address(text: str) -> bool:
    """Whether a store is in a database server."""
    return "://" in text and not text.startswith("sqlite:///")


def prepare(folder: Path) -> None:
    """Make a folder to work in, closed to other users."""
    private_folder(folder)
    private_folder(folder / RUNS, is_ours=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Be the only one who works in a folder: two would each undo what the other writes."""
    prepare(folder)
    with (folder / LOCK).open("a") as file:
        until = time.monotonic() + _GLANCE
        while not _locks(file, fcntl.LOCK_EX):
            if time.monotonic() > until:
                raise BusyError(folder)
            time.sleep(_GLANCE / 10)
        yield


def is_worked_in(folder: Path) -> bool:
    """Whether a session or server works in a folder now."""
    try:
        with (folder / LOCK).open() as file:
            return not _locks(file, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False
    except OSError:  # nobody can lock here, so nobody can tell
        return True


def _locks(file: IO[str], how: int) -> bool:
    """Lock a file until it is closed, unless another process has."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
