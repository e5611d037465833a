"""Track recent work for each machine type, to estimate how likely spare paid time is to be used."""

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
"""Maximum age of work that counts."""
JOBS = 50
"""Maximum number of jobs that count: at a high rate, jobs from hours ago say little."""
LEAST: Duration = 5 * MINUTE
"""Minimum observation time, used at the start when less has passed."""
SCALE = 0.3
"""Load, in machines, at which two thirds of spare time are used."""


class Recent:
    """Work on each machine type within the window."""

    def __init__(self, kinds: int) -> None:
        self.work = [0] * kinds
        self._items: deque[tuple[Time, Sequence[Duration]]] = deque()
        self._since: Time | None = None

    def add(self, now: Time, work: Sequence[Duration]) -> None:
        """Add work."""
        if self._since is None:
            self._since = now
        self._items.append((now, work))
        self.work = [total + time for total, time in zip(self.work, work, strict=True)]

    def loads(self, now: Time) -> list[float]:
        """Return how many slots of each type it keeps busy."""
        while self._items and (self._items[0][0] < now - WINDOW or len(self._items) > JOBS):
            self._since, work = self._items.popleft()
            self.work = [total - time for total, time in zip(self.work, work, strict=True)]
        observed = max(LEAST, min(WINDOW, now - (now if self._since is None else self._since)))
        return [work / observed for work in self.work]


class Demand:
    """Recent work: where it would be cheapest and on time, and where it was actually planned."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._slots = slots
        """Slots of a machine of each type."""
        self._wanted = Recent(len(slots))
        self._planned = Recent(len(slots))

    def note(self, now: Time, shape: Shape, prices: Sequence[float], available: Duration) -> None:
        """Record the arrival of a job."""
        self._wanted.add(now, cheapest_work(shape, prices, available // MINUTE * MINUTE))

    def use(self, now: Time, work: Sequence[Duration]) -> None:
        """Record slot time planned on machines of each type."""
        self._planned.add(now, work)

    def loads(self, now: Time) -> list[float]:
        """Return how many machines of each type the recent work keeps busy."""
        loads = map(max, self._wanted.loads(now), self._planned.loads(now))
        return [load / slots for load, slots in zip(loads, self._slots, strict=True)]


def useful(load: float) -> float:
    """Return the probability that spare paid time will be used, given how many machines the work keeps busy."""
    return 1 - exp(-load / SCALE)


def cheapest_work(shape: Shape, prices: Sequence[float], available: Duration) -> list[Duration]:
    """Return the slot time on each machine type if a job ran alone, as cheaply as its deadline allows."""
    work = [0] * len(prices)
    for row, kind in zip(shape.work, cheapest_plan(shape, prices, available)[1], strict=True):
        work[kind] += row[kind]
    return work


def cheapest_plan(
    shape: Shape, prices: Sequence[float], available: Duration
) -> tuple[Sequence[Duration], Sequence[int]]:
    """Return time and machine type of each task if a job ran alone, as cheaply as its deadline allows."""
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
    """Return the machine types that can run each task, cheapest first, computed once."""
    if "by cost" not in shape.memory:
        shape.memory["by cost"] = tuple(by_preference(row, prices) for row in shape.work)
    return cast("Sequence[Sequence[int]]", shape.memory["by cost"])


def cheapest_times(
    shape: Shape, prices: Sequence[float], kinds: tuple[int, ...], available: Duration
) -> Sequence[Duration] | None:
    """Return the time of each task if a job ran alone on some types, as cheaply as possible; None if too slow."""
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
    """Return the times of all tasks on their preferred type among some, and the makespan."""
    choice = [next((kind for kind in row if kind in kinds), None) for row in by_cost(shape, prices)]
    times = tuple(NEVER if kind is None else row[kind] for row, kind in zip(shape.times, choice, strict=True))
    return makespan(times, shape.parents), times
