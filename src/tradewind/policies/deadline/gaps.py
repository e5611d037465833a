"""Gaps: when a machine that runs one task at a time is free."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.shape import NEVER


class Taken(NamedTuple):
    """A change to a gap, with enough information to undo it."""

    place: int
    parts: int
    begin: Time
    end: Time


class Gaps:
    """The times at which nothing runs: before the first task, between tasks, and after the last.

    Back-to-back tasks have no gap between them, so a search skips many tasks at once.
    """

    __slots__ = ("_begins", "_ends")

    def __init__(self, busy: Iterable[tuple[Time, Time]] = ()) -> None:
        """Start with everything free except the given busy times, which are in order."""
        self._begins = [-NEVER]
        self._ends = [NEVER]
        for begin, end in busy:
            after = self._begins[-1]
            if begin > after:
                self._ends[-1] = begin
                self._begins.append(max(begin, end))
                self._ends.append(NEVER)
            # It starts within or right after the previous busy time: no gap in between, only the last gap moves.
            elif end > after:
                self._begins[-1] = end

    def fit(self, ready: Time, time: Duration, latest: Time = NEVER) -> Time:
        """Return the earliest start with enough free time; any later time if there is none by `latest`."""
        begins, ends = self._begins, self._ends
        last = len(ends) - 1  # the last gap is unbounded
        for place in range(bisect_right(ends, ready, 0, last), last):
            begin = begins[place]
            if begin < ready:
                begin = ready
            # Past `latest` the caller does not care: stop searching.
            if ends[place] - begin >= time or begin > latest:
                return begin
        return max(ready, begins[last])

    def take(self, begin: Time, end: Time) -> Taken:
        """Take a time within a gap, or the part of it inside the preceding gap; an empty time splits the gap."""
        place = bisect_right(self._begins, begin) - 1
        whole = first, last = self._begins[place], self._ends[place]
        # What is left of the gap before and after; empty parts vanish.
        parts = [part for part in ((first, min(begin, last)), (max(first, end), last)) if part[0] < part[1]]
        self._replace(place, 1, parts)
        return Taken(place, len(parts), *whole)

    def undo(self, taken: Taken) -> None:
        """Undo the last take."""
        self._replace(taken.place, taken.parts, [(taken.begin, taken.end)])

    def replace_first(self, busy: Iterable[tuple[Time, Time]], following: tuple[Time, Time] | None) -> None:
        """Replace the busy times before the following one, which stays as it is."""
        first = Gaps(busy)
        if following is not None:
            begin, end = following
            after = bisect_left(self._begins, end)
            last = first._begins[-1]
            # Join the new gaps with the unchanged ones behind `following`.
            if last < begin:
                first._ends[-1] = begin
            else:
                first._begins.pop()
                first._ends.pop()
            first._begins += self._begins[after:]
            first._ends += self._ends[after:]
        self._begins, self._ends = first._begins, first._ends

    def _replace(self, place: int, count: int, parts: list[tuple[Time, Time]]) -> None:
        self._begins[place : place + count] = [begin for begin, _ in parts]
        self._ends[place : place + count] = [end for _, end in parts]
