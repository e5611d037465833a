"""Which names the expressions of a step see, and what they stand for.

An expression sees the parameters as `params`, the variables of the loops around it (the item, `index`, and in a loop
that feeds itself `round`), the steps of its own body and of the bodies around it as mappings of their outputs, and in
a command the step's own inputs, and `outputs` for the paths it is expected to write. What happens inside a body is
not seen from outside: only what its step gives. An included program sees its own parameters and steps alone.
"""

from collections.abc import Iterator
from dataclasses import replace

from tradewind.model.expression import Reference, references
from tradewind.model.program import Field, Loop, Phase, Program, Step, fields, output_names

PARAMS, STEPS, OUTPUTS, INDEX, ROUND = "params", "steps", "outputs", "index", "round"
TAKEN = frozenset({PARAMS, STEPS, OUTPUTS})
"""Names that no step can have."""


def unfolded(step: Step, program: Program) -> Step:
    """A loop over a single action or included program as what it is short for: a loop over a body of that one step."""
    if not _is_short(step):
        return step
    gives = {name: f"{{{{ steps[{step.id!r}][{name!r}] }}}}" for name in sorted(output_names(step, program))}
    return Step(
        step.id, step.name, steps=(_inner(step),), needs=step.needs, gives=gives, when=step.when, loop=step.loop
    )


def loop_names(loop: Loop | None) -> frozenset[str]:
    """The variables that a loop gives to its body."""
    if loop is None:
        return frozenset()
    return frozenset({loop.variable, INDEX, ROUND} if loop.feed else {loop.variable, INDEX})


def plain(reference: Reference) -> Reference:
    """A reference with `steps['x'].y` taken for what it means, `x.y`."""
    if reference.name == STEPS and reference.path and isinstance(reference.path[0], str):
        return Reference(reference.path[0], reference.path[1:])
    return reference


def marked(name: str) -> str:
    """The name of a step that can mean nothing else, for it was looked up in `steps`; no id has a dot."""
    return f"{STEPS}.{name}"


def bare(name: str) -> str:
    """A name without its mark."""
    return name.removeprefix(f"{STEPS}.")


def own_names(step: Step, field: Field) -> frozenset[str]:
    """The names that a field of a step sees besides those of its scope."""
    if field.phase is Phase.WITHIN and field.place[0] != "inputs":
        return frozenset(step.inputs) | {OUTPUTS}
    return frozenset()


def names_before(step: Step) -> frozenset[str]:
    """What must be known before a step can be unfolded or made part of a chain."""
    return frozenset(_names(step, Phase.BEFORE))


def names_to_start(step: Step) -> frozenset[str]:
    """What must have ended before any part of a step can start."""
    return names_before(step) | frozenset(_names(step, Phase.WITHIN)) | frozenset(step.needs)


def names_in(step: Step) -> frozenset[str]:
    """All names that a step, with all that is inside it, looks up outside itself.

    As in `names_before` and `names_to_start`, a step that was looked up in `steps` is `marked`.
    """
    body = (_inner(step),) if _is_short(step) else step.steps
    inside = {name for nested in body for name in names_in(nested)} | set(_names(step, Phase.AFTER))
    bound = {name for nested in body for name in (nested.id, marked(nested.id))} | loop_names(step.loop)
    return names_to_start(step) | (inside - bound)


def _is_short(step: Step) -> bool:
    """Whether a loop is written without a body of its own."""
    return step.loop is not None and not step.steps


def _inner(step: Step) -> Step:
    """What such a loop runs for each item."""
    return replace(step, needs=(), when=True, loop=None)


def _names(step: Step, phase: Phase) -> Iterator[str]:
    for field in fields(step):
        if field.phase is not phase or (_is_short(step) and field.place[0] not in _OF_LOOPS):
            continue
        own = own_names(step, field)
        for reference in references(field.value):
            if reference.name not in own:
                target = plain(reference)
                yield target.name if target is reference else marked(target.name)


_OF_LOOPS = frozenset({"when", "for_each", "repeat"})
"""Fields that a loop keeps for itself; all others belong to what it runs for each item."""
