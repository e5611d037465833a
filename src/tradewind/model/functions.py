"""The functions of the expression language; each checks its arguments and bounds its result."""

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import TypeAlias

from tradewind.model.action import Json
from tradewind.model.values import MOST, ExpressionError, kind_of, show, whole

Function: TypeAlias = tuple[Callable[..., Json], int, int]
"""The function, with the minimum and maximum number of arguments."""


def _len(value: Json) -> int:
    if not isinstance(value, str | list | dict):
        raise ExpressionError(f"len() of {kind_of(value)}")
    return len(value)


def _range(*bounds: Json) -> list[int]:
    if not all(type(bound) is int for bound in bounds):
        raise ExpressionError("range() takes whole numbers")
    numbers = range(*bounds)
    if len(numbers) > MOST:
        raise ExpressionError(f"range() of more than {MOST:,} numbers")
    return list(numbers)


def _int(value: Json) -> Json:
    if isinstance(value, str) and len(value) > 40:
        raise ExpressionError("the text is too long for a number")
    if not isinstance(value, str | int | float):
        raise ExpressionError(f"int() of {kind_of(value)}")
    return whole(int(value))


def _float(value: Json) -> Json:
    if not isinstance(value, str | int | float):
        raise ExpressionError(f"float() of {kind_of(value)}")
    return whole(float(value))


def _among(name: str, values: tuple[Json, ...]) -> list[Json]:
    """Return the values to choose from: the arguments, or the only argument if it is a list."""
    given = values[0] if len(values) == 1 and isinstance(values[0], list) else list(values)
    if not given:
        raise ExpressionError(f"{name}() of an empty list")
    return given


def _sum(values: Json) -> Json:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ExpressionError("sum() takes a list of numbers")
    return whole(sum(values))


def _sorted(values: Json) -> list[Json]:
    return sorted(_list("sorted", values))


def _basename(path: Json) -> str:
    return PurePosixPath(_text("basename", path)).name


def _stem(path: Json) -> str:
    return PurePosixPath(_text("stem", path)).stem


def _split(text: Json, separator: Json = None) -> list[Json]:
    found = _text("split", text).split(separator if separator is None else _text("split", separator), MOST)
    return _few("split", found)


def _join(values: Json, separator: Json = " ") -> str:
    words = [show(value) for value in _list("join", values)]
    between = _text("join", separator)
    if sum(map(len, words)) + len(between) * len(words) > MOST:
        raise ExpressionError(f"join() makes more than {MOST:,} characters")
    return between.join(words)


def _zip(*lists: Json) -> list[Json]:
    rows = [_list("zip", values) for values in lists]
    if len({len(row) for row in rows}) > 1:
        raise ExpressionError(f"zip() of lists of different lengths: {', '.join(str(len(row)) for row in rows)}")
    return [list(row) for row in zip(*rows, strict=True)]


def _flatten(values: Json) -> list[Json]:
    flat: list[Json] = []
    for value in _list("flatten", values):
        flat += value if isinstance(value, list) else [value]
        _few("flatten", flat)
    return flat


def _only(values: Json) -> Json:
    found = _list("only", values)
    if len(found) != 1:
        raise ExpressionError(f"only() takes a list of one item, not of {len(found)}")
    return found[0]


def _few(name: str, values: list[Json]) -> list[Json]:
    if len(values) > MOST:
        raise ExpressionError(f"{name}() makes more than {MOST:,} items")
    return values


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str):
        raise ExpressionError(f"{name}() takes text, not {kind_of(value)}")
    return value


def _list(name: str, value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise ExpressionError(f"{name}() takes a list, not {kind_of(value)}")
    return value


_ANY = 1000

FUNCTIONS: Mapping[str, Function] = {
    "len": (_len, 1, 1),
    "only": (_only, 1, 1),
    "range": (_range, 1, 3),
    "str": (show, 1, 1),
    "int": (_int, 1, 1),
    "float": (_float, 1, 1),
    "min": (lambda *values: min(_among("min", values)), 1, _ANY),
    "max": (lambda *values: max(_among("max", values)), 1, _ANY),
    "sum": (_sum, 1, 1),
    "sorted": (_sorted, 1, 1),
    "basename": (_basename, 1, 1),
    "stem": (_stem, 1, 1),
    "split": (_split, 1, 2),
    "join": (_join, 1, 2),
    "zip": (_zip, 1, _ANY),
    "flatten": (_flatten, 1, 1),
}

GROWING = frozenset({"range", "split"})
"""Functions whose result may be larger than their arguments."""
