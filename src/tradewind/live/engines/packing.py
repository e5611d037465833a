"""Orders as plain values that a worker can read without importing the model."""

import os.path
from collections.abc import Mapping
from typing import Any

from tradewind.live.port import Order, ShareOrder
from tradewind.live.worker.wire import PackedCall, PackedOrder
from tradewind.model.action import Action, Call, Container, Derived, Divisible, Function, Ref, shell_words
from tradewind.model.units import Duration, in_seconds


def pack(order: Order, root: str, base: str = "") -> tuple[Any, ...]:
    """An order on its way to a worker; folders that are not absolute are taken to lie in the root.

    `base`: where processes of shares reach the control plane.
    """
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
            variables={} if order.share is None else _variables(order.share, base),
            calls=[_call(call, order.share) for call in order.calls],
        )
    )


def _variables(share: ShareOrder, base: str) -> dict[str, str]:
    """What the process of a share finds in its environment."""
    return {
        "TRADEWIND_SERVER": base,
        "TRADEWIND_URL": f"{base}{share.path}",
        "TRADEWIND_LEASE": share.lease,
        "TRADEWIND_ITERATIONS": str(share.iterations),
    }


def _call(call: Call, share: ShareOrder | None) -> Any:
    action = call.action
    if isinstance(action, Function):
        kind, target, image = "function", action.target, ""
    elif isinstance(action, Container):
        kind, target, image = "container", action.command, action.image
    elif isinstance(action, Divisible):
        is_share = share is not None and share.iterations > 0
        kind, target, image = ("share", action.command, "") if is_share else ("reduce", action.reduce, "")
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
            shell=() if isinstance(action, Function) or not action.shell else shell_words(action.shell),
        )
    )


def _more(action: Action) -> tuple[Any, ...]:
    if isinstance(action, Container):
        return (action.entrypoint, *action.options)
    return (action.target, action.reducer) if isinstance(action, Divisible) else ()


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
