"""Run times for tasks that declare none: what was learned of them, else a guess that the user is told of.

Taken as instant, they would make any policy look good.
"""

from collections.abc import Sequence
from dataclasses import replace

from tradewind.core.estimates import Learned
from tradewind.model.machine import MachineType
from tradewind.model.units import Duration
from tradewind.model.workflow import Task

_FEW = 5
"""So many names are told one by one."""


class Timing:
    """Completes tasks, and remembers which of them had to be guessed."""

    def __init__(self, machines: Sequence[MachineType], learned: Learned) -> None:
        self._machines = machines
        self._learned = learned
        self.names: dict[str, None] = {}
        """Of all tasks so far."""
        self._guessed: dict[str, None] = {}
        self._remembered: dict[str, None] = {}

    def __call__(self, task: Task) -> Task:
        """The task with a run time, in general and for each machine type that can run it."""
        self.names[task.name] = None
        if task.runtime is not None:
            return task
        able = [type for type in self._machines if type.offers(task.requirement)]
        missing = [type for type in able if type.name not in task.runtimes]
        if not missing:
            return task
        times = {type.name: self._time(task, type, able) for type in missing}
        usual = round(times[missing[0].name] * missing[0].speed)
        return replace(task, runtime=usual, runtimes={**task.runtimes, **times})

    def _time(self, task: Task, type: MachineType, able: Sequence[MachineType]) -> Duration:
        for other in able:
            if other.name in task.runtimes:
                return round(task.runtimes[other.name] * other.speed / type.speed)
        told = self._remembered if self._learned.knows(task.name) else self._guessed
        told[task.name] = None
        return self._learned.of(task, type)

    def notes(self) -> list[str]:
        """Which run times were learned."""
        if not self._remembered:
            return []
        return [f"how long {_listed(self._remembered)} {_verb(self._remembered)} was learned from earlier runs"]

    def warnings(self) -> list[str]:
        """Which run times were guessed, and what to do about it."""
        if not self._guessed:
            return []
        return [
            (
                f"nothing is known of how long {_listed(self._guessed)} {_verb(self._guessed)}: taken as a minute each;"
                " declare a run time, such as `runtime: 5m`, or run it once: what it takes is then learned"
            )
        ]


def _listed(names: dict[str, None]) -> str:
    shown = [repr(name) for name in list(names)[:_FEW]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _verb(names: dict[str, None]) -> str:
    return "takes" if len(names) == 1 else "take"
