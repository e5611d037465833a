"""Rehearsals: programs simulated chain by chain, as they would unfold in a real run if its results were as assumed.

A file stands for itself by name. A list of files, and a value, are known only to a real run: where something depends on
them, somebody has to say what to assume.
"""

import re
from dataclasses import replace

from tradewind.core.chains.chain import Chain, task_of
from tradewind.core.chains.generator import Generator
from tradewind.model.action import Call, Divisible, Json
from tradewind.model.errors import TradewindError
from tradewind.model.scenario import Rehearsal
from tradewind.model.workflow import Task, Workflow
from tradewind.sim.divisible.expected import expected

_POSITION = re.compile(r"\[[0-9.]+\]")


class RehearsalError(TradewindError):
    """A program that cannot be unfolded with what is assumed."""


def first_part(rehearsal: Rehearsal) -> Workflow:
    """The chains of a program that wait for nothing."""
    return Unfolding(rehearsal).workflow


class Unfolding:
    """One program on its way."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        program = rehearsal.program
        self._assumed = rehearsal.assumed
        self._generator = Generator(program, rehearsal.parameters)
        self._chains: dict[str, Chain] = {}
        tasks = self._take(self._generator.begin())
        self.workflow = Workflow(program.name, tasks, ((),) * len(tasks), program.priority, program.deadline)

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
                " give what to assume, such as --assume list.items='[1, 2, 3]'"
            )
        self._chains |= {chain.id: chain for chain in chains}
        return tuple(task_of(_timed(chain)) for chain in chains)

    def _results(self, call: Call) -> dict[str, Json]:
        step = _POSITION.sub("", call.id)
        found: dict[str, Json] = {}
        for name, output in call.outputs.items():
            is_file = bool(output.path) and not output.many
            found[name] = self._assumed.get(f"{step}.{name}", f"{call.id}/{output.path}" if is_file else None)
        return found


def _timed(chain: Chain) -> Chain:
    """A chain with its run time; that of a divisible job is found by simulating it."""
    action = chain.calls[0].action
    if chain.runtime is not None or chain.runtimes or not isinstance(action, Divisible):
        return chain
    return replace(chain, runtime=expected(action))
