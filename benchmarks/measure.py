"""Measuring a job: processor time of a whole tree of processes, and wall time, in turns with others.

Shared hosts are noisy, so that contestants take turns, and the median of the rounds counts. Folders are removed only
when all is over: a file system is slow to reuse what was just deleted, and the next in turn would pay for it.
"""

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias


class Cost(NamedTuple):
    """Seconds that a job has cost, or milliseconds that a task has."""

    cpu: float
    wall: float

    def shared_by(self, tasks: int) -> "Cost":
        """Milliseconds for each task."""
        return Cost(1000 * self.cpu / tasks, 1000 * self.wall / tasks)


Contestant: TypeAlias = Callable[[Path], Cost | None]
"""Does the whole job in a folder and tells what each task has cost; None: it cannot, for want of a package."""


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._cpu, self._wall = tree_cpu(), time.perf_counter()

    def read(self) -> Cost:
        """Seconds since then."""
        wall = time.perf_counter() - self._wall
        return Cost(tree_cpu() - self._cpu, wall)


def tree_cpu() -> float:
    """Processor seconds of this process and of all below it, those that have ended included."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    found = [os.getpid()]
    for each in found:  # grows while it is walked
        found += children.get(each, [])
    return sum(ticks[each] for each in found) / os.sysconf("SC_CLK_TCK")


def contest(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, Cost | None]:
    """The median cost of each, in turns."""
    laps: dict[str, list[Cost]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            cost = contestant(fresh_folder())
            if cost is not None:
                laps[name].append(cost)
    return {
        name: Cost(median(cost.cpu for cost in taken), median(cost.wall for cost in taken)) if taken else None
        for name, taken in laps.items()
    }


def fresh_folder() -> Path:
    """A folder that is removed when this process ends."""
    root = Path(tempfile.mkdtemp(prefix="tradewind-bench-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return root
