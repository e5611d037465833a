"""Profiles: the free capacity over time of a machine that runs several tasks concurrently."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.model.vector import Vector, covers, minus, plus
from tradewind.policies.deadline.shape import NEVER


class Used(NamedTuple):
    """A change of a profile, with enough information to undo it."""

    begin: Time
    end: Time
    demand: Vector
    is_new: tuple[bool, bool]
    """Whether steps were inserted at the start and at the end."""
    passed: dict[Vector, tuple[Time, Duration, Time]]


class Profile:
    """The free capacity of a machine: a step function of slots and amounts, counted as admission counts them."""

    __slots__ = ("free", "passed", "times")

    def __init__(self, capacity: Vector) -> None:
        self.times: list[Time] = [0]
        self.free = [capacity]
        """Free capacity from each of the times on."""
        self.passed: dict[Vector, tuple[Time, Duration, Time]] = {}
        """By demand: from one time on, nothing of a length fits before another; valid while room is only taken."""

    def fit(self, ready: Time, time: Duration, demand: Vector, latest: Time = NEVER) -> Time:
        """Return the earliest start with room for a demand; any later time if there is none by `latest`."""
        begin = ready
        since, least, until = self.passed.get(demand, (NEVER, NEVER, 0))
        # An earlier search for the same demand has already shown that nothing this long fits before `until`.
        if since <= ready < until and least <= time:
            begin = until
        begin = self._search(begin, time, demand, latest)
        # Remember only results that stay true for longer tasks: the shortest length searched so far.
        if time < least or ready < since:
            if time <= least:
                self.passed[demand] = (ready, time, begin)
        elif time == least and ready <= until:
            self.passed[demand] = (since, time, begin)
        return begin

    def _search(self, begin: Time, time: Duration, demand: Vector, latest: Time) -> Time:
        times, free = self.times, self.free
        count = len(times)
        place = bisect_right(times, begin) - 1
        while True:
            isfree = covers(free[place], demand)
            place += 1
            # `begin` stays at the start of the current free stretch, and moves behind each step without room.
            if isfree:
                if place == count or times[place] >= begin + time:
                    return begin
            elif place == count:
                return NEVER
            else:
                begin = times[place]
                if begin > latest:
                    return begin

    def take(self, begin: Time, end: Time, demand: Vector) -> Used:
        """Take a demand from one time until another."""
        free, steps = self.free, len(self.times)
        first = self._split(begin)
        is_new = len(self.times) > steps
        last = self._split(end) if end > begin else first
        for place in range(first, last):
            free[place] = minus(free[place], demand)
        return Used(begin, end, demand, (is_new, len(self.times) > steps + is_new), self.passed.copy())

    def undo(self, used: Used) -> None:
        """Undo the last take."""
        free, times = self.free, self.times
        first = bisect_left(times, used.begin)
        last = bisect_left(times, used.end, first)
        for place in range(first, last):
            free[place] = plus(free[place], used.demand)
        # The later step first, so that deleting it does not shift the earlier one.
        for place, is_new in ((last, used.is_new[1]), (first, used.is_new[0])):
            if is_new:
                del times[place], free[place]
        self.passed = used.passed

    def _split(self, at: Time) -> int:
        """Return the position of the step at a time, inserting one if necessary."""
        times = self.times
        place = bisect_left(times, at)
        if place == len(times) or times[place] != at:
            times.insert(place, at)
            self.free.insert(place, self.free[place - 1])
        return place
