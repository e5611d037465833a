"""Machines, and the fleets of one kind and one tenant with an index of what is free on them.

A fleet groups its machines by what is free on each, a vector of slots and amounts. Machines with one slot fall into one
group; in general there are as many groups as there are different mixtures running. Looking for room costs
O(log machines) for each group, and a demand that found none is not looked for again until room has grown.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from operator import add, ge, sub
from typing import TYPE_CHECKING, TypeAlias, cast

from tradewind.core.transitions import ILLEGAL, MACHINE_ROWS, IllegalTransitionError, MachineState, MachineStep
from tradewind.core.work import Unit
from tradewind.model.machine import BootLag, MachineType, Market
from tradewind.model.requirement import Amounts
from tradewind.model.units import Duration, Money, Time
from tradewind.policies import protocol

if TYPE_CHECKING:
    from tradewind.core.pool import Pool

BOOTING, IDLE, BUSY, RELEASED, LOST, DRAINING = map(int, MachineState)

Vector: TypeAlias = tuple[int, ...]
"""Slots first, then the amounts that the machine types name, in the order of their names."""

_ID_BITS = 40
_ID_MASK = (1 << _ID_BITS) - 1


class Kind:
    """A machine type, numbered, and how many machines of it are held by anybody."""

    __slots__ = ("_dimensions", "capacity", "configured", "cores", "held", "index", "is_firm", "type")

    def __init__(self, index: int, type: MachineType, dimensions: Sequence[str]) -> None:
        self._dimensions = dimensions
        self.index = index
        self.configured = type
        """What drivers rent."""
        self.type = type
        """What policies see: the same, with the boot lag as it is thought to be."""
        if type.boot.declared is not None:
            self.expect_lag(type.boot.declared)
        self.is_firm = type.market is Market.ON_DEMAND
        """Whether its machines neither change in size nor are taken back."""
        self.capacity = self.with_amounts(type.amounts)
        self.cores = 1 + dimensions.index("cpus") if "cpus" in dimensions else None
        """Where cores stand in capacities."""
        self.held = 0

    def expect_lag(self, lag: Duration) -> None:
        """Machines of this kind are thought to come up so long after they are asked for, from now on."""
        if lag != self.type.boot.mean:
            self.type = replace(self.type, boot=BootLag(lag, self.type.boot.deviation))

    def with_amounts(self, amounts: Amounts) -> Vector:
        """The capacity of a machine of this kind that offers these amounts."""
        offered = dict(amounts)
        return (self.type.slots, *(offered.get(name, 0) for name in self._dimensions))

    def amounts(self, capacity: Vector) -> Amounts:
        """The amounts in a capacity."""
        return tuple((name, count) for name, count in zip(self._dimensions, capacity[1:], strict=True) if count)


class Machine:
    """A machine that has been acquired."""

    __slots__ = (
        "acquired",
        "capacity",
        "changed",
        "expected",
        "fleet",
        "free",
        "grew",
        "id",
        "idle_since",
        "kind",
        "lacking",
        "paid_until",
        "pool",
        "returned",
        "running",
        "sized",
        "state",
    )

    def __init__(self, id: int, fleet: "Fleet", acquired: Time, expected: Time) -> None:
        self.id = id
        self.fleet = fleet
        self.kind = fleet.kind
        self.pool = fleet.pool
        self.state: int = BOOTING
        self.capacity: Vector = fleet.kind.capacity
        self.free: Vector = fleet.kind.capacity
        self.changed = acquired
        self.grew = True
        self.running: dict[int, Unit] = {}
        self.acquired = acquired
        self.expected = expected
        self.paid_until = acquired
        self.idle_since = acquired
        self.sized = acquired
        """Up to when it was added up what it lacks; before it is up it has the size with which it comes up."""
        self.lacking = 0
        """Cores that it had less than its type, each times for how long."""
        self.returned: Money = 0
        """What was paid back for them."""

    @property
    def is_idle(self) -> bool:
        """Whether it is up and runs nothing."""
        return self.state == IDLE

    @property
    def is_booting(self) -> bool:
        """Whether it has been acquired but cannot work yet."""
        return self.state == BOOTING

    @property
    def is_up(self) -> bool:
        """Whether work can be started on it."""
        return self.state == IDLE or self.state == BUSY

    @property
    def amounts(self) -> Amounts:
        """What it offers now."""
        return self.kind.amounts(self.capacity)

    def measure(self, until: Time) -> None:
        """Add up what it lacks of its type, as if it kept its present size until a time."""
        place = self.kind.cores
        if place is not None and until > self.sized:
            self.lacking += max(0, self.kind.capacity[place] - self.capacity[place]) * (until - self.sized)
            self.sized = until

    def fits(self, demand: Vector) -> bool:
        """Whether what is free suffices."""
        return covers(self.free, demand)

    def holds(self, demand: Vector) -> int:
        """How many units of a demand it can run at once."""
        return min(have // want for have, want in zip(self.capacity, demand, strict=True) if want)

    def has_room_for(self, unit: protocol.Unit) -> bool:
        """Whether it is up and what is free on it suffices for a unit."""
        return self.is_up and self.fits(cast("Unit", unit).need.demand)

    def move(self, step: MachineStep) -> None:
        """Take a step that the table allows."""
        state = MACHINE_ROWS[self.state][step]
        if state == ILLEGAL:
            raise IllegalTransitionError(f"machine {self.id}: {step.name} while {MachineState(self.state).name}")
        self.state = state


class Fleet:
    """The machines of one kind that one tenant holds, those with room indexed by how much of it."""

    __slots__ = ("_area", "_by_age", "_full", "_since", "_slot", "completed", "groups", "kind", "machines", "pool")

    def __init__(self, kind: Kind, pool: "Pool") -> None:
        self.kind = kind
        self.pool = pool
        self.machines: dict[int, Machine] = {}
        self.completed = 0
        self.groups: dict[Vector, list[int]] = {}
        """Numbers of machines by what is free on them, as heaps; entries that no longer hold are skipped when met."""
        self._by_age: dict[Vector, list[int]] | None = None
        """The same, as heaps of idle time and number; kept once anybody has asked who has been idle the longest."""
        self._slot: Vector = (1, *(0 for _ in kind.capacity[1:]))
        self._full: set[Vector] = set()
        self._area: Duration = 0
        self._since: Time = 0

    def machine_time(self, now: Time) -> Duration:
        """Time for which machines of this fleet have been held so far, added up."""
        return self._area + len(self.machines) * (now - self._since)

    def join(self, machine: Machine, now: Time) -> None:
        """A machine has been acquired."""
        self._account(now)
        self.machines[machine.id] = machine
        self.kind.held += 1

    def leave(self, machine: Machine, now: Time) -> None:
        """A machine has been released or lost."""
        self._account(now)
        del self.machines[machine.id]
        self.kind.held -= 1

    def offer(self, machine: Machine) -> None:
        """A machine has gained room."""
        free = machine.free
        if self._full:
            self._full.clear()
        if self._by_age is not None:
            self._offer_by_age(self._by_age, machine)
        group = self.groups.get(free)
        if group is None:
            if len(self.groups) > 16 + 2 * len(self.machines):  # mostly mixtures that are over
                self._forget_mixtures()
            self.groups[free] = [machine.id]
            self.pool.openings += 1
            return
        if len(group) > 16 + 2 * len(self.machines):  # mostly entries that no longer hold
            machines = self.machines
            group[:] = {m for m in group if m in machines and machines[m].free == free and machines[m].is_up}
            heapify(group)
        heappush(group, machine.id)

    def occupy(self, machine: Machine, demand: Vector) -> None:
        """Work has been placed on a machine."""
        before = machine.free
        group = self.groups.get(before)
        if group and group[0] == machine.id:  # mostly so; other entries that no longer hold are skipped when met
            heappop(group)
            if not group:
                del self.groups[before]
                self.pool.openings -= 1
        free = machine.free = minus(before, demand)
        if any(free):
            self.offer(machine)

    def first_with(self, demand: Vector) -> Machine | None:
        """The machine with the smallest number that has room for a demand."""
        if demand in self._full:
            return None
        machines = self.machines
        best: Machine | None = None
        spent = None
        for free, group in self.groups.items():
            if not covers(free, demand):
                continue
            while group:
                machine = machines.get(group[0])
                if machine is not None and machine.free == free and (machine.state == IDLE or machine.state == BUSY):
                    if best is None or machine.id < best.id:
                        best = machine
                    break
                heappop(group)
            else:
                spent = [free] if spent is None else [*spent, free]
        for free in spent or ():
            del self.groups[free]
            self.pool.openings -= 1
        if best is None:
            self._full.add(demand)
        return best

    @property
    def has_room(self) -> bool:
        """Whether a slot is free on any machine that is up."""
        return self.longest_idle(self._slot) is not None

    def longest_idle(self, demand: Vector) -> Machine | None:
        """The machine with room for a demand that has been idle the longest; one at work, from when it last was."""
        if demand in self._full:
            return None
        by_age = self._by_age
        if by_age is None:
            by_age = self._by_age = {}
            for machine in self.machines.values():
                if machine.is_up and any(machine.free):
                    self._offer_by_age(by_age, machine)
        best: Machine | None = None
        oldest = 0
        for free, group in by_age.items():
            if not covers(free, demand):
                continue
            while group:
                key = group[0]
                found = self._holder(free, key)
                if found is not None:
                    if best is None or key < oldest:
                        best, oldest = found, key
                    break
                heappop(group)
        if best is None:
            self._full.add(demand)
        return best

    def _offer_by_age(self, by_age: dict[Vector, list[int]], machine: Machine) -> None:
        group = by_age.setdefault(machine.free, [])
        if len(group) > 16 + 2 * len(self.machines):  # mostly entries that no longer hold
            group[:] = {key for key in group if self._holder(machine.free, key) is not None}
            heapify(group)
        heappush(group, machine.idle_since << _ID_BITS | machine.id)

    def _holder(self, free: Vector, key: int) -> Machine | None:
        """The machine that an entry by age stands for, if it still holds."""
        machine = self.machines.get(key & _ID_MASK)
        if machine is None or machine.free != free or machine.idle_since != key >> _ID_BITS:
            return None
        return machine if machine.state == IDLE or machine.state == BUSY else None

    def _forget_mixtures(self) -> None:
        """Drop the groups of mixtures that no machine runs any more, for no demand may ever meet them."""
        present = {machine.free for machine in self.machines.values()}
        for free in [free for free in self.groups if free not in present]:
            del self.groups[free]
            self.pool.openings -= 1
        if self._by_age is not None:
            self._by_age = {free: group for free, group in self._by_age.items() if free in present}

    def _account(self, now: Time) -> None:
        self._area = self.machine_time(now)
        self._since = now


def covers(have: Vector, want: Vector) -> bool:
    """Whether there is enough of everything."""
    if len(have) == 1:  # slots alone: by far the most frequent case
        return have[0] >= want[0]
    return all(map(ge, have, want))


def minus(have: Vector, taken: Vector) -> Vector:
    """What is left."""
    return (have[0] - taken[0],) if len(have) == 1 else tuple(map(sub, have, taken))


def plus(have: Vector, given: Vector) -> Vector:
    """What there is then."""
    return (have[0] + given[0],) if len(have) == 1 else tuple(map(add, have, given))
