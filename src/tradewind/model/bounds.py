"""Bounds on the values that steps, submissions and expressions may pass on.

A value beyond them could not be stored, sent or shown. `flaw` rejects it where it enters, so that one step fails
instead of a later consumer of the value. Imports almost nothing, because workers start often.
"""

from math import isfinite
from typing import Any

DEEPEST = 100
"""Maximum nesting of lists and mappings; encoders give up at about 250."""
LARGEST = 16 << 20
"""Maximum size of a value in bytes, roughly: its characters, and `ITEM` for each item."""
ITEM = 8

_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_SHOWN = 200
"""Maximum number of bits of a number that is shown."""
_TOO_LARGE = f"is larger than {LARGEST >> 20} MiB; write it to a file"


def flaw(value: Any) -> str:
    """Return why a value cannot be passed on, or nothing. Never takes longer than for a value of `LARGEST` bytes."""
    left = LARGEST
    level = [value]
    for _ in range(DEEPEST + 1):
        inside: list[Any] = []
        for each in level:
            if isinstance(each, list | tuple | dict):
                left -= ITEM * len(each)
                if left < 0:
                    return _TOO_LARGE
                inside += each
                if isinstance(each, dict):
                    if not all(type(key) is str for key in each):
                        return "contains a mapping with a key that is not text"
                    inside += each.values()
            elif type(each) is str:
                left -= len(each)
                if left < 0:
                    return _TOO_LARGE
                if not is_text(each):
                    return "contains text that is not valid Unicode"
            elif reason := _unfit(each):
                return reason
        level = inside
        if not level:
            return ""
    return f"is nested more than {DEEPEST} levels deep"


def _unfit(value: Any) -> str:
    """Return the same for scalars other than text."""
    kind = type(value)
    if kind is int:
        shown = f": {value}" if value.bit_length() <= _SHOWN else ""
        return "" if _LEAST <= value <= _MOST else f"contains a number of more than 64 bits{shown}"
    if kind is float:
        return "" if isfinite(value) else f"contains {value}, which is not a finite number"
    return "" if value is None or kind is bool else f"contains a {kind.__name__}, which is not JSON"


def is_text(text: str) -> bool:
    """Return whether text can be encoded: it contains no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def readable(text: str) -> str:
    """Return text that can be encoded, with a question mark for each lone surrogate."""
    return text if is_text(text) else text.encode("utf-8", "replace").decode()
