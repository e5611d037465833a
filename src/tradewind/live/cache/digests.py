"""Digests of files by what is in them; one that has kept its size and time of change is not read again."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from tradewind.live.store.rows import DigestRow

LARGE = 1 << 20
"""Bytes from which on a digest is kept in the store, for reading the file again would cost more."""
LARGEST = 1 << 30
"""Bytes from which on a file is never read: its path, size and time of change stand for it."""
MOST_FILES = 10_000
"""A folder with more files than this has no digest."""
_CHUNK = 1 << 20


class Digest(NamedTuple):
    """What stands for a file or a folder."""

    text: str
    modified: int
    """When it was last changed, in nanoseconds; of a folder, the last of its files."""


class Digests:
    """Digests that were made, by path."""

    def __init__(self, known: Callable[[str], DigestRow | None]) -> None:
        self.fresh: list[DigestRow] = []
        """Of large files, to be kept."""
        self._known = known
        self._memory: dict[str, DigestRow] = {}

    def of(self, path: str) -> Digest | None:
        """The digest of what a path leads to; None: nothing that has one."""
        try:
            status = os.stat(path)  # noqa: PTH116 - pathlib costs more than the call
            if S_ISREG(status.st_mode):
                return Digest(self._file(path, status), status.st_mtime_ns)
            return self._folder(path) if S_ISDIR(status.st_mode) else None
        except (OSError, ValueError):
            return None

    def text(self, path: str) -> str:
        """The digest of a file that must be there, or nothing."""
        found = self.of(path)
        return "" if found is None else found.text

    def _file(self, path: str, status: os.stat_result) -> str:
        size, modified = status.st_size, status.st_mtime_ns
        row = self._memory.get(path)
        if row is None and size >= LARGE:
            row = self._known(path)
        if row is None or row.size != size or row.modified != modified:
            row = DigestRow(path, size, modified, _read(path) if size < LARGEST else f"unread {path} {size} {modified}")
            if size >= LARGE:
                self.fresh.append(row)
        self._memory[path] = row
        return row.digest

    def _folder(self, path: str) -> Digest | None:
        files = files_below(path)
        if files is None:
            return None
        whole, newest = hashlib.sha256(), 0
        for file in files:
            status = os.stat(file)  # noqa: PTH116
            newest = max(newest, status.st_mtime_ns)
            whole.update(f"{os.path.relpath(file, path)}\0{self._file(file, status)}\0".encode())
        return Digest(whole.hexdigest(), newest)


def files_below(folder: str) -> list[str] | None:
    """All files in a folder and the folders in it, in order; None: too many."""
    found: list[str] = []
    for here, folders, names in os.walk(folder):
        folders.sort()
        found += (os.path.join(here, name) for name in sorted(names))  # noqa: PTH118
        if len(found) > MOST_FILES:
            return None
    return found


def _read(path: str) -> str:
    whole = hashlib.sha256()
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            whole.update(chunk)
    return whole.hexdigest()
