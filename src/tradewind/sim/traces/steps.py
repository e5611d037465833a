"""Integers that change in steps over time, such as the free cores of a server."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tradewind.model.units import Duration, Time


@dataclass(frozen=True, slots=True)
class Steps:
    """A step function: each value holds from its time on; the first holds before, too."""

    times: Sequence[Time]
    values: Sequence[int]

    def __post_init__(self) -> None:
        if not self.times or len(self.times) != len(self.values):
            raise ValueError("steps need a value for each time, and at least one")

    def at(self, time: Time) -> int:
        """Return the value at a time."""
        return self.values[max(0, bisect_right(self.times, time) - 1)]

    def next_change(self, after: Time) -> Time | None:
        """Return when the value changes next, if ever."""
        place = max(1, bisect_right(self.times, after))  # the first value holds before its time, too
        return self.times[place] if place < len(self.times) else None

    def least(self, begin: Time, end: Time) -> int:
        """Return the smallest value in a period, excluding its end."""
        first = max(0, bisect_right(self.times, begin) - 1)
        last = bisect_right(self.times, end - 1)
        return min(self.values[first : max(last, first + 1)])

    def spells(self, begin: Time, end: Time) -> Iterator[tuple[Time, Duration, int]]:
        """Yield each period of constant value between two times: start, length and value."""
        place = max(0, bisect_right(self.times, begin) - 1)
        at = begin
        while at < end:
            until = min(end, self.times[place + 1]) if place + 1 < len(self.times) else end
            yield at, until - at, self.values[place]
            at = until
            place += 1

    def mean(self, begin: Time, end: Time) -> float:
        """Return the mean over a period."""
        return sum(length * value for _, length, value in self.spells(begin, end)) / (end - begin)

    def moved(self, by: Duration) -> "Steps":
        """Return the same function, shifted to an earlier time."""
        return Steps([time - by for time in self.times], self.values)


def steps_from(points: Iterable[tuple[Time, int]]) -> Steps:
    """Return steps from points in order of time; drop points without a change, and keep the last of an instant."""
    times: list[Time] = []
    values: list[int] = []
    for time, value in points:
        if times and time < times[-1]:
            raise ValueError("points must be in order of time")
        if times and time == times[-1]:
            values[-1] = value
            if len(values) > 1 and values[-2] == value:
                times.pop()
                values.pop()
        elif not values or values[-1] != value:
            times.append(time)
            values.append(value)
    return Steps(times, values)
