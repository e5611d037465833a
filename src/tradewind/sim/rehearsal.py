"""Rehearsals: programs simulated chain by chain, as they would unfold in a real run if its results were as assumed.

A file stands for itself by name. A list of files, and a value, are known only to a real run: where something depends on
them, somebody has to say what to assume.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from tradewind.core.chains.chain import Chain, task_of
from tradewind.core.chains.generator import Generator
from tradewind.core.chains.outline import Count, outline
from tradewind.formats.errors import did_you_mean
from tradewind.model.action import Call, Divisible, Json
from tradewind.model.errors import TradewindError
from tradewind.model.program import Program
from tradewind.model.scenario import Rehearsal
from tradewind.model.units import SECOND
from tradewind.model.workflow import Task, Workflow

Prepare: TypeAlias = Callable[[Task], Task]
"""What becomes of a task before it is submitted."""

_FEW = 10
_POSITION = re.compile(r"\[[0-9.]+\]")


class RehearsalError(TradewindError):
    """A program that cannot be unfolded with what is assumed."""


def check_assumed(rehearsal: Rehearsal) -> None:
    """Refuse what is assumed of something that leaves no such thing behind: nobody would look at it."""
    leaves = _leaves(rehearsal.program, "")
    for name in rehearsal.assumed:
        if name not in leaves:
            known = sorted(leaves)
            hint = did_you_mean(name, known) or (f"known are {', '.join(known[:_FEW])}" if known else "there are none")
            raise RehearsalError(f"{name!r} is assumed, but no step has such an output; {hint}")


def _leaves(program: Program, before: str) -> set[str]:
    """All outputs of steps that do something, as `step.output`; those of groups and loops come of the steps inside."""
    found: set[str] = set()
    walk = list(program.steps)
    for step in walk:  # grows while it is walked
        walk += step.steps
        if step.include:
            found |= _leaves(program.includes[step.include], f"{before}{step.id}.")
        elif step.action is not None:
            found |= {f"{before}{step.id}.{name}" for name in step.outputs}
    return found


def as_it_is(task: Task) -> Task:
    """Changes nothing."""
    return task


def first_part(rehearsal: Rehearsal, prepare: Prepare = as_it_is) -> Workflow:
    """The chains of a program that wait for nothing."""
    return Unfolding(rehearsal, prepare).workflow


class Unfolding:
    """One program on its way."""

    def __init__(self, rehearsal: Rehearsal, prepare: Prepare = as_it_is) -> None:
        program = rehearsal.program
        self._prepare = prepare
        self._assumed = rehearsal.assumed
        self._parameters = rehearsal.parameters
        self._generator = Generator(program, rehearsal.parameters)
        self._chains: dict[str, Chain] = {}
        self._unknown = "STEP.OUTPUT"
        """The last output that nothing is known of, for advice."""
        tasks = self._take(self._generator.begin())
        self.workflow = Workflow(program.name, tasks, ((),) * len(tasks), program.priority, program.deadline)

    def outline(self, count: Count) -> Workflow:
        """All that is expected of it."""
        generator = self._generator
        found = outline(generator.program, self._parameters, count, generator.plan)
        return replace(found, tasks=tuple(map(self._prepare, found.tasks)))

    @property
    def is_open(self) -> bool:
        """Whether more may follow."""
        return not self._generator.is_done

    def finished(self, chain: str) -> tuple[Task, ...]:
        """What follows on the end of a chain."""
        calls = self._chains.pop(chain).calls
        return self._take(self._generator.finished(chain, {call.id: self._results(call) for call in calls}))

    def _take(self, chains: list[Chain]) -> tuple[Task, ...]:
        if self._generator.faults:
            fault = self._generator.faults[0]
            raise RehearsalError(
                f"{fault.step or 'outputs'}: {fault.reason}; only a real run knows what steps leave behind:"
                f" give what to assume, such as --assume {self._unknown}='[1, 2, 3]'"
            )
        self._chains |= {chain.id: chain for chain in chains}
        return tuple(self._prepare(task_of(_timed(chain))) for chain in chains)

    def _results(self, call: Call) -> dict[str, Json]:
        step = _POSITION.sub("", call.id)
        found: dict[str, Json] = {}
        for name, output in call.outputs.items():
            place = f"{step}.{name}"
            is_file = bool(output.path) and not output.many
            found[name] = self._assumed.get(place, f"{call.id}/{output.path}" if is_file else None)
            if place not in self._assumed and not is_file:
                self._unknown = place
        return found


def _timed(chain: Chain) -> Chain:
    """A chain with its run time; where a divisible step says how fast slots are, that of all iterations on one slot."""
    action = chain.calls[0].action
    if chain.runtime is not None or chain.runtimes or not isinstance(action, Divisible) or not action.lots:
        return chain
    slots = sum(lot.slots for lot in action.lots.values())
    speed = sum(lot.slots * lot.speed for lot in action.lots.values()) / slots
    return replace(chain, runtime=max(1, round(action.iterations / speed * SECOND)))
