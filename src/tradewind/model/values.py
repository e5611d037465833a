"""What expressions compute with: JSON values of bounded size, how they are shown as text, and what can go wrong."""

import json
import math
from typing import NoReturn

from tradewind.model.action import Json

MOST = 1_000_000
"""Characters or items that a computed value may hold."""
LARGEST = 2**63 - 1
"""Whole numbers beyond do not fit into files and databases."""


class ExpressionError(ValueError):
    """An expression that cannot be read, or that has no value."""


class AbsentError(ExpressionError):
    """A field or item that is not there."""


class MissingError(Exception):
    """An output of a step that was skipped; whoever touches it is skipped in turn."""


class Outputs(dict[str, Json]):
    """The outputs of a step; one that its step declared but did not give, for it was skipped, is missing."""

    def __missing__(self, key: str) -> NoReturn:
        raise MissingError(key)


def show(value: Json) -> str:
    """A value as text: words and numbers as they are written, lists and mappings as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def kind_of(value: Json) -> str:
    """What a value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "a mapping"


def whole(value: Json) -> Json:
    """A number that fits into files and databases."""
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ExpressionError("the number is too large")
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("the number is not finite")
    return value


def sized(value: Json) -> Json:
    """A value that holds, all in all, no more than `MOST` items."""
    left, waiting = MOST, [value]
    while waiting:
        value_inside = waiting.pop()
        if isinstance(value_inside, list | dict):
            left -= len(value_inside)
            if left < 0:
                raise ExpressionError(f"makes more than {MOST:,} items")
            inside = value_inside.values() if isinstance(value_inside, dict) else value_inside
            waiting.extend(item for item in inside if isinstance(item, list | dict))
    return value


def listed(value: Json) -> Json:
    """A value whose items are in lists, never in tuples or ranges."""
    return list(value) if isinstance(value, tuple | range) else value
