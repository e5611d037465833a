"""Orders as plain values that a worker can read without importing the model."""

import json
import os.path
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from tradewind.live.port import Order
from tradewind.live.worker.wire import PackedCall, PackedOrder
from tradewind.model.action import Action, Call, Container, Derived, Divisible, Function, Ref
from tradewind.model.units import Duration, in_seconds


def pack(order: Order, root: str) -> tuple[Any, ...]:
    """An order on its way to a worker; folders that are not absolute are taken to lie in the root."""
    return tuple(
        PackedOrder(
            run=order.run,
            unit=order.unit,
            attempt=order.attempt,
            folder=os.path.join(root, order.folder),  # noqa: PTH118 - five times faster
            checkpoint=os.path.join(root, order.checkpoint) if order.checkpoint else "",  # noqa: PTH118
            cpus=order.cpus,
            memory=order.memory,
            most=order.most,
            calls=[_call(call) for call in order.calls],
        )
    )


def _call(call: Call) -> Any:
    action = call.action
    if isinstance(action, Function):
        kind, target, image = "function", action.target, ""
    elif isinstance(action, Container):
        kind, target, image = "container", action.command, action.image
    elif isinstance(action, Divisible):
        kind, target, image = "divisible", action.command or _child(action.target), ""
    else:
        kind, target, image = "shell", action.command, ""
    return tuple(
        PackedCall(
            id=call.id,
            kind=kind,
            target=target,
            image=image,
            inputs={name: _value(value) for name, value in call.inputs.items()},
            outputs={name: (each.path, each.many, each.value, each.optional) for name, each in call.outputs.items()},
            environment=dict(call.environment),
            run=_seconds(call.limits.run),
            silence=_seconds(call.limits.silence),
            container=_more(action),
        )
    )


def _more(action: Action) -> tuple[Any, ...]:
    if isinstance(action, Container):
        return (action.entrypoint, *action.options)
    return (_described(action),) if isinstance(action, Divisible) else ()


def _child(target: str) -> str:
    """The command that calls a function for each chunk of a partition."""
    return f"exec {shlex.quote(sys.executable)} -m tradewind.worker.child --inputs {shlex.quote(target)}"


def _described(action: Divisible) -> str:
    """A divisible job, as `tradewind.worker.step` reads it."""
    return json.dumps(
        {
            "iterations": action.iterations,
            "within": _seconds(action.within),
            "initial": action.initial,
            "maximum": action.maximum,
            "balancer": action.balancer,
            "reducer": action.reducer,
            "reduce": action.reduce,
        }
    )


def _value(value: Any) -> Any:
    if isinstance(value, Ref):
        return (value.call, value.output, tuple(value.path))
    if isinstance(value, Derived):
        return (None, value.template, _value(value.names))
    if isinstance(value, Mapping):
        return {name: _value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_value(each) for each in value]
    return value


def _seconds(duration: Duration | None) -> float | None:
    return None if duration is None else in_seconds(duration)
