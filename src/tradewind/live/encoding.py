"""Plain data as bytes, for `documents` to read; apart from it, as whoever only writes need not load what is read."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

import orjson

TYPE = "$"
SET = "$set"
TUPLE = "$tuple"
_ATOMS = frozenset((str, int, float, bool, type(None)))


def encode(value: Any) -> bytes:
    """Plain data as bytes."""
    return bytes(memoryview(orjson.dumps(_plain(value))))  # copied, for orjson's own keeps 4 KB however short it is


def _plain(value: Any) -> Any:
    kind: type = type(value)
    if kind in _ATOMS:
        return value
    if kind is tuple:
        return {TUPLE: [_plain(each) for each in value]}
    if kind is list:
        return [_plain(each) for each in value]
    if kind is frozenset:
        return {SET: sorted(value)}
    if _is_row(kind):
        row: dict[str, Any] = {TYPE: kind.__name__}
        for name, default in _defaults(kind):
            each = getattr(value, name)
            if each is not default and each != default:
                row[name] = each if type(each) in _ATOMS else _plain(each)
        return row
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    raise TypeError(f"{kind.__name__} cannot be kept in the store")


@cache
def _is_row(kind: type) -> bool:
    return is_dataclass(kind) and not issubclass(kind, Enum)


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((each.name, _default(each)) for each in fields(kind))


def _default(each: Field[Any]) -> Any:
    if each.default is not MISSING:
        return each.default
    factory: Callable[[], Any] | Any = each.default_factory
    return MISSING if factory is MISSING else factory()
