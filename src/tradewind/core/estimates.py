"""Run times learned from tasks that have finished, for policies that want to know them beforehand.

What is known of a step is asked in this order:
1. how long tasks of this name took on this machine type: a quantile of those nearest in input size;
2. how long they took on other types, in proportion to the declared times, or to the speeds of the types;
3. what the task declares;
4. a guess of a minute on a machine of speed 1, with a warning, once for each name.
Declared times also count as long as fewer than three tasks of that name have finished on that type.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tradewind.core.machines import Kind
from tradewind.core.work import Unit, declared
from tradewind.model.machine import MachineType
from tradewind.model.units import MINUTE, Duration
from tradewind.model.workflow import Task

GUESS: Duration = MINUTE
ENOUGH = 3
"""So many finished tasks outweigh what is declared."""
NEAREST = 20
"""So many tasks, nearest in input size, are asked."""
KEPT = 200
"""So many tasks of a name and type are remembered, the latest."""

Sample = tuple[int, Duration]
"""Bytes of input, and how long it took."""


class Learned:
    """Estimates that get better with each task that finishes; plain data to save and load."""

    def __init__(self, quantile: float = 0.5, warn: Callable[[str], None] = lambda _: None) -> None:
        self._quantile = quantile
        self._warn = warn
        self._samples: dict[tuple[str, str], deque[Sample]] = {}
        self._types: dict[str, MachineType] = {}
        self._unseen: set[str] = set()

    def __call__(self, unit: Unit, kind: Kind) -> Duration:
        """How long a unit is thought to run on a kind."""
        return self.of(unit.task, kind.type)

    def of(self, task: Task, type: MachineType) -> Duration:
        """How long a task is thought to run on a machine type."""
        is_declared = task.runtime is not None or type.name in task.runtimes
        here = self._samples.get((task.name, type.name), ())
        if here and (len(here) >= ENOUGH or not is_declared):
            return quantile_near(here, input_size(task), self._quantile)
        if is_declared:
            return declared(task, type)
        for (name, other), samples in self._samples.items():
            if name == task.name and other in self._types:
                found = quantile_near(samples, input_size(task), self._quantile)
                return round(found * self._types[other].speed / type.speed)
        if task.name not in self._unseen:
            self._unseen.add(task.name)
            self._warn(f"nothing is known of how long {task.name!r} takes; taken as a minute until one has finished")
        return round(GUESS / type.speed)

    def learn(self, unit: Unit, kind: Kind, time: Duration) -> None:
        """A unit has finished."""
        name, type = unit.task.name, kind.type
        self._types[type.name] = type
        self._samples.setdefault((name, type.name), deque(maxlen=KEPT)).append((input_size(unit.task), time))

    def save(self) -> list[dict[str, Any]]:
        """All that was learned."""
        return [
            {
                "step": name,
                "machine": type,
                "speed": self._types[type].speed,
                "samples": [list(each) for each in samples],
            }
            for (name, type), samples in self._samples.items()
        ]

    def load(self, saved: Iterable[Mapping[str, Any]]) -> None:
        """Go on from what was learned before."""
        for each in saved:
            samples = deque(((int(size), int(time)) for size, time in each["samples"]), maxlen=KEPT)
            self._samples[each["step"], each["machine"]] = samples
            self._types.setdefault(each["machine"], MachineType(each["machine"], speed=each["speed"]))


def input_size(task: Task) -> int:
    """Bytes that a task reads, as far as its workflow says."""
    return sum(file.size for file in task.inputs)


def quantile_near(samples: Sequence[Sample] | deque[Sample], size: int, share: float) -> Duration:
    """A quantile of the times of those samples whose inputs are nearest in size, by their proportion."""
    near = sorted(samples, key=lambda sample: _distance(sample[0], size))[:NEAREST]
    times = sorted(time for _, time in near)
    return times[min(len(times) - 1, int(share * len(times)))]


def _distance(one: int, other: int) -> float:
    return max(one, other) / max(1, min(one, other))
