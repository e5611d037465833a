"""Plain data as bytes and back: how workflows, programs and chains are kept in the store.

Frozen dataclasses become JSON with the name of their class; what equals its default is left out. Only the classes
listed here are ever made, so that a store can be read without trusting it.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

import orjson

from tradewind.core.chains.chain import Chain
from tradewind.model.action import Call, Container, Derived, Function, Limits, Output, Ref, Shell
from tradewind.model.program import Kind, Loop, Parameter, Program, Retries, Step
from tradewind.model.requirement import Requirement
from tradewind.model.workflow import File, Retry, Task, Workflow

_KNOWN = {
    each.__name__: each
    for each in (
        *(Call, Chain, Container, Derived, File, Function, Limits, Loop, Output, Parameter, Program, Ref, Requirement),
        *(Retries, Retry, Shell, Step, Task, Workflow),
    )
}
_TYPE = "$"
_SET = "$set"
_TUPLE = "$tuple"


def encode(value: Any) -> bytes:
    """Plain data as bytes."""
    return bytes(memoryview(orjson.dumps(_plain(value))))  # copied, for orjson's own keeps 4 KB however short it is


def decode(data: bytes) -> Any:
    """Plain data from bytes."""
    return _value(orjson.loads(data))


def _plain(value: Any) -> Any:
    kind: type = type(value)
    if kind in (str, int, float, bool, type(None)):
        return value
    if kind is tuple:
        return {_TUPLE: [_plain(each) for each in value]}
    if kind is list:
        return [_plain(each) for each in value]
    if kind is frozenset:
        return {_SET: sorted(value)}
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        row: dict[str, Any] = {_TYPE: kind.__name__}
        for name, default in _defaults(kind):
            each = getattr(value, name)
            if each is not default and each != default:
                row[name] = _plain(each)
        return row
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    raise TypeError(f"{kind.__name__} cannot be kept in the store")


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    if _TUPLE in plain:
        return tuple(_value(each) for each in plain[_TUPLE])
    if _SET in plain:
        return frozenset(plain[_SET])
    name = plain.get(_TYPE)
    if name is None:
        return {key: _value(each) for key, each in plain.items()}
    values = {key: _value(each) for key, each in plain.items() if key != _TYPE}
    if name == Parameter.__name__ and "kind" in values:
        values["kind"] = Kind(values["kind"])
    return _KNOWN[name](**values)


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((each.name, _default(each)) for each in fields(kind))


def _default(each: Field[Any]) -> Any:
    if each.default is not MISSING:
        return each.default
    factory: Callable[[], Any] | Any = each.default_factory
    return MISSING if factory is MISSING else factory()
