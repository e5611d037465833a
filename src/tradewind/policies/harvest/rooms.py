"""An index of one pool's machines: by how each changed last and when, which may have room, and when others will.

Machines of one kind and direction stand in the order of their last change, so that those which have been stable for
about as long lie side by side: what is expected of them is worked out once for all of them. The index is kept up from
what the view reports; an update takes O(log n) comparisons.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from operator import add, ge
from typing import NamedTuple, TypeAlias

from tradewind.model.units import MINUTE, Duration, Time
from tradewind.policies.harvest.predictor import rounded, unrounded
from tradewind.policies.protocol import Kind, Machine, Pool, Unit, View

_BITS = 40
MASK = (1 << _BITS) - 1
"""Of a key: the number of the machine that it stands for."""
OVERDUE = MINUTE
"""How long a unit is thought to go on that should have ended by now."""

Vector: TypeAlias = tuple[int, ...]
Taken: TypeAlias = Mapping[int, Vector]
"""By machine: what is spoken for besides what is in use."""


class Group(NamedTuple):
    """Machines of one kind that changed the same way about as long ago."""

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
        """Those that may have room."""
        self.version = 0
        """Grows each time a machine comes, changes or goes."""
        self._keys: dict[tuple[int, bool], list[int]] = {}
        self._places: dict[int, tuple[tuple[int, bool], int]] = {}
        self._machines: dict[int, Machine] = {}
        self._ends: dict[int, list[tuple[Time, Vector]]] = {}
        self._next: list[int] = []
        self._next_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._machines)

    def machines(self) -> Iterator[Machine]:
        """All that are up."""
        return iter(self._machines.values())

    def update(self, view: View, machine: Machine) -> None:
        """A machine has come up, changed, gained or lost room, or gone."""
        number = machine.id
        if not machine.is_up:
            self.forget(number)
            return
        group = (machine.kind.index, machine.grew)
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
        """What runs on a machine is other than before."""
        number = machine.id
        self._drop_end(number)
        ends = sorted(
            (max(unit.started + view.estimate(unit, machine.kind), view.now + OVERDUE), unit.need.demand)
            for unit in machine.running.values()
        )
        if ends:
            self._ends[number] = ends
            key = ends[0][0] << _BITS | number
            insort(self._next, key)
            self._next_of[number] = key

    def forget(self, number: int) -> None:
        """A machine is gone."""
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
        """All machines of a kind, the longest stable first within each direction."""
        for grew in (True, False):
            keys = self._keys.get((kind.index, grew), ())
            first = 0
            while first < len(keys):
                elapsed = rounded(now - (keys[first] >> _BITS))
                last = bisect_left(keys, (now - unrounded(elapsed) + 1) << _BITS, first)
                last = max(last, first + 1)
                yield Group(grew, elapsed, keys, first, last)
                first = last

    def soon(self, now: Time, limit: float) -> Iterator[tuple[Machine, Duration]]:
        """Machines on which something is thought to end before a limit, and in how long, the first first."""
        for key in self._next:
            wait = max(0, (key >> _BITS) - now)
            if wait >= limit:
                return
            yield self._machines[key & MASK], wait

    def frees(self, machine: Machine, demand: Vector, taken: Taken) -> Time | None:
        """When a machine is thought to have room for a demand, if what runs there suffices for it."""
        spoken = taken.get(machine.id)
        wanted = demand if spoken is None else plus(demand, spoken)
        if not covers(machine.capacity, wanted):
            return None
        free = machine.free
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
    """Whether a machine is up and has room besides what is spoken for."""
    if not machine.is_up:
        return False
    spoken = taken.get(machine.id)
    return covers(machine.free, demand if spoken is None else plus(demand, spoken))


def covers(have: Vector, want: Vector) -> bool:
    """Whether there is enough of everything."""
    return all(map(ge, have, want))


def plus(one: Vector, other: Vector) -> Vector:
    """Both together."""
    return tuple(map(add, one, other))


class Watch:
    """The rooms of all pools, kept up from what the view reports."""

    def __init__(self) -> None:
        self._rooms: dict[int, Rooms] = {}

    def follow(self, view: View) -> None:
        """Take in what has happened since the placer was last asked."""
        for change in view.changes():
            self.of(view, change.machine.pool).update(view, change.machine)
        for machine in view.vacated():
            self.of(view, machine.pool).update(view, machine)

    def of(self, view: View, pool: Pool) -> Rooms:
        """The rooms of a pool; those not known yet are looked up."""
        rooms = self._rooms.get(pool.index)
        if rooms is None:
            rooms = self._rooms[pool.index] = Rooms(pool)
            for fleet in pool.fleets:
                for machine in fleet.machines.values():
                    rooms.update(view, machine)
        return rooms


def queue(pool: Pool, most: int) -> list[Unit]:
    """The first ready units of a pool, so many of each need at most, by priority and age."""
    found = [unit for need in pool.waiting() for unit in pool.ranked(need, most)]
    found.sort(key=lambda unit: (-unit.run.priority, unit.id))
    return found
