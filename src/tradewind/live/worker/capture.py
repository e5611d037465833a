"""Where an interpreter's output goes: into the folder of the call, but no file is made before something is written.

Two empty files cost as much as the rest of a small call. So Python's own streams open their file when they are first
written to. What libraries and processes write past them falls into a spool of the interpreter, which the worker sees
grow, and is copied when the call ends.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH108, PTH118

import io
import os
import sys
from typing import BinaryIO, cast

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
_PIECE = 1 << 20


def spool(folder: str) -> int:
    """A file without a name."""
    path = os.path.join(folder, f"spool-{os.getpid()}")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return file


class Stream(io.RawIOBase):
    """Standard output or error of the call that runs."""

    def __init__(self, file: int, name: str, spool: int) -> None:
        self.folder = ""
        self._file = file
        self._name = name
        self._spool = spool
        self._opened = False
        os.dup2(spool, file)

    def open(self) -> None:
        """Make the file in the call's folder and let everybody write there."""
        file = os.open(os.path.join(self.folder, self._name), _APPEND, 0o666)
        os.dup2(file, self._file)
        os.close(file)
        self._opened = True

    def end(self) -> None:
        """Leave the call's file; add what was written before there was one."""
        if self._opened:
            os.dup2(self._spool, self._file)
            self._opened = False
        if size := os.fstat(self._spool).st_size:
            file = os.open(os.path.join(self.folder, self._name), _APPEND, 0o666)
            for at in range(0, size, _PIECE):
                os.write(file, os.pread(self._spool, _PIECE, at))
            os.close(file)
            os.ftruncate(self._spool, 0)

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write to the call's file."""
        if not self._opened:
            self.open()
        return os.write(self._file, data)

    def fileno(self) -> int:
        """The number that processes inherit."""
        return self._file


class Capture:
    """Both streams of an interpreter."""

    def __init__(self, spools: tuple[int, int]) -> None:
        self._streams = (Stream(1, "out", spools[0]), Stream(2, "err", spools[1]))
        texts = [
            io.TextIOWrapper(
                cast("BinaryIO", stream),  # unbuffered: every print shows at once
                encoding="utf-8",
                errors="backslashreplace",
                write_through=True,
            )
            for stream in self._streams
        ]
        sys.stdout, sys.stderr = self._texts = (texts[0], texts[1])

    def begin(self, folder: str) -> None:
        """A call begins in a folder."""
        for stream in self._streams:
            stream.folder = folder

    def end(self) -> None:
        """It has ended, and may have changed the streams."""
        sys.stdout, sys.stderr = self._texts
        for stream in self._streams:
            stream.end()
