"""From a step in a frame to a call: expressions evaluated, or left to the worker where an earlier call must run
first."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from tradewind.core.chains.frame import Frame
from tradewind.model.action import NOTHING, Call, Container, Derived, Divisible, Json, Output, Ref
from tradewind.model.expression import (
    OPEN,
    Allowance,
    Expression,
    ExpressionError,
    Lookup,
    MissingError,
    Outputs,
    Reference,
    Template,
    show,
    template,
)
from tradewind.model.scope import OUTPUTS, STEPS

Pending: TypeAlias = Mapping[str, Json]
"""Names known only once earlier calls of the chain have run: mappings of `Ref`s, or values with `Ref`s inside."""


class _Scope(NamedTuple):
    """What the expressions of a step see, and what they may still cost."""

    lookup: Lookup
    pending: Pending
    allowance: Allowance


class LaterError(Exception):
    """A value that can neither be computed now nor by the worker."""


def pending_outputs(frame: Frame, at: int) -> dict[str, Ref]:
    """The outputs of a call that will have run."""
    call = frame.call_id(at)
    return {name: Ref(call, name) for name in frame.part(at).step.outputs}


def call_of(frame: Frame, at: int, pending: Pending) -> Call:
    """The call that a step becomes, after the calls that are pending."""
    part = frame.part(at)
    step = part.step
    outputs = part.outputs
    if outputs is None:
        outputs = {name: replace(output, path=_text(output.path, frame)) for name, output in step.outputs.items()}
    environment = part.environment
    if environment is None:
        environment = {name: _text(text, frame) for name, text in step.environment.items()}
    scope = _Scope(frame.lookup, pending, frame.within.allowance)
    inputs: dict[str, Json] = {name: _given(value, scope) for name, value in part.inputs.items()}
    if part.sees_own:
        _add_generated(inputs, outputs, frame, at, pending)
    else:
        for name, text in part.generated.items():
            inputs[name] = _given(text, scope)
    action = part.action
    if action is None:
        raise ExpressionError("the step has no action")
    if isinstance(action, Container) and OPEN in action.image:
        action = replace(action, image=_text(action.image, frame))
    if isinstance(action, Divisible):
        action = replace(action, iterations=_count(frame.fill(action.iterations)))
    return Call(frame.call_id(at), action, inputs or NOTHING, outputs, environment, step.limits, step.cache)


def _add_generated(
    inputs: dict[str, Json], outputs: Mapping[str, Output], frame: Frame, at: int, pending: Pending
) -> None:
    """Evaluate the expressions of a command that look at the step's inputs and the paths of its outputs."""
    part = frame.part(at)
    own: dict[str, Json] = {name: inputs[name] for name in part.inputs}
    own[OUTPUTS] = {name: output.path for name, output in outputs.items()}

    def lookup(name: str) -> Json:
        return own[name] if name in own else frame.lookup(name)

    hot = {name: value for name, value in pending.items() if name not in own}
    hot |= {name: value for name, value in own.items() if _is_pending(value)}
    scope = _Scope(lookup, hot, frame.within.allowance)
    for name, text in part.generated.items():
        inputs[name] = _given(text, scope)


def _count(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ExpressionError(f"divisible.iterations must be a whole number above 0, not {show(value)}")
    return value


def _text(text: str, frame: Frame) -> str:
    """Text that goes with a call, at the expense of the run."""
    found = show(frame.fill(text))
    frame.within.allowance.pass_on(found)
    return found


def _given(value: Json, scope: _Scope) -> Json:
    """A value that a call is given, at the expense of the run."""
    found = _within(value, scope)
    scope.allowance.pass_on(found)
    return found


def _is_pending(value: Json) -> bool:
    if isinstance(value, Ref | Derived):
        return True
    if isinstance(value, list):
        return any(map(_is_pending, value))
    return isinstance(value, dict) and any(map(_is_pending, value.values()))


def _within(value: Json, scope: _Scope) -> Json:
    """A value with its templates filled in, as far as what they look up is known."""
    if isinstance(value, str):
        if OPEN not in value:
            return value
        found = template(value)
        pending = scope.pending
        if not pending or not any(_root(reference) in pending for reference in _references(found)):
            return found.fill(scope.lookup, scope.allowance)
        return _later(value, found, scope)
    if isinstance(value, list | tuple):
        return [_within(item, scope) for item in value]
    if isinstance(value, Mapping):
        return {key: _within(item, scope) for key, item in value.items()}
    return value


def _references(found: Template) -> list[Reference]:
    return [reference for part in found.parts if isinstance(part, Expression) for reference in part.references]


def _root(reference: Reference) -> str:
    """The step or variable that a reference is about."""
    return str(reference.path[0]) if reference.name == STEPS and reference.path else reference.name


def _later(text: str, found: Template, scope: _Scope) -> Ref | Derived | Json:
    """A pointer to an output of an earlier call where that is all, otherwise an expression for the worker."""
    only = found.only
    if only is not None and only.pick is not None:
        picked = _pick(only.pick, scope.pending)
        if picked is not None:
            return picked
    names: dict[str, Json] = {}
    for reference in _references(found):
        try:
            _add_name(names, reference, scope)
        except MissingError:  # whether it is touched depends on what is not known yet
            raise LaterError(text) from None
    scope.allowance.pass_on(names)
    return Derived(text, names)


def _pick(pick: Reference, pending: Pending) -> Json:
    value: Json = pending[_root(pick)]
    path = pick.path[1:] if pick.name == STEPS else pick.path
    for step, key in enumerate(path):
        if isinstance(value, Ref):
            return Ref(value.call, value.output, (*value.path, *path[step:]))
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def _add_name(names: dict[str, Json], reference: Reference, scope: _Scope) -> None:
    """Give the worker what a reference looks up, and of large mappings no more than that."""
    root = _root(reference)
    path = reference.path[1:] if reference.name == STEPS else reference.path
    around = scope.lookup(STEPS).__getitem__ if reference.name == STEPS else scope.lookup
    value: Json = scope.pending[root] if root in scope.pending else around(root)
    if isinstance(value, dict) and path and isinstance(path[0], str):
        value = {path[0]: value[path[0]]} if path[0] in value or isinstance(value, Outputs) else {}
    into = names.setdefault(STEPS, {}) if reference.name == STEPS else names
    if isinstance(into.get(root), dict) and isinstance(value, dict):
        into[root] = {**into[root], **value}
    else:
        into[root] = value
