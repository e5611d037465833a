"""The files of attempts: in their folders on this host, and, once they have ended, wherever an address says.

Any address that fsspec knows will do. What is asked for is looked for here first and there second, so that folders may
be removed once they are copied. A path that leads out of an attempt's folder, in whatever way, does not exist.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISREG
from typing import Any, BinaryIO, cast

from tradewind.model.errors import TradewindError
from tradewind.model.units import SECOND

_MOST = 10_000
"""Files of one attempt that are listed."""
STREAMS = ("out", "err")


class ArtefactError(TradewindError):
    """An address where no files can be kept."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of an attempt."""

    path: str
    """In the attempt's folder, with slashes."""
    bytes: int
    modified: float | None
    """Seconds since 1970, where it is known."""

    @property
    def is_stream(self) -> bool:
        """Whether it is what a call wrote to its standard output or errors."""
        return self.path.rpartition("/")[2] in STREAMS and self.path.count("/") <= 1


class Artefacts:
    """Finds files of attempts, and copies them where they are to be kept; every verb blocks."""

    def __init__(self, root: Path, url: str = "") -> None:
        self.root = root.resolve()
        self.url = url.rstrip("/")
        self._remote: Any = None
        self._prefix = ""
        if self.url:
            from fsspec.core import url_to_fs  # noqa: PLC0415  a tenth of a second, for what few need

            try:
                self._remote, self._prefix = url_to_fs(self.url)
            except (ImportError, ValueError) as error:
                raise ArtefactError(f"artefacts.url {self.url!r}: {error}") from None

    def files(self, folder: str) -> list[File]:
        """The files of an attempt, by path."""
        local = self._local(folder)
        if local is not None and local.is_dir():
            return sorted(_walk(local), key=lambda file: file.path)
        return sorted(self._remote_files(folder), key=lambda file: file.path)

    def file(self, folder: str, path: str) -> File | None:
        """A file of an attempt; None: there is none."""
        found = self._inside(folder, path)
        if found is not None:
            with suppress(OSError):
                status = found.stat()
                return File(path, status.st_size, status.st_mtime)
        name = self._remote_name(folder, path)
        if name is None:
            return None
        try:
            info = self._remote.info(name)
        except (OSError, ValueError):
            return None
        return File(path, int(info["size"] or 0), None) if info.get("type") == "file" else None

    def open(self, folder: str, path: str) -> BinaryIO:
        """A file of an attempt, to be read; raises `FileNotFoundError`."""
        found = self._inside(folder, path)
        if found is not None:
            return found.open("rb")
        name = self._remote_name(folder, path)
        if name is None:
            raise FileNotFoundError(path)
        return cast("BinaryIO", self._remote.open(name, "rb"))

    def local(self, folder: str, path: str) -> Path | None:
        """Where a file of an attempt lies on this host, if it does."""
        return self._inside(folder, path)

    def keep(self, folder: str) -> int:
        """Copy the files of an attempt that has ended to where they are kept; how many."""
        local = self._local(folder)
        if self._remote is None or local is None or not local.is_dir():
            return 0
        files = list(_walk(local))
        for file in files:
            target = f"{self._prefix}/{local.relative_to(self.root).as_posix()}/{file.path}"
            with suppress(OSError, NotImplementedError):  # object stores have no folders
                self._remote.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._remote.put_file(str(local / file.path), target)
        return len(files)

    def forget(self, run: str) -> None:
        """Remove all files of a run, here and there."""
        if not run or PurePosixPath(run).name != run or run in (".", ".."):
            return
        shutil.rmtree(self.root / run, ignore_errors=True)
        if self._remote is not None:
            with suppress(FileNotFoundError):
                self._remote.rm(f"{self._prefix}/{run}", recursive=True)

    def _local(self, folder: str) -> Path | None:
        """The folder of an attempt, `RUN/CHAIN.ATTEMPT`, wherever all of them lay when the store noted it."""
        parts = PurePosixPath(folder).parts[-2:]
        return self.root.joinpath(*parts) if len(parts) == 2 and ".." not in parts else None

    def _inside(self, folder: str, path: str) -> Path | None:
        """A regular file in a folder, whose real place is in there, too."""
        base = self._local(folder)
        if base is None or not _is_plain(path):
            return None
        try:
            found = (base / path).resolve(strict=True)
            if not found.is_relative_to(base.resolve(strict=True)) or not S_ISREG(found.stat().st_mode):
                return None
        except (OSError, ValueError, RuntimeError):
            return None
        return found

    def _remote_name(self, folder: str, path: str) -> str | None:
        base = self._local(folder)
        if self._remote is None or base is None or not _is_plain(path):
            return None
        return f"{self._prefix}/{base.relative_to(self.root).as_posix()}/{path}"

    def _remote_files(self, folder: str) -> Iterator[File]:
        name = self._remote_name(folder, "x")
        if name is None:
            return
        prefix = name[:-1]
        try:
            found = self._remote.find(prefix.rstrip("/"), detail=True)
        except (OSError, ValueError):
            return
        start = prefix.lstrip("/")
        for each, info in list(found.items())[:_MOST]:
            yield File(each.lstrip("/").removeprefix(start), int(info["size"] or 0), None)


def _is_plain(path: str) -> bool:
    """Whether a path names something below, and nothing else."""
    parts = path.split("/")
    return bool(path) and "\0" not in path and "\\" not in path and not any(part in ("", ".", "..") for part in parts)


def _walk(folder: Path) -> Iterator[File]:
    """All regular files below a folder; links lead elsewhere and are left out."""
    left = _MOST
    stack = [folder]
    while stack and left:
        try:
            entries = sorted(os.scandir(stack.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                stack.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False) and left:
                left -= 1
                status = entry.stat(follow_symlinks=False)
                name = Path(entry.path).relative_to(folder).as_posix()
                yield File(name, status.st_size, round(status.st_mtime * SECOND) / SECOND)
