"""An index of one pool's machines: by direction and time of their last change, free room, and when room becomes free.

Machines of one kind and direction are ordered by their last change, so that machines that have been stable for a
similar time are neighbours and share one prediction. The index is maintained from what the view reports; an update
takes O(log n) comparisons.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from tradewind.model.units import MINUTE, Duration, Time
from tradewind.model.vector import Vector, covers, plus
from tradewind.policies.harvest.predictor import rounded, unrounded
from tradewind.policies.protocol import Kind, Machine, Pool, Unit, View

_BITS = 40
MASK = (1 << _BITS) - 1
"""The part of a key that contains the number of its machine."""
OVERDUE = MINUTE
"""Assumed remaining time of a unit that should have finished by now."""

Taken: TypeAlias = Mapping[int, Vector]
"""By machine: capacity that is booked in addition to what is in use."""


class Group(NamedTuple):
    """Machines of one kind that changed in the same direction a similar time ago."""

    grew: bool
    elapsed: int
    """Rounded."""
    keys: Sequence[int]
    first: int
    last: int


class Rooms:
    """The machines of one pool."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.open: dict[int, Machine] = {}
        """Machines that may have room."""
        self.version = 0
        """Increases each time a machine appears, changes or disappears."""
        self._keys: dict[tuple[int, bool], list[int]] = {}
        self._places: dict[int, tuple[tuple[int, bool], int]] = {}
        self._machines: dict[int, Machine] = {}
        self._ends: dict[int, list[tuple[Time, Vector]]] = {}
        self._next: list[int] = []
        self._next_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._machines)

    def machines(self) -> Iterator[Machine]:
        """Yield all machines that are up."""
        return iter(self._machines.values())

    def update(self, view: View, machine: Machine) -> None:
        """Update a machine that has come up, changed, gained or lost room, or gone."""
        number = machine.id
        if not machine.is_up:
            self.forget(number)
            return
        group = (machine.kind.index, machine.grew)
        # Time and number in one integer: keys sort by time, and the number can be recovered.
        key = machine.changed << _BITS | number
        if self._places.get(number) != (group, key):
            self.forget(number)
            insort(self._keys.setdefault(group, []), key)
            self._places[number] = (group, key)
            self._machines[number] = machine
            self.version += 1
        if any(machine.free):
            self.open[number] = machine
        self.note_work(view, machine)

    def note_work(self, view: View, machine: Machine) -> None:
        """Record that the units on a machine have changed."""
        number = machine.id
        self._drop_end(number)
        ends = sorted(
            # An overdue unit is assumed to end soon, not in the past.
            (max(unit.started + view.estimate(unit, machine.kind), view.now + OVERDUE), unit.need.demand)
            for unit in machine.running.values()
        )
        if ends:
            self._ends[number] = ends
            key = ends[0][0] << _BITS | number
            insort(self._next, key)
            self._next_of[number] = key

    def forget(self, number: int) -> None:
        """Remove a machine that is gone."""
        place = self._places.pop(number, None)
        if place is None:
            return
        self.version += 1
        group, key = place
        keys = self._keys[group]
        del keys[bisect_left(keys, key)]
        del self._machines[number]
        self.open.pop(number, None)
        self._drop_end(number)

    def groups(self, kind: Kind, now: Time) -> Iterator[Group]:
        """Yield all machines of a kind in groups, longest stable first within each direction."""
        for grew in (True, False):
            keys = self._keys.get((kind.index, grew), ())
            first = 0
            while first < len(keys):
                elapsed = rounded(now - (keys[first] >> _BITS))
                # All machines whose elapsed time rounds to the same step form one group.
                last = bisect_left(keys, (now - unrounded(elapsed) + 1) << _BITS, first)
                last = max(last, first + 1)
                yield Group(grew, elapsed, keys, first, last)
                first = last

    def soon(self, now: Time, limit: float) -> Iterator[tuple[Machine, Duration]]:
        """Yield machines on which something is expected to finish before a limit, and in how long, earliest first."""
        for key in self._next:
            wait = max(0, (key >> _BITS) - now)
            if wait >= limit:
                return
            yield self._machines[key & MASK], wait

    def frees(self, machine: Machine, demand: Vector, taken: Taken) -> Time | None:
        """Return when a machine is expected to have room for a demand, if it ever fits there."""
        spoken = taken.get(machine.id)
        wanted = demand if spoken is None else plus(demand, spoken)
        if not covers(machine.capacity, wanted):
            return None
        free = machine.free
        # Release the running units in order of their expected ends until the demand fits.
        for end, given in self._ends.get(machine.id, ()):
            free = plus(free, given)
            if covers(free, wanted):
                return end
        return None

    def _drop_end(self, number: int) -> None:
        key = self._next_of.pop(number, None)
        if key is not None:
            del self._next[bisect_left(self._next, key)]
            del self._ends[number]


def has_room(machine: Machine, demand: Vector, taken: Taken) -> bool:
    """Return whether a machine is up and has room beyond what is booked."""
    if not machine.is_up:
        return False
    spoken = taken.get(machine.id)
    return covers(machine.free, demand if spoken is None else plus(demand, spoken))


class Watch:
    """The rooms of all pools, maintained from what the view reports."""

    def __init__(self) -> None:
        self._rooms: dict[int, Rooms] = {}
        self._kinds = 0

    def follow(self, view: View) -> None:
        """Process the changes since the placer was last called."""
        if self._kinds != len(view.kinds):  # the dimensions of vectors may have changed, too
            self._kinds = len(view.kinds)
            self._rooms.clear()
        for change in view.changes():
            self.of(view, change.machine.pool).update(view, change.machine)
        for machine in view.vacated():
            self.of(view, machine.pool).update(view, machine)
            if machine.kind.type.joins:  # it may have been lent
                for rooms in self._rooms.values():
                    if rooms.pool is not machine.pool:
                        rooms.forget(machine.id)

    def of(self, view: View, pool: Pool) -> Rooms:
        """Return the rooms of a pool, building them on first use."""
        rooms = self._rooms.get(pool.index)
        if rooms is None:
            rooms = self._rooms[pool.index] = Rooms(pool)
            for fleet in pool.fleets:
                for machine in fleet.machines.values():
                    rooms.update(view, machine)
        return rooms


def queue(pool: Pool, most: int) -> list[Unit]:
    """Return the first ready units of a pool by priority and age, up to a maximum for each need."""
    found = [unit for need in pool.waiting() for unit in pool.ranked(need, most)]
    found.sort(key=lambda unit: (-unit.run.priority, unit.id))
    return found
