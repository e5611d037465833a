"""Pools: one tenant's ready work and machines, indexed so that a match is found without looking at all of either."""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

from tradewind.core.ledger import Account
from tradewind.core.machines import Fleet, Kind, Machine
from tradewind.core.work import READY, Need, Run, Unit
from tradewind.model.tenant import Tenant
from tradewind.policies import protocol

_ID_BITS = 40
_ID_MASK = (1 << _ID_BITS) - 1


class Pool:
    """One tenant's runs, ready units, machines and money."""

    __slots__ = (
        "_units",
        "account",
        "delayed",
        "fleets",
        "index",
        "is_unsettled",
        "needs",
        "openings",
        "queues",
        "runs",
        "tenant",
        "waiting",
    )

    def __init__(self, index: int, tenant: Tenant, kinds: Sequence[Kind], units: dict[int, Unit]) -> None:
        self.index = index
        self.tenant = tenant
        self.account = Account(tenant)
        self.fleets = tuple(Fleet(kind, self) for kind in kinds)
        self.runs: dict[int, Run] = {}
        self.queues: dict[int, list[int]] = {}
        """Ready units by need, as heaps of rank and number; entries that no longer hold are skipped when met."""
        self.needs: dict[int, Need] = {}
        self.waiting: dict[int, int] = {}
        """How many units are ready, by the number of what they need."""
        self.delayed: dict[int, Unit] = {}
        self.openings = 0
        """In how many groups of its fleets there is a machine with room."""
        self.is_unsettled = False
        self._units = units

    def enqueue(self, unit: Unit, rank: int) -> None:
        """A unit has become ready."""
        need = unit.need.index
        self.waiting[need] = self.waiting.get(need, 0) + 1
        self.reorder(unit, rank)

    def reorder(self, unit: Unit, rank: int) -> None:
        """A ready unit has this rank from now on."""
        key = rank << _ID_BITS | unit.id
        if unit.queued and unit.key == key:
            return  # its old entry holds again
        unit.key = key
        unit.queued = True
        queue = self.queues.get(unit.need.index)
        if queue is None:
            self.queues[unit.need.index] = [key]
            self.needs[unit.need.index] = unit.need
        else:
            heappush(queue, key)

    def dequeue(self, unit: Unit) -> None:
        """A unit has been started."""
        self.withdraw(unit)
        queue = self.queues.get(unit.need.index)
        if queue and queue[0] == unit.key:  # mostly so; other entries that no longer hold are skipped when met
            heappop(queue)
            unit.queued = False
            if not queue:
                del self.queues[unit.need.index]

    def withdraw(self, unit: Unit) -> None:
        """A unit is no longer ready; its entry is skipped when met."""
        need = unit.need.index
        left = self.waiting[need] - 1
        if left:
            self.waiting[need] = left
        else:
            del self.waiting[need]

    def first(self, need: protocol.Need) -> Unit | None:
        """The first ready unit of a need, by rank."""
        queue = self.queues.get(need.index)
        while queue:
            unit = self._holder(need.index, queue[0])
            if unit is not None:
                if unit.state == READY:
                    return unit
                unit.queued = False
            heappop(queue)
        self.queues.pop(need.index, None)
        return None

    def some(self, need: protocol.Need, most: int) -> list[Unit]:
        """A few ready units of a need, mostly among the first: enough to judge the others by."""
        keys = self.queues.get(need.index, ())[:most]
        held = (self._holder(need.index, key) for key in keys)
        return [unit for unit in held if unit is not None and unit.state == READY]

    def longest_idle(self, kind: protocol.Kind, need: protocol.Need) -> Machine | None:
        """The machine of a kind with room for a need that has been idle the longest."""
        return self.fleets[kind.index].longest_idle(need.demand)

    def best_match(self) -> tuple[Unit, Machine] | None:
        """The first ready unit, by rank, for which there is room, and the first machine that has it."""
        if not self.openings:
            return None
        units = self._units
        best: tuple[Unit, Machine] | None = None
        emptied = None
        for index, queue in self.queues.items():
            while queue:
                key = queue[0]
                unit = units.get(key & _ID_MASK)
                if unit is not None and unit.key == key and unit.need.index == index:
                    if unit.state == READY:
                        if best is None or key < best[0].key:
                            machine = self.room_for(self.needs[index])
                            if machine is not None:
                                best = (unit, machine)
                        break
                    unit.queued = False
                heappop(queue)
            else:
                emptied = [index] if emptied is None else [*emptied, index]
        for index in emptied or ():
            del self.queues[index]
        return best

    def room_for(self, need: Need) -> Machine | None:
        """The first machine, by kind and number, with room for a need."""
        for kind in need.kinds:
            machine = self.fleets[kind.index].first_with(need.demand)
            if machine is not None:
                return machine
        return None

    def eligible(self) -> Iterator[Unit]:
        """Units that wait for nothing but a machine, in no special order."""
        for index, queue in self.queues.items():
            queued = [unit for key in queue if (unit := self._holder(index, key)) is not None]
            found = [unit for unit in queued if unit.state == READY]
            if len(queue) > 16 + 2 * len(found):  # a placer that never asks for matches leaves old entries behind
                self._rebuild(queue, queued, found)
            yield from found

    def _holder(self, index: int, key: int) -> Unit | None:
        """The unit that an entry of a queue stands for, unless it has been replaced by another."""
        unit = self._units.get(key & _ID_MASK)
        return unit if unit is not None and unit.key == key and unit.need.index == index else None

    @staticmethod
    def _rebuild(queue: list[int], queued: list[Unit], found: list[Unit]) -> None:
        """Forget the entries of a queue that no longer hold."""
        for unit in queued:
            unit.queued = False
        for unit in found:
            unit.queued = True
        queue[:] = [unit.key for unit in found]
        heapify(queue)

    def active(self) -> Iterator[Unit]:
        """Units that are running, eligible, or about to be tried again; in no special order."""
        yield from self.eligible()
        for fleet in self.fleets:
            for machine in fleet.machines.values():
                yield from machine.running.values()
        yield from self.delayed.values()
