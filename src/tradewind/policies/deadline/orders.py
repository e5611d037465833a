"""Orders: the machine type and deadline of each unit, given by a scaler and followed earliest deadline first.

Step 5 of section 3.3.2 of the SCS paper: units wait in one queue per machine type, and whenever a machine has room the
unit with the earliest deadline starts on it. A unit that continues a bundle goes first on the machine where the bundle
runs. An event costs O(log n) in the number of waiting units.
"""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from tradewind.model.units import Time
from tradewind.policies.protocol import Kind, Machine, Place, Pool, Unit, View


class Order(NamedTuple):
    """Where and by when a unit should run."""

    kind: int
    due: Time
    after: int | None = None
    """The number of the previous unit in its bundle."""


class Orders:
    """A scaler's orders for the units of all runs; queues contain those that are ready."""

    def __init__(self) -> None:
        self._orders: dict[int, Order] = {}
        self._queues: dict[tuple[int, int], list[tuple[Time, int]]] = {}
        self.changed = False
        """Whether the order of a ready unit has changed since the placer last ran."""
        self.freed: set[int] = set()
        """Runs with a unit that has become ready since the scaler last ran."""
        self.places: dict[int, int] = {}
        """Machines on which bundles were started, by the number of the last unit that ran there."""

    def give(self, pool: Pool, unit: Unit, order: Order) -> None:
        """Give or change the order of a unit."""
        if self._orders.get(unit.id) != order:
            self._orders[unit.id] = order
            if unit.is_ready:
                self.enqueue(pool, unit)
                self.changed = True

    def of(self, unit: Unit) -> Order | None:
        """Return the order of a unit, if it has one."""
        return self._orders.get(unit.id)

    def forget(self, units: Iterable[int]) -> None:
        """Remove the orders of units that have ended."""
        for unit in units:
            self._orders.pop(unit, None)
            self.places.pop(unit, None)

    def enqueue(self, pool: Pool, unit: Unit) -> None:
        """Add a ready unit to its queue."""
        order = self._orders.get(unit.id)
        if order is not None:
            heappush(self._queues.setdefault((pool.index, order.kind), []), (order.due, unit.id))

    def first(self, view: View, pool: Pool, kind: Kind) -> Unit | None:
        """Return the ready unit with the earliest deadline in the queue of a machine type."""
        queue = self._queues.get((pool.index, kind.index), [])
        while queue:
            due, number = queue[0]
            unit = view.unit(number)
            order = self._orders.get(number)
            if (
                unit is not None
                and unit.is_ready
                and order is not None
                and order.kind == kind.index
                and order.due == due
            ):
                return unit
            heappop(queue)
        return None


class EarliestDeadlineFirst:
    """A placer that starts the unit with the earliest deadline on each machine type that has room."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    def rank(self, unit: Unit) -> int:
        """Rank runs with the earliest deadline first, though only orders count."""
        return (unit.run.deadline or 0) // 1_000_000

    def place(self, view: View) -> Iterator[Place]:
        """Continue bundles where they run, then fill machines that have room."""
        orders = self._orders
        pools = {pool.index: pool for pool in (view.pools() if orders.changed else view.unsettled())}
        orders.changed = False
        for unit in view.freed():
            orders.freed.add(unit.run.id)
            pool = _pool_of(pools.values(), unit)
            if pool is not None:
                yield from self._go_on(view, unit)
                if unit.is_ready:
                    orders.enqueue(pool, unit)
        for pool in pools.values():
            for fleet in pool.fleets:
                if fleet.machines:
                    yield from self._fill(view, pool, fleet.kind)

    def step_back(self) -> None:
        """Let another placer take over; orders then only determine what is rented."""

    def insist(self, view: View) -> Iterator[Place]:
        """Yield nothing, but mark runs with newly ready units for new windows."""
        self._orders.changed = False
        self._orders.freed.update(unit.run.id for unit in view.freed())
        return iter(())

    def binds(self, pool: Pool) -> bool:  # noqa: ARG002  # the same for every tenant
        """Orders bind nothing."""
        return False

    def placed(self, view: View, unit: Unit, machine: Machine) -> None:  # noqa: ARG002  # the machine says it all
        """Record where a bundle continues."""
        self._orders.places[unit.id] = machine.id

    def _go_on(self, view: View, unit: Unit) -> Iterator[Place]:
        """Start a unit on the machine where the previous unit of its bundle ran."""
        order = self._orders.of(unit)
        if order is None or order.after is None:
            return
        machine = view.machine(self._orders.places.get(order.after, -1))
        if machine is not None and machine.kind.index == order.kind and machine.has_room_for(unit):
            self._orders.places[unit.id] = machine.id
            yield Place(unit, machine, "its bundle runs here")

    def _fill(self, view: View, pool: Pool, kind: Kind) -> Iterator[Place]:
        while (unit := self._orders.first(view, pool, kind)) is not None:
            machine = pool.first_with_room(kind, unit.need)
            if machine is None:
                return
            self._orders.places[unit.id] = machine.id
            yield Place(unit, machine, f"earliest deadline of the units assigned to {kind.type.name}")
            if unit.is_ready:
                return  # rejected: the state has changed


def _pool_of(pools: Iterable[Pool], unit: Unit) -> Pool | None:
    return next((pool for pool in pools if unit.run.id in pool.runs), None)
