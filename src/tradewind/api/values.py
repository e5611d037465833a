"""Values on their way between processes: as JSON where they are plain, else pickled, large ones in files.

Whatever is no mapping with a mark stands for itself, so that lists stay lists that a loop can go over. Text that looks
like a template is pickled too, for nobody may fill it in.
"""

import base64
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

MARK = "$tw"
INLINE = 1 << 16
"""Bytes up to which a value travels inside a message; larger ones are files, passed by reference."""
_BRACES = "{{"
_LARGEST = 1 << 63


class TooLargeError(ValueError):
    """A value that is too large to be sent along."""


def pack(value: Any, spill: Callable[[bytes], str], *, split: bool = False) -> Any:
    """A value as JSON; `split` keeps what can be looped over a list, however large it is as a whole."""
    if split:
        if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
            raise TypeError(f"a value of {type(value).__name__} cannot be mapped over; return a list")
        return [pack(item, spill) for item in value]
    if isinstance(value, Path):
        return {MARK: "path", "of": os.path.abspath(value)}  # noqa: PTH100 - seen from the folder of the task
    if _size(value, INLINE) >= 0:
        return value
    data = dumps(value)
    if len(data) <= INLINE:
        return {MARK: "pickle", "of": base64.b64encode(data).decode()}
    return {MARK: "file", "of": spill(data)}


def unpack(value: Any) -> Any:
    """The value that some JSON stands for."""
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
            return pickle.loads(base64.b64decode(of))  # noqa: S301 - from whoever may run functions here anyway
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
    """A value, or a function, as bytes."""
    import cloudpickle  # type: ignore[import-untyped]  # noqa: PLC0415 - slow, and mostly not needed

    data: bytes = cloudpickle.dumps(value)
    return data


def _size(value: Any, left: int) -> int:
    """What is left of some room after a plain value, roughly; below zero: it does not fit, or is not plain."""
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return left - 8 if value == value and value not in (_INFINITE, -_INFINITE) else -1  # noqa: PLR0124
    if kind is int:
        return left - 8 if -_LARGEST <= value < _LARGEST else -1
    if kind is str:
        return left - len(value) if _BRACES not in value and value.isprintable() | value.isascii() else -1
    if kind is list:
        for item in value:
            left = _size(item, left - 1)
            if left < 0:
                return -1
        return left
    if kind is dict and MARK not in value:
        for key, item in value.items():
            if type(key) is not str or _BRACES in key:
                return -1
            left = _size(item, left - len(key) - 4)
            if left < 0:
                return -1
        return left
    return -1


_INFINITE = float("inf")
