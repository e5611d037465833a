"""Pools: one tenant's ready work and machines, indexed so that a match is found without looking at all of either."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush

from tradewind.core.fleet import Fleet
from tradewind.core.ledger import Account
from tradewind.core.machines import Kind, Machine
from tradewind.core.ready import Lines, add, ascending, merged
from tradewind.core.work import ID_BITS, ID_MASK, READY, Need, Run, Unit
from tradewind.model.tenant import Tenant
from tradewind.policies import protocol

CHUNK = 1_000
"""So many entries of a queue are looked at before any of them is given out."""


class Pool:
    """One tenant's runs, ready units, machines and money."""

    __slots__ = (
        "_lines",
        "_spent",
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
    )

    def __init__(self, index: int, tenant: Tenant, kinds: Sequence[Kind], units: dict[int, Unit]) -> None:
        self.index = index
        self.tenant = tenant
        self.account = Account(tenant)
        self.fleets = [Fleet(kind, self) for kind in kinds]
        self.runs: dict[int, Run] = {}
        self.queues: dict[int, list[int]] = {}
        """Ready units by need, as heaps of rank and number; entries that no longer hold are skipped when met."""
        self.needs: dict[int, Need] = {}
        self._spent: Counter[int] = Counter()
        """How many entries of a queue are known to hold no longer, by need."""
        self._lines: Lines | None = None
        """Ready units by run; None until they are asked for."""
        self.delayed: dict[int, Unit] = {}
        self.openings = 0
        """In how many groups of its fleets there is a machine with room."""
        self.is_unsettled = False
        self._units = units

    def forget(self, run: Run) -> None:
        """A run has ended."""
        del self.runs[run.id]
        if self._lines is not None:
            self._lines.pop(run.id, None)

    def enqueue(self, unit: Unit, rank: int) -> None:
        """A unit has become ready, or has another rank."""
        key = rank << ID_BITS | unit.id
        index = unit.need.index
        if unit.queued:
            if unit.key == key:
                return
            self._spent[index] += 1
        unit.key = key
        unit.queued = True
        if self._lines is not None:
            add(self._lines, unit, self._units)
        queue = self.queues.get(index)
        if queue is None:
            self.queues[index] = [key]
            self.needs[index] = unit.need
            self._spent[index] = 0
        else:
            heappush(queue, key)

    def dequeue(self, unit: Unit) -> None:
        """A unit has been started."""
        index = unit.need.index
        unit.queued = False
        queue = self.queues.get(index)
        if queue and queue[0] == unit.key:  # mostly so; other entries that no longer hold are skipped when met
            heappop(queue)
            if not queue:
                del self.queues[index]
        else:
            self._spent[index] += 1

    @property
    def held(self) -> int:
        """How many machines it holds."""
        return sum(len(fleet.machines) for fleet in self.fleets)

    def waiting(self) -> list[Need]:
        """Needs of which units may be ready and that some known type meets, in no special order."""
        needs = self.needs
        return [need for index in self.queues if (need := needs[index]).kinds]

    def remaining(self, need: protocol.Need) -> int:
        """How many units of a need are ready."""
        queue = self.queues.get(need.index)
        if not queue:
            return 0
        count = len(queue) - self._spent[need.index]
        return count if count > 1 else 1

    def first(self, need: protocol.Need) -> Unit | None:
        """The first ready unit of a need, by rank."""
        index = need.index
        queue = self.queues.get(index)
        if queue is None:
            return None
        while queue:
            key = queue[0]
            unit = self._units.get(key & ID_MASK)
            if unit is not None and unit.key == key and unit.need.index == index and unit.state == READY:
                return unit
            self._skip(index, unit, key)
            heappop(queue)
        del self.queues[index]
        return None

    def ranked(self, need: protocol.Need, most: int) -> list[Unit]:
        """The first ready units of a need, so many at most, by rank; O(most log most)."""
        index = need.index
        queue = self.queues.get(index)
        found: list[Unit] = []
        if not queue:
            return found
        met = 0
        for key in ascending(queue):
            if len(found) == most:
                break
            unit = self._holder(index, key)
            met += 1
            if unit is not None and unit.state == READY and not (found and found[-1] is unit):
                found.append(unit)
        if met > 16 + 2 * len(found):  # mostly entries that no longer hold
            self._clear_first(index, queue, met)
            if not queue:
                del self.queues[index]
        return found

    def some(self, need: protocol.Need, most: int) -> list[Unit]:
        """A few ready units of a need, mostly among the first: enough to judge the others by."""
        keys = self.queues.get(need.index, ())[:most]
        held = (self._holder(need.index, key) for key in keys)
        return [unit for unit in held if unit is not None and unit.state == READY]

    def kinds_with_room(self) -> list[Kind]:
        """Kinds of which some machine could take more work, in the order in which they are configured."""
        return [fleet.kind for fleet in self.fleets if fleet.machines and fleet.has_room]

    def first_with_room(self, kind: protocol.Kind, need: protocol.Need) -> Machine | None:
        """The machine of a kind with the smallest number that has room for a need."""
        return self.fleets[kind.index].first_with(need.demand)

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
                unit = units.get(key & ID_MASK)
                if unit is not None and unit.key == key and unit.need.index == index and unit.state == READY:
                    if best is None or key < best[0].key:
                        machine = self._room_for(unit.need)
                        if machine is not None:
                            best = (unit, machine)
                    break
                self._skip(index, unit, key)
                heappop(queue)
            else:
                emptied = [index] if emptied is None else [*emptied, index]
        for index in emptied or ():
            del self.queues[index]
        return best

    def _skip(self, index: int, unit: Unit | None, key: int) -> None:
        """An entry that no longer holds is about to go: one that was known to, unless its unit was cancelled."""
        if unit is not None and unit.queued and unit.key == key:
            unit.queued = False
        elif self._spent[index]:
            self._spent[index] -= 1

    def has_room_for(self, need: Need) -> bool:
        """Whether one of its machines could take a unit of a need now."""
        return self._room_for(need) is not None

    def _room_for(self, need: Need) -> Machine | None:
        """The first machine, by kind and number, with room for a need."""
        for kind in need.kinds:
            machine = self.fleets[kind.index].first_with(need.demand)
            if machine is not None:
                return machine
        return None

    def eligible(self) -> Iterator[Unit]:
        """Units that wait for nothing but a machine, in no special order; what is not asked for costs nothing."""
        for index, queue in list(self.queues.items()):
            if self.needs[index].kinds:  # else it waits for a machine of an unknown type
                yield from self._ready_of(index, queue)

    def _ready_of(self, index: int, queue: list[int]) -> Iterator[Unit]:
        if 2 * self._spent[index] > len(queue):
            self._rebuild(index, queue)
        return self._ready_in(index, queue)

    def eligible_of(self, run: protocol.Run, is_wanted: Callable[[protocol.Need], bool]) -> Iterator[Unit]:
        """Units of a run that wait for nothing but a machine, in order, those of a need as long as it is wanted."""
        if self._lines is None:
            self._lines = {}
            for index, queue in list(self.queues.items()):
                for unit in self._ready_of(index, queue):
                    add(self._lines, unit, self._units)
        lines = self._lines.get(run.id)
        return merged(lines, is_wanted) if lines else iter(())

    def _ready_in(self, index: int, queue: list[int]) -> Iterator[Unit]:
        """The ready units of a queue, which forgets its other entries if all of it is gone through."""
        seen: set[int] | None = set() if self._spent[index] else None
        holding = 0
        for first in range(0, len(queue), CHUNK):
            keys = queue[first : first + CHUNK]
            units = map(self._units.get, map(ID_MASK.__and__, keys))
            found = [
                unit
                for unit, key in zip(units, keys, strict=True)
                if unit is not None and unit.key == key and unit.state == READY and unit.need.index == index
            ]
            if seen is not None:  # an entry may hold again, beside another of the same unit
                found = [unit for unit in dict.fromkeys(found) if unit.id not in seen]
                seen.update(unit.id for unit in found)
            holding += len(found)
            yield from found
        if holding < len(queue):
            self._rebuild(index, queue)

    def _holder(self, index: int, key: int) -> Unit | None:
        """The unit that an entry of a queue stands for, unless it has been replaced by another."""
        unit = self._units.get(key & ID_MASK)
        return unit if unit is not None and unit.key == key and unit.need.index == index else None

    def _clear_first(self, index: int, queue: list[int], count: int) -> None:
        """Forget those of the first entries of a queue that no longer hold; O(count log n)."""
        kept: list[int] = []
        for key in [heappop(queue) for _ in range(count)]:
            unit = self._units.get(key & ID_MASK)
            is_held = unit is not None and unit.key == key and unit.need.index == index and unit.state == READY
            if is_held and not (kept and kept[-1] == key):
                kept.append(key)
            elif is_held:  # beside another of the same unit
                self._spent[index] -= 1
            else:
                self._skip(index, unit, key)
        for key in kept:
            heappush(queue, key)

    def _rebuild(self, index: int, queue: list[int]) -> None:
        """Forget the entries of a queue that no longer hold."""
        held = (self._holder(index, key) for key in queue)
        queued = [unit for unit in held if unit is not None]
        found = [unit for unit in dict.fromkeys(queued) if unit.state == READY]
        for unit in queued:
            unit.queued = False
        for unit in found:
            unit.queued = True
        queue[:] = [unit.key for unit in found]
        heapify(queue)
        self._spent[index] = 0

    def active(self) -> Iterator[Unit]:
        """Units that are running, eligible, or about to be tried again; in no special order."""
        yield from self.eligible()
        for fleet in self.fleets:
            for machine in fleet.machines.values():
                yield from machine.running.values()
        yield from self.delayed.values()
