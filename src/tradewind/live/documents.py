"""Plain data as bytes and back: how workflows, programs and chains are kept in the store.

Frozen dataclasses become JSON with the name of their class; what equals its default is left out. Only the classes
listed here are ever made, so that a store can be read without trusting it.
"""

from typing import Any

import orjson

from tradewind.core.chains.chain import Chain
from tradewind.live.encoding import SET, TUPLE, TYPE, encode
from tradewind.model.action import Call, Container, Derived, Divisible, Function, Limits, Lot, Output, Ref, Shell
from tradewind.model.elastic import Elastic
from tradewind.model.program import Kind, Loop, Parameter, Program, Retries, Step
from tradewind.model.requirement import Requirement
from tradewind.model.workflow import Checkpoint, File, Retry, Task, Workflow

__all__ = ["decode", "encode"]

_KNOWN = {
    each.__name__: each
    for each in (
        *(Call, Chain, Checkpoint, Container, Derived, Divisible, Elastic, File, Function, Limits, Loop, Lot, Output),
        *(Parameter, Program, Ref, Requirement, Retries, Retry, Shell, Step, Task, Workflow),
    )
}


def decode(data: bytes) -> Any:
    """Plain data from bytes."""
    return _value(orjson.loads(data))


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(each) for each in plain]
    if not isinstance(plain, dict):
        return plain
    if TUPLE in plain:
        return tuple(_value(each) for each in plain[TUPLE])
    if SET in plain:
        return frozenset(plain[SET])
    name = plain.get(TYPE)
    if name is None:
        return {key: _value(each) for key, each in plain.items()}
    values = {key: _value(each) for key, each in plain.items() if key != TYPE}
    if name == Parameter.__name__ and "kind" in values:
        values["kind"] = Kind(values["kind"])
    return _KNOWN[name](**values)
