"""What is where in the folder of a session or server, and who may work there."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tradewind.model.errors import TradewindError

STORE = "store.db"
RUNS = "runs"
"""Holds a folder for each run."""
LOCK = "server.lock"
"""Whoever works in a folder holds a lock on this file, which ends with its process."""


class BusyError(TradewindError):
    """Somebody works in a folder already."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder}: a session or server works there already; wait for it, name the server with --server, or give "
            "another --folder"
        )


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Be the only one who works in a folder: two would each undo what the other writes."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(folder) from None
        yield
