"""Scopes: which names the expressions of a step see, and what they refer to.

An expression sees the parameters as `params`, the variables of enclosing loops (the item, `index`, and in a loop with
feedback `round`), and the steps of its own and enclosing bodies as mappings of their outputs. A command also sees the
step's own inputs, and `outputs` for the paths it must write. The inside of a body is visible from outside only through
the outputs of its step. An included program sees only its own parameters and steps.
"""

from collections.abc import Iterator
from dataclasses import replace

from tradewind.model.expression import Reference, references
from tradewind.model.program import Field, Loop, Phase, Program, Step, fields, output_names

PARAMS, STEPS, OUTPUTS, INDEX, ROUND = "params", "steps", "outputs", "index", "round"
TAKEN = frozenset({PARAMS, STEPS, OUTPUTS})
"""Names that no step can have."""


def unfolded(step: Step, program: Program) -> Step:
    """Expand a loop over a single action or included program into its long form: a loop over a one-step body."""
    if not _is_short(step):
        return step
    gives = {name: f"{{{{ steps[{step.id!r}][{name!r}] }}}}" for name in sorted(output_names(step, program))}
    return Step(
        step.id, step.name, steps=(_inner(step),), needs=step.needs, gives=gives, when=step.when, loop=step.loop
    )


def loop_names(loop: Loop | None) -> frozenset[str]:
    """Return the variables that a loop defines for its body."""
    if loop is None:
        return frozenset()
    return frozenset({loop.variable, INDEX, ROUND} if loop.feed else {loop.variable, INDEX})


def plain(reference: Reference) -> Reference:
    """Return a reference with `steps['x'].y` rewritten as `x.y`."""
    if reference.name == STEPS and reference.path and isinstance(reference.path[0], str):
        return Reference(reference.path[0], reference.path[1:])
    return reference


def marked(name: str) -> str:
    """Mark the name of a step looked up in `steps`, so that it is unambiguous; no id contains a dot."""
    return f"{STEPS}.{name}"


def bare(name: str) -> str:
    """Return a name without its mark."""
    return name.removeprefix(f"{STEPS}.")


def own_names(step: Step, field: Field) -> frozenset[str]:
    """Return the names that a field of a step sees besides those of its scope."""
    if field.phase is Phase.WITHIN and field.place[0] != "inputs":
        return frozenset(step.inputs) | {OUTPUTS}
    return frozenset()


def names_before(step: Step) -> frozenset[str]:
    """Return the names that must be known before a step can be expanded or made part of a chain."""
    return frozenset(_names(step, Phase.BEFORE))


def names_to_start(step: Step) -> frozenset[str]:
    """Return the names that must have ended before any part of a step can start."""
    return names_before(step) | frozenset(_names(step, Phase.WITHIN)) | frozenset(step.needs)


def names_in(step: Step) -> frozenset[str]:
    """Return all names outside a step that it, or anything nested in it, looks up.

    As in `names_before` and `names_to_start`, a step looked up in `steps` is `marked`.
    """
    body = (_inner(step),) if _is_short(step) else step.steps
    inside = {name for nested in body for name in names_in(nested)} | set(_names(step, Phase.AFTER))
    bound = {name for nested in body for name in (nested.id, marked(nested.id))} | loop_names(step.loop)
    return names_to_start(step) | (inside - bound)


def _is_short(step: Step) -> bool:
    """Return whether a loop is written without a body of its own."""
    return step.loop is not None and not step.steps


def _inner(step: Step) -> Step:
    """Return the step that such a loop runs for each item."""
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
"""Fields that a loop keeps for itself; all others belong to the step that it runs for each item."""
