"""How much work has come of late for each machine type, and so how likely spare paid time is to be of use."""

from collections import deque
from collections.abc import Sequence
from math import exp
from typing import cast

from tradewind.model.units import HOUR, MINUTE, Duration, Time
from tradewind.policies.deadline.assign import upgrade
from tradewind.policies.deadline.bundle import by_preference
from tradewind.policies.deadline.network import Network
from tradewind.policies.deadline.shape import NEVER, Shape, makespan

WINDOW: Duration = 4 * HOUR
"""How far back work counts at most."""
JOBS = 50
"""How many jobs count at most: where many come, what came hours ago tells little."""
LEAST: Duration = 5 * MINUTE
"""Taken as the time observed at the beginning, when less has passed."""
SCALE = 0.3
"""Load, in machines, at which two thirds of spare time are of use."""


class Recent:
    """Work on each machine type within the window."""

    def __init__(self, kinds: int) -> None:
        self.work = [0] * kinds
        self._items: deque[tuple[Time, Sequence[Duration]]] = deque()
        self._since: Time | None = None

    def add(self, now: Time, work: Sequence[Duration]) -> None:
        """More work."""
        if self._since is None:
            self._since = now
        self._items.append((now, work))
        self.work = [total + time for total, time in zip(self.work, work, strict=True)]

    def loads(self, now: Time) -> list[float]:
        """How many machines of each type it keeps busy."""
        while self._items and (self._items[0][0] < now - WINDOW or len(self._items) > JOBS):
            self._since, work = self._items.popleft()
            self.work = [total - time for total, time in zip(self.work, work, strict=True)]
        observed = max(LEAST, min(WINDOW, now - (now if self._since is None else self._since)))
        return [work / observed for work in self.work]


class Demand:
    """Work that has come of late: where it would cost least and be in time, and where it was really planned."""

    def __init__(self, kinds: int) -> None:
        self._wanted = Recent(kinds)
        self._planned = Recent(kinds)

    def note(self, now: Time, shape: Shape, prices: Sequence[float], available: Duration) -> None:
        """A job has come."""
        self._wanted.add(now, cheapest_work(shape, prices, available // MINUTE * MINUTE))

    def use(self, now: Time, work: Sequence[Duration]) -> None:
        """So much has been planned on machines of each type."""
        self._planned.add(now, work)

    def loads(self, now: Time) -> list[float]:
        """How many machines of each type the work of late keeps busy."""
        return list(map(max, self._wanted.loads(now), self._planned.loads(now)))


def useful(load: float) -> float:
    """The chance that paid time going spare will be used, where work keeps so many machines busy."""
    return 1 - exp(-load / SCALE)


def cheapest_work(shape: Shape, prices: Sequence[float], available: Duration) -> list[Duration]:
    """Time on each machine type if a job ran by itself, as cheaply as its time allows."""
    work = [0] * len(prices)
    for time, kind in zip(*cheapest_plan(shape, prices, available), strict=True):
        work[kind] += time
    return work


def cheapest_plan(
    shape: Shape, prices: Sequence[float], available: Duration
) -> tuple[Sequence[Duration], Sequence[int]]:
    """Time and machine type of each task if a job ran by itself, as cheaply as its time allows."""
    key = ("cheapest", available)
    if key not in shape.memory:
        shape.memory[key] = _cheapest_plan(shape, prices, available)
    return cast("tuple[Sequence[Duration], Sequence[int]]", shape.memory[key])


def _cheapest_plan(
    shape: Shape, prices: Sequence[float], available: Duration
) -> tuple[Sequence[Duration], Sequence[int]]:
    choice = [row[0] for row in by_cost(shape, prices)]
    network = Network([row[kind] for row, kind in zip(shape.times, choice, strict=True)], shape.parents)
    upgrade(network, shape, choice, prices, available)
    return tuple(network.times), tuple(choice)


def by_cost(shape: Shape, prices: Sequence[float]) -> Sequence[Sequence[int]]:
    """For each task the machine types that can run it, the preferred one first, worked out once."""
    if "by cost" not in shape.memory:
        shape.memory["by cost"] = tuple(by_preference(row, prices) for row in shape.times)
    return cast("Sequence[Sequence[int]]", shape.memory["by cost"])


def cheapest_times(
    shape: Shape, prices: Sequence[float], kinds: tuple[int, ...], available: Duration
) -> Sequence[Duration] | None:
    """The time of each task if a job ran by itself on some machine types, as cheaply as it can; None if too slow."""
    key = ("preferred", kinds)
    if key not in shape.memory:
        shape.memory[key] = _preferred_times(shape, prices, kinds)
    longest, times = cast("tuple[Duration, tuple[Duration, ...]]", shape.memory[key])
    if longest <= available:
        return times
    part = shape.part(kinds)
    return _cheapest_plan(part, prices, available)[0] if part.tightest <= available else None


def _preferred_times(
    shape: Shape, prices: Sequence[float], kinds: tuple[int, ...]
) -> tuple[Duration, tuple[Duration, ...]]:
    """The times of all tasks on those of some machine types that they prefer, and their makespan."""
    choice = [next((kind for kind in row if kind in kinds), None) for row in by_cost(shape, prices)]
    times = tuple(NEVER if kind is None else row[kind] for row, kind in zip(shape.times, choice, strict=True))
    return makespan(times, shape.parents), times
