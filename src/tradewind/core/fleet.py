"""Fleets: the machines of one kind and one tenant, with an index of what is free on them.

A fleet groups its machines by what is free on each, a vector of slots and amounts. Machines with one slot fall into one
group; in general there are as many groups as there are different mixtures running. Looking for room costs
O(log machines) for each group, and a demand that found none is not looked for again until room has grown.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from tradewind.core.machines import BUSY, IDLE, Kind, Machine
from tradewind.core.work import ID_BITS, ID_MASK
from tradewind.model.units import Duration, Time
from tradewind.model.vector import Vector, covers, minus

if TYPE_CHECKING:
    from tradewind.core.pool import Pool


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

    def measure(self) -> None:
        """The dimensions of vectors have changed: index everything again."""
        self._slot = (1, *(0 for _ in self.kind.capacity[1:]))
        self._full.clear()
        self._by_age = None
        self.pool.openings -= len(self.groups)
        self.groups.clear()
        for machine in self.machines.values():
            if machine.is_up and any(machine.free):
                self.offer(machine)

    def offer(self, machine: Machine) -> None:
        """A machine has gained room."""
        free = machine.free
        if self._full:
            self._full.clear()
        if self._by_age is not None:
            self._offer_by_age(self._by_age, machine)
        groups = self.groups
        group = groups.get(free)
        if group is None:
            if len(groups) > 16 and len(groups) > 16 + 2 * len(self.machines):  # mostly mixtures that are over
                self._forget_mixtures()
            groups[free] = [machine.id]
            self.pool.openings += 1
            return
        if len(group) > 16 and len(group) > 16 + 2 * len(self.machines):  # mostly entries that no longer hold
            machines = self.machines
            group[:] = {m for m in group if m in machines and machines[m].free == free and machines[m].is_up}
            heapify(group)
        heappush(group, machine.id)

    def occupy(self, machine: Machine, demand: Vector) -> None:
        """Work has been placed on a machine."""
        before = machine.free
        group = self.groups.get(before)
        if group and group[0] == machine.id:  # mostly so; other entries that no longer hold are skipped when met
            if len(group) > 1:
                heappop(group)
            else:
                del self.groups[before]
                self.pool.openings -= 1
        free = machine.free = minus(before, demand)
        if free[0] or any(free):
            self.offer(machine)

    def first_with(self, demand: Vector) -> Machine | None:
        """The machine with the smallest number that has room for a demand."""
        if demand in self._full:
            return None
        machines = self.machines
        best: Machine | None = None
        spent = None
        slots = demand[0]
        for free, group in self.groups.items():
            if free[0] < slots or (len(free) > 1 and not covers(free, demand)):
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
        heappush(group, machine.idle_since << ID_BITS | machine.id)

    def _holder(self, free: Vector, key: int) -> Machine | None:
        """The machine that an entry by age stands for, if it still holds."""
        machine = self.machines.get(key & ID_MASK)
        if machine is None or machine.free != free or machine.idle_since != key >> ID_BITS:
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
