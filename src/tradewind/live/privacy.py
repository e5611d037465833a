"""Folders and files that only their user may read: stores hold secrets, and workflows of all tenants."""

import os
from contextlib import suppress
from pathlib import Path

HIDDEN = ".tradewind"
"""Folders of this name are ours, whoever made them."""


def private_folder(folder: Path, *, is_ours: bool = False) -> None:
    """Make a folder for its user alone; one that is there is closed to others if it is surely ours."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    elif is_ours or folder.name == HIDDEN:
        _close(folder, 0o700)


def private_file(path: Path) -> None:
    """Make an empty file for its user alone, or close one that is there to others.

    One that is there is not opened: with the first descriptor of a file that a process closes it loses all its locks on
    that file, those of SQLite included, and the next reader from elsewhere would remove a log that is still written.
    """
    with suppress(OSError):  # it is there, or whoever opens it will be told why not
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    _close(path, 0o600)


def _close(path: Path, mode: int) -> None:
    with suppress(OSError):  # it belongs to another user, or is not there
        if path.stat().st_mode & 0o077:
            path.chmod(mode)
