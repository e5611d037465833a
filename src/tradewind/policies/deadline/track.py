"""Tracks: machines, held or to be acquired, and what is to run in each of their slots."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.shape import NEVER
from tradewind.policies.protocol import Kind


class Reservation(NamedTuple):
    """A slot of a track is meant for a unit."""

    begin: Time
    end: Time
    unit: int


class Track:
    """A machine, held or to be acquired, and what is to run in each of its slots."""

    __slots__ = (
        "acquire",
        "floor",
        "gap",
        "kind",
        "lag",
        "lanes",
        "last",
        "longest",
        "machine",
        "minimum",
        "opens",
        "paid_until",
        "period",
        "tail",
    )

    def __init__(self, kind: Kind, acquire: Time) -> None:
        type = kind.type
        self.kind = kind
        self.lag = type.boot.mean
        self.period = type.billing.period
        self.minimum = self.period * max(1, -(-type.billing.minimum // self.period))
        self.machine: int | None = None
        """Its number once it is held."""
        self.acquire = acquire
        """When to ask for it; while it is not held, work that comes earlier may still bring this forward."""
        self.opens = acquire + self.lag
        """When it can work."""
        self.paid_until = acquire + self.minimum
        self.lanes: list[list[Reservation]] = [[] for _ in range(type.slots)]
        self.last: Time = 0
        """When the last reservation ends."""
        self.tail: Time = 0
        """From when on some slot is free for good."""
        self.gap: Duration = 0
        """No gap before that is longer; a machine that is not held may open earlier."""
        self.floor: Time = 0
        """Gaps before that are past."""
        self.longest: list[Duration] | None = None
        """The longest gap up to each reservation of the first lane, the first aside; None until it is asked for."""

    def copy(self) -> "Track":
        """The same track, to try things on."""
        other = Track.__new__(Track)
        other.kind, other.lag, other.period, other.minimum = self.kind, self.lag, self.period, self.minimum
        other.machine, other.acquire, other.opens = self.machine, self.acquire, self.opens
        other.paid_until, other.last, other.floor = self.paid_until, self.last, self.floor
        other.tail, other.gap, other.longest = self.tail, self.gap, self.longest
        other.lanes = [lane.copy() for lane in self.lanes]
        return other

    def become(self, other: "Track") -> None:
        """Take over what was tried on a copy."""
        self.acquire, self.opens, self.paid_until = other.acquire, other.opens, other.paid_until
        self.last, self.lanes, self.tail, self.gap = other.last, other.lanes, other.tail, other.gap
        self.longest = other.longest

    def more_periods(self, begin: Time, end: Time) -> int:
        """How many more periods are paid if something runs here from one time to another."""
        if self.machine is None and begin < self.opens:
            held = (self.paid_until - self.acquire) // self.period
            span = max(end, self.last) - begin + self.lag
            return max(-(-span // self.period), self.minimum // self.period) - held
        return -(-(end - self.paid_until) // self.period) if end > self.paid_until else 0

    def fit(self, ready: Time, time: Duration, latest: Time = NEVER) -> tuple[Time, int]:
        """The earliest begin of a gap for a unit, not before the track opens, and in which lane.

        Where there is none that begins by the latest time given, it is any later time.
        """
        return self.fit_before(ready if ready > self.opens else self.opens, time, latest)

    def fit_before(self, ready: Time, time: Duration, latest: Time = NEVER) -> tuple[Time, int]:
        """The same, where a track that is not held yet may open earlier."""
        best, where = _fit(self.lanes[0], ready, time, latest), 0
        for number in range(1, len(self.lanes)):
            found = _fit(self.lanes[number], ready, time, latest)
            if found < best:
                best, where = found, number
        return best, where

    def is_taken(self, ready: Time, time: Duration, latest: Time) -> bool:
        """Whether it is plain that no gap before the last reservation begins in time; for tracks with one lane."""
        lane, longest = self.lanes[0], self.longest
        if longest is None:
            longest = self.longest = [0]
            for (_, end, _), (begin, _, _) in pairwise(lane):
                longest.append(max(longest[-1], begin - end))
        if not lane or lane[0].begin - ready >= time:
            return False
        return longest[min(bisect_right(lane, (latest, NEVER)), len(lane) - 1)] < time

    def reserve(self, lane: int, begin: Time, time: Duration, unit: int) -> None:
        """A slot is meant for a unit from now on."""
        slots = self.lanes[lane]
        before = slots[-1].end if slots else max(self.floor, self.opens)
        if begin > before:
            self.gap = max(self.gap, begin - before)
        elif slots and begin < slots[0].begin:
            self.gap = max(self.gap, slots[0].begin - begin - time)
        insort(slots, Reservation(begin, begin + time, unit))
        self.longest = None
        self.last = max(self.last, begin + time)
        self.tail = self.last if len(self.lanes) == 1 else self._tail()
        if self.machine is None and begin < self.opens:
            self.opens, self.acquire = begin, begin - self.lag
            self.paid_until = self.acquire + self.minimum
        self._pay()

    def retime(self) -> None:
        """Open as late as what is reserved allows; for tracks that are not held."""
        begin = min((lane[0].begin for lane in self.lanes if lane), default=self.opens)
        self.opens, self.acquire = begin, begin - self.lag
        self.measure(begin)
        self.paid_until = self.acquire + self.minimum
        self._pay()

    def measure(self, floor: Time) -> None:
        """Find the ends and the longest gap of what is reserved, from a time on."""
        self.floor = floor
        self.last = max((lane[-1].end for lane in self.lanes if lane), default=0)
        self.tail = self._tail()
        self.longest = None
        gap = 0
        for lane in self.lanes:
            after = floor
            for begin, end, _ in lane:
                if begin - after > gap:
                    gap = begin - after
                after = end
        self.gap = gap

    def _tail(self) -> Time:
        return min(lane[-1].end if lane else 0 for lane in self.lanes)

    def _pay(self) -> None:
        if self.last > self.paid_until:
            self.paid_until += -(-(self.last - self.paid_until) // self.period) * self.period

    @property
    def is_idle(self) -> bool:
        """Whether nothing is reserved."""
        return not any(self.lanes)


def _fit(lane: Sequence[Reservation], begin: Time, time: Duration, latest: Time) -> Time:
    """The earliest begin of a gap in a lane, whose reservations do not overlap."""
    after = bisect_left(lane, (begin,))
    if after and lane[after - 1].end > begin:
        begin = lane[after - 1].end
    for following, end, _ in islice(lane, after, None):
        if following - begin >= time or begin > latest:
            break
        begin = end
    return begin
