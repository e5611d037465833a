"""The experiments' machines, jobs and clusters (SlackSched, sections 2.2 and 4.1), and our reading of open points.

Given: 64 harvest machines with a minimum of 2, 4 or 8 cores, on clusters of 700 to 2,000 servers; about 50 jobs that
arrive as a Poisson process; run times uniform, Gaussian or bounded Pareto with medians of tens of minutes and tails
beyond 75; full load at a mean spacing of 3 minutes; the oldest attempt killed first; machines returned at random if
their stability is unknown; spot discounts of 48 to 88 % and harvested cores at half the spot price.

Not given, and chosen after early runs on C1 and C2, partly varied in the sweeps: a task takes 1, 2, 4 or 8 cores; a job
has 12 to 28 independent tasks; jobs arrive every 5 minutes, 60 % of full load; long tasks for the quiet cluster C8 take
up to 20 hours; spot machines have 8 or 16 cores. The predictor observes the machines for a day before the first job.
"""

from dataclasses import dataclass, field
from typing import Any

from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.requirement import amounts
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND, UNIT, Duration, Money, Time

CLUSTER_NAMES = tuple(f"C{number}" for number in range(1, 9))
MINIMA = (2, 4, 8)
CORES = 64
"""Cores of a server, and so the maximum of a harvest machine."""
MACHINES = 64
SERVERS = 1_000
"""Servers in a cluster; the paper has 700 to 2,000."""
WARM_UP: Time = DAY
LENGTH: Duration = 9 * DAY
"""Length of traces; all work ends long before."""
BOOT = 2 * MINUTE

REGULAR_PRICE: Money = UNIT // 20
"""Price of one core and hour."""
SPOT_SHARE = 0.4
"""Fraction of the regular price."""
HARVEST_SHARE = 0.5
"""Fraction of the spot price, for each core beyond the minimum (section 4.4)."""
SPOT_PRICE: Money = round(REGULAR_PRICE * SPOT_SHARE)
HARVEST_PRICE: Money = round(SPOT_PRICE * HARVEST_SHARE)


def harvest_types(limit: int = 4_000) -> tuple[MachineType, ...]:
    """Return one type per minimum size, at the price of a spot machine; they differ in nothing else."""
    return tuple(
        MachineType(
            f"harvest-{minimum}",
            price=SPOT_PRICE * minimum + HARVEST_PRICE * (CORES - minimum),
            core_price=HARVEST_PRICE,
            billing=Billing(HOUR),
            boot=BootLag(BOOT),
            limit=limit,
            slots=CORES,
            amounts=amounts(cpus=CORES),
            market=Market.HARVEST,
            minimum=amounts(cpus=minimum),
        )
        for minimum in MINIMA
    )


def fixed_types(market: Market, cores: int = 8, limit: int = 4_000) -> tuple[MachineType, ...]:
    """Return regular or spot machines of one size."""
    name = "spot" if market is Market.SPOT else "regular"
    return (
        MachineType(
            f"{name}-{cores}",
            price=(SPOT_PRICE if market is Market.SPOT else REGULAR_PRICE) * cores,
            billing=Billing(HOUR),
            boot=BootLag(BOOT),
            limit=limit,
            slots=cores,
            amounts=amounts(cpus=cores),
            market=market,
        ),
    )


@dataclass(frozen=True, slots=True)
class Jobs:
    """The work of an experiment."""

    distribution: str = "uniform"
    """Distribution of run times: `uniform`, `gaussian` or `pareto`."""
    longest: Duration = 90 * MINUTE
    """The longest run time."""
    count: int = 50
    tasks: tuple[int, int] = (12, 28)
    """Minimum and maximum number of tasks per job."""
    cores: tuple[int, ...] = (1, 2, 4, 8)
    """Cores that a task takes, each equally likely."""
    spacing: Duration = 5 * MINUTE
    """Mean time between two jobs."""
    swing: Duration | None = None
    """For a varying load: how long it stays at one and at four times the base rate (section 4.4)."""


SHORT = Jobs()
LONG = Jobs(longest=20 * HOUR, spacing=66 * MINUTE)
SATURATING = Jobs(spacing=90 * SECOND)
"""With enough of these jobs, three quarters of the cores are in use on average, and jobs queue."""
WINDY = Jobs(spacing=8 * MINUTE)
"""Less work, for use with less power."""
SWINGING = Jobs(spacing=10 * MINUTE, swing=6 * HOUR, count=150)


@dataclass(frozen=True, slots=True)
class Trial:
    """One simulation."""

    label: str
    policy: str
    cluster: str = "C2"
    jobs: Jobs = SHORT
    seed: int = 0
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    placement: str = "random"
    market: Market = Market.HARVEST
    size: int = 8
    """Cores of machines with a fixed size."""
    error: float = 0.0
    """Relative error of run-time estimates: positive if too long, negative if too short."""
    power: bool = False
    """Whether wind drives the capacity of servers (section 4.5)."""
    interruptible: float = 0.0
    """Fraction of jobs that save their progress at no cost (appendix B.3)."""
    halves: bool = False
    """Whether half of the servers are stable and half are not (appendix B.4)."""
    kill: str = "oldest"
    """Which attempts are killed first: the paper's wording means the oldest; our default is the newest."""
