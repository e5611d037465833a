"""A workflow under construction, and the distributions of its run times and sizes.

Edges follow files: a task waits for the writers of its inputs, so files and edges are always consistent.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tradewind.model.units import seconds
from tradewind.model.workflow import File, Task, Workflow


@dataclass(frozen=True, slots=True)
class Normal:
    """A truncated normal distribution; mean and deviation are those before truncation."""

    mean: float
    deviation: float
    low: float
    high: float

    def draw(self, rng: random.Random) -> float:
        """Draw a value between `low` and `high`."""
        while True:
            value = rng.gauss(self.mean, self.deviation)
            if self.low <= value <= self.high:
                return value


@dataclass(frozen=True, slots=True)
class Uniform:
    """A uniform distribution."""

    low: float
    high: float

    def draw(self, rng: random.Random) -> float:
        """Draw a value between `low` and `high`."""
        return rng.uniform(self.low, self.high)


Distribution: TypeAlias = Normal | Uniform


class Draft:
    """A collector of tasks, each after those it waits for."""

    def __init__(self, family: str, tasks: int, *, smallest: int) -> None:
        if tasks < smallest:
            raise ValueError(f"{family} needs at least {smallest} tasks, not {tasks}")
        self.name = f"{family}-{tasks}"
        self._tasks: list[Task] = []
        self._parents: list[tuple[int, ...]] = []
        self._writers: dict[str, int] = {}
        self._numbers: dict[str, int] = {}

    def add(self, name: str, runtime: float, inputs: Sequence[File], *outputs: File) -> File:
        """Add a task with a run time in seconds, and return the first file it writes."""
        index = len(self._tasks)
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        writers = self._writers
        self._parents.append(tuple(sorted({writers[file.name] for file in inputs if file.name in writers})))
        for file in outputs:
            writers[file.name] = index
        self._tasks.append(
            Task(f"{name}_{number:05d}", name, runtime=seconds(runtime), inputs=tuple(inputs), outputs=outputs)
        )
        return outputs[0]

    def finish(self) -> Workflow:
        """Return the workflow of all tasks added."""
        return Workflow(self.name, tuple(self._tasks), tuple(self._parents))
