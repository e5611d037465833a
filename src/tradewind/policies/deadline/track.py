"""Tracks: machines, held or to be acquired, with their reservations."""

from bisect import bisect_left, insort
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.model.vector import Vector
from tradewind.policies.deadline.gaps import Gaps, Taken
from tradewind.policies.deadline.profile import Profile, Used
from tradewind.policies.deadline.shape import NEVER
from tradewind.policies.protocol import Kind


class Reservation(NamedTuple):
    """A reservation of a track for a unit."""

    begin: Time
    end: Time
    unit: int
    demand: Vector
    """The capacity it takes from the machine."""


class Tried(NamedTuple):
    """A tentative reservation, with the previous state of the track."""

    reserved: Reservation
    room: Taken | Used
    opens: Time
    acquire: Time
    paid_until: Time
    last: Time
    tail: Time
    gap: Duration


class Track:
    """A machine, held or to be acquired, with its reservations.

    A machine that runs one task at a time has gaps, which can be searched fast; one that runs several has a profile.
    """

    __slots__ = (
        "acquire",
        "capacity",
        "floor",
        "gap",
        "gaps",
        "in_order",
        "kind",
        "lag",
        "last",
        "machine",
        "minimum",
        "opens",
        "paid_until",
        "period",
        "profile",
        "reserved",
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
        """When to request it; until it is held, earlier work may still bring this forward."""
        self.opens = acquire + self.lag
        """When it is ready."""
        self.paid_until = acquire + self.minimum
        self.capacity = kind.capacity
        """Its capacity, which may be less than that of its kind if it has shrunk."""
        self.reserved: list[Reservation] = []
        """In order of their start."""
        self.profile = Profile(kind.capacity) if self.has_profile else None
        """The free capacity over time, if gaps are not enough."""
        self.gaps = Gaps()
        self.in_order = 0
        """Number of further units assumed to start in the order of their reservations, with none of the others gone."""
        self.last: Time = 0
        """When the last reservation ends."""
        self.tail: Time = 0
        """When it is permanently free; 0 if only its profile can tell."""
        self.gap: Duration = 0
        """An upper bound on earlier gaps; a machine that is not held may open earlier."""
        self.floor: Time = 0
        """Earlier gaps are in the past."""

    def more_periods(self, begin: Time, end: Time) -> int:
        """Return how many additional periods are paid if something runs here in a period."""
        if self.machine is None and begin < self.opens:
            held = (self.paid_until - self.acquire) // self.period
            span = max(end, self.last) - begin + self.lag
            return max(-(-span // self.period), self.minimum // self.period) - held
        return -(-(end - self.paid_until) // self.period) if end > self.paid_until else 0

    def fit(self, ready: Time, time: Duration, demand: Vector, latest: Time = NEVER) -> Time:
        """Return the earliest start with room for a unit, not before the track opens.

        If there is none by `latest`, the result is any later time.
        """
        return self.fit_before(ready if ready > self.opens else self.opens, time, demand, latest)

    def fit_before(self, ready: Time, time: Duration, demand: Vector, latest: Time = NEVER) -> Time:
        """Return the same for a track that is not held yet and may open earlier."""
        if self.profile is not None:
            return self.profile.fit(ready, time, demand, latest)
        if time:
            return self.gaps.fit(ready, time, latest)
        before = bisect_left(self.reserved, (ready,)) - 1  # a unit of zero length needs no gap
        return ready if before < 0 else max(ready, self.reserved[before].end)

    def reserve(self, begin: Time, time: Duration, unit: int, demand: Vector) -> Tried:
        """Reserve the track for a unit; the result can be undone, last first."""
        reserved, end = self.reserved, begin + time
        before_it = (self.opens, self.acquire, self.paid_until, self.last, self.tail, self.gap)
        room: Taken | Used
        if self.profile is not None:
            room = self.profile.take(begin, end, demand)
        else:
            room = self.gaps.take(begin, end)
            before = reserved[-1].end if reserved else max(self.floor, self.opens)
            if begin > before:
                self.gap = max(self.gap, begin - before)
            elif reserved and begin < reserved[0].begin:
                self.gap = max(self.gap, reserved[0].begin - end)
            self.tail = max(self.last, end)
        made = Reservation(begin, end, unit, demand)
        insort(reserved, made)
        self.last = max(self.last, end)
        if self.machine is None and begin < self.opens:
            self.opens, self.acquire = begin, begin - self.lag
            self.paid_until = self.acquire + self.minimum
        self._pay()
        return Tried(made, room, *before_it)

    def undo(self, tried: Tried) -> None:
        """Undo the last reservation."""
        del self.reserved[bisect_left(self.reserved, tried.reserved)]
        if isinstance(tried.room, Taken):
            self.gaps.undo(tried.room)
        elif self.profile is not None:
            self.profile.undo(tried.room)
        _, _, self.opens, self.acquire, self.paid_until, self.last, self.tail, self.gap = tried

    def retime(self) -> None:
        """Open as late as the reservations allow, for tracks that are not held."""
        begin = self.reserved[0].begin if self.reserved else self.opens
        self.opens, self.acquire = begin, begin - self.lag
        self.measure(begin)
        self.paid_until = self.acquire + self.minimum
        self._pay()

    def measure(self, floor: Time) -> None:
        """Recompute the ends, and the longest gap or the profile, from a time on."""
        self.floor = floor
        self.last = max((each.end for each in self.reserved), default=0)
        self.profile = None
        if self.has_profile:
            self.tail = self.gap = 0
            self.profile = Profile(self.capacity)
            for begin, end, _, demand in self.reserved:
                self.profile.take(begin, end, demand)
            return
        self.tail = self.last
        self.gaps = Gaps((begin, end) for begin, end, _, _ in self.reserved)
        gap = 0
        after = floor
        for begin, end, _, _ in self.reserved:
            if begin - after > gap:
                gap = begin - after
            after = end
        self.gap = gap

    def replace_first(self, count: int, reserved: list[Reservation], floor: Time) -> None:
        """Replace the first reservations by others, none of which ends after the next one starts."""
        following = self.reserved[count] if count < len(self.reserved) else None
        self.reserved[:count] = reserved
        self.floor = floor
        self.last = self.tail = self.reserved[-1].end if self.reserved else 0
        busy = [(begin, end) for begin, end, _, _ in reserved]
        self.gaps.replace_first(busy, following and following[:2])
        before = reserved[-1].end if reserved else floor
        if following is not None and following.begin - before > self.gap:
            self.gap = following.begin - before

    def _pay(self) -> None:
        if self.last > self.paid_until:
            self.paid_until += -(-(self.last - self.paid_until) // self.period) * self.period

    @property
    def has_profile(self) -> bool:
        """Return whether it runs several tasks concurrently, or has shrunk and is too small for some."""
        return self.capacity[0] > 1 or self.capacity != self.kind.capacity

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is reserved."""
        return not self.reserved
