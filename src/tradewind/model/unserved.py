"""Find the steps of a program that no machine type can run, as far as this is known in advance."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tradewind.model.machine import MachineType
from tradewind.model.program import Loop, Program, Step


class Unserved(NamedTuple):
    """A step that no machine type can run."""

    place: tuple[str, ...]
    """Its place in the file: its id, after those of the enclosing steps."""
    step: Step
    is_certain: bool
    """Whether the program cannot end without it: it depends on no condition, and on no list that may be empty."""


def unserved(program: Program, machines: Sequence[MachineType]) -> Iterator[Unserved]:
    """Yield steps without a machine type, including those of included programs."""
    return _of_body(program, program.steps, machines, (), is_certain=True)


def _of_body(
    program: Program,
    steps: Sequence[Step],
    machines: Sequence[MachineType],
    place: tuple[str, ...],
    *,
    is_certain: bool,
) -> Iterator[Unserved]:
    for step in steps:
        here = (*place, step.id)
        is_sure = is_certain and step.when is True and _has_items(step.loop)
        if step.action is not None and not any(kind.offers(step.requirement) for kind in machines):
            yield Unserved(here, step, is_sure)
        yield from _of_body(program, step.steps, machines, here, is_certain=is_sure)
        included = program.includes.get(step.include)
        if included is not None:
            yield from _of_body(included, included.steps, machines, here, is_certain=is_sure)


def _has_items(loop: Loop | None) -> bool:
    return loop is None or (isinstance(loop.over, list | tuple) and bool(loop.over))
