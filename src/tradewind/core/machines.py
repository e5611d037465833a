"""Kinds and machines, and vectors of what they offer and what is free on them."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from tradewind.core.transitions import ILLEGAL, MACHINE_ROWS, IllegalTransitionError, MachineState, MachineStep
from tradewind.core.work import Unit
from tradewind.model.machine import BootLag, MachineType, Market
from tradewind.model.requirement import Amounts
from tradewind.model.units import Duration, Money, Time
from tradewind.model.vector import Vector, covers, fitting
from tradewind.policies import protocol

if TYPE_CHECKING:
    from tradewind.core.fleet import Fleet

BOOTING, IDLE, BUSY, RELEASED, LOST, DRAINING, SPARE = map(int, MachineState)


class Kind:
    """A machine type, numbered, and how many machines of it are held by anybody."""

    __slots__ = (
        "_dimensions",
        "capacity",
        "configured",
        "cores",
        "held",
        "index",
        "is_firm",
        "present",
        "rating",
        "tenants",
        "type",
        "wanted",
    )

    def __init__(
        self, index: int, type: MachineType, dimensions: Sequence[str], tenants: frozenset[str] = frozenset()
    ) -> None:
        self._dimensions = dimensions
        self.index = index
        self.tenants = tenants
        """Tenants that its machines serve; none: every tenant."""
        self.configured = type
        """What drivers rent."""
        self.type = type
        """What policies see: the same, with the boot lag as it is thought to be."""
        if type.boot.declared is not None:
            self.expect_lag(type.boot.declared)
        self.is_firm = type.market is Market.ON_DEMAND
        """Whether its machines neither change in size nor are taken back."""
        self.held = 0
        self.present = 0
        """How many machines of it have joined and not left, spare ones included."""
        self.wanted = 0
        """The last hint to their owner: how many there should be."""
        self.rating = 0
        """Speed of shares on its machines, in millionths of the typical one of their elastic unit; 0: unknown."""
        self.measure(dimensions)

    def measure(self, dimensions: Sequence[str]) -> None:
        """Express capacities in these dimensions."""
        self._dimensions = dimensions
        self.capacity = self.with_amounts(self.type.amounts)
        self.cores = 1 + dimensions.index("cpus") if "cpus" in dimensions else None
        """Where cores stand in capacities."""

    def serves(self, tenant: str) -> bool:
        """Whether its machines work for a tenant."""
        return not self.tenants or tenant in self.tenants

    def expect_lag(self, lag: Duration) -> None:
        """Machines of this kind are thought to come up so long after they are asked for, from now on."""
        if lag != self.type.boot.mean:
            self.type = replace(self.type, boot=BootLag(lag, self.type.boot.deviation))

    def with_amounts(self, amounts: Amounts) -> Vector:
        """The capacity of a machine of this kind that offers these amounts; with its cores its slots become fewer."""
        offered, slots = dict(amounts), self.type.slots
        cores, all_cores = offered.get("cpus", 0), dict(self.type.amounts).get("cpus", 0)
        if cores < all_cores:
            slots = ceil(slots * cores / all_cores)
        return (slots, *(offered.get(name, 0) for name in self._dimensions))

    def amounts(self, capacity: Vector) -> Amounts:
        """The amounts in a capacity."""
        return tuple((name, count) for name, count in zip(self._dimensions, capacity[1:], strict=True) if count)


class Machine:
    """A machine that was rented or has joined."""

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
        "joined",
        "kind",
        "lacking",
        "paid_until",
        "pool",
        "returned",
        "running",
        "sized",
        "state",
    )

    def __init__(self, id: int, fleet: "Fleet", acquired: Time, expected: Time, joined: str = "") -> None:
        self.id = id
        self.joined = joined
        """The name under which it joined; empty: it was rented."""
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
    def is_spare(self) -> bool:
        """Whether it joined and no tenant uses it, so that it is in no fleet."""
        return self.state == SPARE

    @property
    def is_free_of_charge(self) -> bool:
        """Whether it joined and costs nothing."""
        return bool(self.joined) and not self.kind.type.price

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

    def holds(self, demand: Vector) -> int:
        """How many units of a demand it can run at once."""
        return fitting(self.capacity, demand)

    def has_room_for(self, unit: protocol.Unit) -> bool:
        """Whether it is up and what is free on it suffices for a unit."""
        return self.is_up and covers(self.free, unit.need.demand)

    def move(self, step: MachineStep) -> None:
        """Take a step that the table allows."""
        state = MACHINE_ROWS[self.state][step]
        if state == ILLEGAL:
            raise IllegalTransitionError(f"machine {self.id}: {step.name} while {MachineState(self.state).name}")
        self.state = state
