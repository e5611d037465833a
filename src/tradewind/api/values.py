"""Pass values between processes: plain values as JSON, others pickled, large ones in files.

Everything except a mapping with a marker stands for itself, so that lists stay lists that a loop can iterate over. Text
that looks like a template is pickled, too, so that it is not filled in. Paths anywhere in a value are made absolute,
because they are read in another folder; paths inside pickled values are listed next to them, so that the cache can
check the contents of the files.
"""

import base64
import io
import os
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tradewind.model.bounds import DEEPEST

MARK = "$tw"
INLINE = 1 << 16
"""Maximum size in bytes of a value inside a message; larger ones are stored in files and passed by reference."""
_BRACES = "{{"
_LARGEST = 1 << 63


class TooLargeError(ValueError):
    """A value that is too large to be sent."""


def pack(value: Any, spill: Callable[[bytes], str], *, split: bool = False) -> Any:
    """Return a value as JSON; `split` keeps an iterable value as a list, however large it is as a whole."""
    if split:
        if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
            raise TypeError(f"a value of {type(value).__name__} cannot be mapped over; return a list")
        return [pack(item, spill) for item in value]
    if isinstance(value, Path):
        return {MARK: "path", "of": os.path.abspath(value)}  # noqa: PTH100 - seen from the folder of the task
    if _size(value, INLINE) >= 0:
        return value
    data, paths = _resolved(value)
    files = {"files": paths} if paths else {}
    if len(data) <= INLINE:
        return {MARK: "pickle", "of": base64.b64encode(data).decode(), **files}
    return {MARK: "file", "of": spill(data), **files}


def unpack(value: Any) -> Any:
    """Return the value that packed JSON stands for."""
    if isinstance(value, list):
        return [unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(MARK)
    if kind is None:
        return {key: unpack(item) for key, item in value.items()}
    of = value["of"]
    match kind:
        case "pickle":
            return pickle.loads(base64.b64decode(of))  # noqa: S301 - the sender may run functions here anyway
        case "file":
            return pickle.loads(Path(of).read_bytes())  # noqa: S301
        case "path":
            return Path(of)
        case "tuple":
            return tuple(unpack(item) for item in of)
        case _:
            found = unpack(of)
            for key in unpack(value["path"]):
                found = found[key]
            return found


def dumps(value: Any) -> bytes:
    """Return a value, or a function, as bytes."""
    import cloudpickle  # type: ignore[import-untyped]  # noqa: PLC0415 - slow, and mostly not needed

    data: bytes = cloudpickle.dumps(value)
    return data


def _resolved(value: Any) -> tuple[bytes, list[str]]:
    """Return a value as bytes with all its paths made absolute, and these paths."""
    buffer = io.BytesIO()
    pickler = _pickler()(buffer)
    pickler.dump(value)
    return buffer.getvalue(), list(pickler.paths)


@cache
def _pickler() -> Any:
    import cloudpickle  # noqa: PLC0415 - slow, and mostly not needed

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
        """A pickler that makes paths absolute, relative to the current folder, and records them."""

        def __init__(self, file: io.BytesIO) -> None:
            super().__init__(file)
            self.paths: dict[str, None] = {}

        def reducer_override(self, each: Any) -> Any:
            if not isinstance(each, Path):
                return super().reducer_override(each)
            path = os.path.abspath(each)  # noqa: PTH100 - links stay links
            self.paths[path] = None
            return type(each), (path,)

    return Pickler


def _size(value: Any, left: int, depth: int = 0) -> int:
    """Return the room left after a plain value, roughly; negative: it does not fit, or is not plain."""
    kind = type(value)
    if depth > DEEPEST // 2:  # leaves room for nesting inside other values
        return -1
    if value is None or kind is bool or kind is float:
        return left - 8 if value == value and value not in (_INFINITE, -_INFINITE) else -1  # noqa: PLR0124
    if kind is int:
        return left - 8 if -_LARGEST <= value < _LARGEST else -1
    if kind is str:
        return left - len(value) if _BRACES not in value and value.isprintable() | value.isascii() else -1
    if kind is list:
        for item in value:
            left = _size(item, left - 1, depth + 1)
            if left < 0:
                return -1
        return left
    if kind is dict and MARK not in value:
        for key, item in value.items():
            if type(key) is not str or _BRACES in key:
                return -1
            left = _size(item, left - len(key) - 4, depth + 1)
            if left < 0:
                return -1
        return left
    return -1


_INFINITE = float("inf")
