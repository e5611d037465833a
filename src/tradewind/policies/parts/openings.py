"""Openings: when machines of one kind can permanently take another unit, within an interval.

`Lanes` are exact if only slots are shared. If units also share amounts, `Shared` tracks what is free on each machine
over time. Both find the earliest opening in O(log n).
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple, Protocol, TypeAlias

from tradewind.model.units import Time
from tradewind.model.vector import Vector
from tradewind.policies.deadline.profile import Profile
from tradewind.policies.deadline.shape import NEVER

Lane: TypeAlias = tuple[Time, bool, int]
"""When a slot is free, whether its machine is idle now, and the negated machine number: the best is the last."""


class Opening(NamedTuple):
    """Where a unit could start; the smallest is the best."""

    start: Time
    waste: Time
    """How long the capacity has been free by then."""
    machine: int


class Openings(Protocol):
    """The machines of one kind."""

    def has(self, demand: Vector) -> bool:
        """Return whether a demand can start within the interval; once false, this stays false."""

    def find(self, ready: Time, demand: Vector) -> Opening | None:
        """Return the earliest opening for a unit that becomes ready at a time."""

    def take(self, opening: Opening, end: Time, demand: Vector) -> None:
        """Reserve an opening until a time."""


class Lanes:
    """Slots, each free from some time on."""

    __slots__ = ("_horizon", "_lanes")

    def __init__(self, lanes: Iterable[Lane], horizon: Time) -> None:
        self._lanes = sorted(lane for lane in lanes if lane[0] < horizon)
        self._horizon = horizon

    def has(self, _: Vector) -> bool:
        """Return whether a slot is free before the end of the interval."""
        return bool(self._lanes)

    def find(self, ready: Time, demand: Vector) -> Opening | None:  # noqa: ARG002  # every demand takes one slot
        """Return the slot free latest among those free by then; if there is none, the one free earliest."""
        if not self._lanes:
            return None
        free, _, number = self._lanes[self._place(ready)]
        start = max(free, ready)
        return Opening(start, start - free, -number)

    def take(self, opening: Opening, end: Time, _: Vector) -> None:
        """Reserve the slot that was found until a time."""
        del self._lanes[self._place(opening.start)]
        if end < self._horizon:
            insort(self._lanes, (end, False, -opening.machine))

    def _place(self, ready: Time) -> int:
        lanes = self._lanes
        return bisect_right(lanes, (max(ready, lanes[0][0]), True, 0)) - 1


class Shared:
    """Machines on which units share slots and amounts."""

    __slots__ = ("_horizon", "_now", "_profiles", "_soonest")

    def __init__(self, profiles: Mapping[int, Profile], now: Time, horizon: Time) -> None:
        self._profiles = profiles
        self._now = now
        self._horizon = horizon
        self._soonest: dict[Vector, list[tuple[Time, int]]] = {}
        """By demand, machines by when they last had permanent room for it: heaps. These times only increase."""

    def has(self, demand: Vector) -> bool:
        """Return whether there is room for a demand before the end of the interval."""
        return self.find(self._now, demand) is not None

    def find(self, ready: Time, demand: Vector) -> Opening | None:
        """Return the machine that has room earliest."""
        heap = self._soonest.get(demand)
        if heap is None:
            heap = self._soonest[demand] = [(self._now, number) for number in self._profiles]
            heapify(heap)
        while heap:
            free, number = heap[0]
            now_free = self._profiles[number].fit(self._now, NEVER, demand)
            if now_free >= self._horizon:
                heappop(heap)
            elif now_free > free:
                heapreplace(heap, (now_free, number))
            else:
                start = max(free, ready)
                return Opening(start, start - free, number)
        return None

    def take(self, opening: Opening, end: Time, demand: Vector) -> None:
        """Reserve a demand on a machine until a time."""
        self._profiles[opening.machine].take(opening.start, end, demand)
