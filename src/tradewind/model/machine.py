"""Machine types: what can be rented, at which price, and what it offers."""

from dataclasses import dataclass
from enum import StrEnum

from tradewind.model.requirement import Amounts, Requirement
from tradewind.model.units import MINUTE, Duration, Money

NO_LIMIT = 1_000_000
"""A limit of this many machines or more is none."""


class Market(StrEnum):
    """How firmly a machine is ours."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    HARVEST = "harvest"

    @property
    def is_firm(self) -> bool:
        """Whether machines neither change in size nor are taken back."""
        return self is Market.ON_DEMAND


@dataclass(frozen=True, slots=True)
class Billing:
    """How the use of a machine is charged: in whole periods, ahead."""

    period: Duration = MINUTE
    """Money is reserved for one period when the machine is acquired, and again each time a period ends."""
    rounding: Duration | None = None
    """On release, use is rounded up to a multiple of this and the rest is paid back; None: a begun period is paid."""
    minimum: Duration = 0
    """At least this much is charged, even if the machine is released before."""

    def __post_init__(self) -> None:
        if self.rounding is not None and (self.rounding <= 0 or self.period % self.rounding):
            raise ValueError("the period must be a multiple of the rounding, for it is paid ahead")

    def used(self, held: Duration) -> Duration:
        """The time charged for a machine that was held so long."""
        step = self.rounding or self.period
        return max(-(-held // step) * step, self.minimum)


@dataclass(frozen=True, slots=True)
class BootLag:
    """Time from acquiring a machine until it can work: normally distributed, never below zero."""

    mean: Duration = 0
    deviation: Duration = 0
    declared: Duration | None = None
    """What policies are told, as long as nothing is learned; None: the mean."""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A kind of machine that can be rented."""

    name: str
    price: Money = 0
    """For one billing period."""
    billing: Billing = Billing()
    boot: BootLag = BootLag()
    limit: int = NO_LIMIT
    """How many may be held at once, over all tenants."""
    keep: int = 0
    """How many are held at least, as long as there is any work."""
    idle: Duration = 0
    """How long one is kept at least after it has run out of work."""
    capabilities: frozenset[str] = frozenset()
    slots: int = 1
    """How many tasks run on it at once."""
    amounts: Amounts = ()
    """What tasks share besides slots."""
    speed: float = 1.0
    """How many times faster than declared it runs tasks that declare no time for this type."""
    market: Market = Market.ON_DEMAND
    minimum: Amounts = ()
    """What a machine that shrinks keeps, or is gone; until it is told otherwise it has all its amounts."""
    trace: str = ""
    """A file from which machines of it are played where they run on this host: when they change or are taken back."""
    trace_speed: float = 1.0
    """How many times faster the trace passes than time does."""
    core_price: Money = 0
    """What is paid back of the price for each core that a machine lacks of its type, if it does for a period."""

    def __post_init__(self) -> None:
        most, least = dict(self.amounts).get("cpus", 0), dict(self.minimum).get("cpus", 0)
        if self.core_price * (most - least) > self.price:
            raise ValueError("cores that a machine may lack cost more than the whole machine")

    def keeps(self, amounts: Amounts) -> bool:
        """Whether a machine of this type that offers no more than these amounts is still ours."""
        have = dict(amounts)
        return all(have.get(name, 0) >= count for name, count in self.minimum)

    def offers(self, requirement: Requirement) -> bool:
        """Whether an empty machine of this type can run such work."""
        if not requirement.capabilities <= self.capabilities:
            return False
        have = dict(self.amounts)
        return self.slots > 0 and all(have.get(name, 0) >= count for name, count in requirement.amounts)
