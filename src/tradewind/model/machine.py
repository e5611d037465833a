"""Machine types: what they offer, at which price, and whether they can be rented."""

from dataclasses import dataclass, replace
from enum import StrEnum

from tradewind.model.requirement import Amounts, Requirement
from tradewind.model.units import MINUTE, Duration, Price

NO_LIMIT = 1_000_000
"""A limit of this many machines or more is none."""


class Market(StrEnum):
    """How reliable a machine is: on demand, spot or harvest."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    HARVEST = "harvest"

    @property
    def is_firm(self) -> bool:
        """Return whether machines neither change in size nor are reclaimed."""
        return self is Market.ON_DEMAND


@dataclass(frozen=True, slots=True)
class Billing:
    """How a machine is billed: in whole periods, paid in advance."""

    period: Duration = MINUTE
    """Money is reserved for one period when the machine is acquired, and again each time a period ends."""
    rounding: Duration | None = None
    """On release, usage is rounded up to a multiple of this, the rest is refunded; None: a started period is paid."""
    minimum: Duration = 0
    """Minimum usage charged, even if the machine is released earlier."""

    def __post_init__(self) -> None:
        if self.rounding is not None and (self.rounding <= 0 or self.period % self.rounding):
            raise ValueError("the period must be a multiple of the rounding, because it is paid in advance")

    def used(self, held: Duration) -> Duration:
        """Return the time charged for a machine that was held for a time."""
        step = self.rounding or self.period
        return max(-(-held // step) * step, self.minimum)


@dataclass(frozen=True, slots=True)
class BootLag:
    """Time from acquiring a machine until it is ready: normally distributed, never below zero."""

    mean: Duration = 0
    deviation: Duration = 0
    declared: Duration | None = None
    """The estimate that policies use until it is learned; None: the mean."""


@dataclass(frozen=True, slots=True)
class Presence:
    """When simulated machines that join are there, besides those that hints bring."""

    present: int = 0
    """How many are there without a hint."""
    begin: Duration = 0
    """When these join."""
    end: Duration | None = None
    """When all leave; None: they stay."""
    churn: float = 0.0
    """How often each leaves an hour, at random; another takes its place after the boot lag."""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A kind of machine that can be rented, or that joins by itself."""

    name: str
    price: Price = 0
    """Price for one billing period."""
    billing: Billing = Billing()
    boot: BootLag = BootLag()
    limit: int = NO_LIMIT
    """Maximum number held, over all tenants."""
    keep: int = 0
    """Minimum number held while there is work."""
    idle: Duration = 0
    """Minimum time to keep an idle machine."""
    capabilities: frozenset[str] = frozenset()
    slots: int = 1
    """Number of tasks that run on it concurrently."""
    amounts: Amounts = ()
    """Resources that tasks share besides slots."""
    speed: float = 1.0
    """Speed factor for tasks that declare no run time for this type."""
    market: Market = Market.ON_DEMAND
    minimum: Amounts = ()
    """Minimum size of a machine that shrinks; below that it is evicted. Initially it has all its amounts."""
    trace: str = ""
    """A trace file that drives machines of this type on this host: when they are resized or reclaimed."""
    trace_speed: float = 1.0
    """How much faster than real time the trace plays."""
    core_price: Price = 0
    """Refund for each core that a machine lacks during a billing period."""
    joins: bool = False
    """Whether its machines cannot be rented: their owner starts them, and they join by themselves."""
    tenants: tuple[str, ...] = ()
    """Tenants that machines of a type that joins serve; none: every tenant."""
    presence: Presence | None = None
    """How a simulation plays the owner of machines that join."""

    def __post_init__(self) -> None:
        most, least = dict(self.amounts).get("cpus", 0), dict(self.minimum).get("cpus", 0)
        if self.core_price * (most - least) > self.price:
            raise ValueError("refunds for missing cores exceed the price of the machine")

    def keeps(self, amounts: Amounts) -> bool:
        """Return whether a machine of this type survives with these amounts."""
        have = dict(amounts)
        return all(have.get(name, 0) >= count for name, count in self.minimum)

    def offers(self, requirement: Requirement) -> bool:
        """Return whether an empty machine of this type can run such work."""
        if not requirement.capabilities <= self.capabilities:
            return False
        have = dict(self.amounts)
        return self.slots > 0 and all(have.get(name, 0) >= count for name, count in requirement.amounts)


_NO_BOOT = BootLag()


def offer_of(type: MachineType) -> MachineType:
    """What makes machines that join alike: all of their type but how many there may be and how soon they come."""
    return replace(type, joins=True, limit=NO_LIMIT, keep=0, idle=0, boot=_NO_BOOT, tenants=(), presence=None)
