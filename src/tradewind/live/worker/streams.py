"""The files `out` and `err` of a call: how they grow, their last lines, and where a flood is cut."""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH116, PTH118

import os

TAIL_LINES = 20
TAIL_BYTES = 4096
_NAMES = ("out", "err")


def size(folder: str) -> int:
    """Bytes written so far."""
    return sum(_size(os.path.join(folder, name)) for name in _NAMES)


def cut(folder: str, most: int) -> int:
    """Throw away what a running call wrote beyond the given size of each stream; the bytes that were thrown away."""
    thrown = 0
    for name in _NAMES:
        path = os.path.join(folder, name)
        if (beyond := _size(path) - most) > 0:
            os.truncate(path, most)  # it appends, and so goes on from here
            thrown += beyond
    return thrown


def cut_file(file: int, most: int) -> int:
    """The same for an open file."""
    beyond = max(0, os.fstat(file).st_size - most)
    if beyond:
        os.ftruncate(file, most)
    return beyond


def close(folder: str, most: int) -> None:
    """Cut the streams of a call that has ended, with a note in place of the middle; its last lines are kept."""
    for name in _NAMES:
        path = os.path.join(folder, name)
        if _size(path) >= most:
            last = _last_bytes(path)
            os.truncate(path, most)
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.write(file, b"\n[tradewind: output was cut here at %d bytes; its end follows]\n" % most + last)
            os.close(file)


def tail(folder: str) -> str:
    """The last lines of what a call wrote, errors first."""
    for name in reversed(_NAMES):
        try:
            last = _last_bytes(os.path.join(folder, name)).decode(errors="replace").rstrip()
        except (OSError, ValueError):
            continue
        if last:
            return "\n".join(last.split("\n")[-TAIL_LINES:])
    return ""


def _last_bytes(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(file, TAIL_BYTES, max(0, os.fstat(file).st_size - TAIL_BYTES))
    finally:
        os.close(file)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
