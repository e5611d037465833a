"""What is run: machines, jobs and clusters (SlackSched, sections 2.2 and 4.1), and how we read what is left open.

Given: 64 harvest machines of a minimum of 2, 4 or 8 cores, on clusters of 700 to 2,000 servers; about 50 jobs that
arrive as a Poisson process; run times uniform, Gaussian or bounded Pareto with medians of tens of minutes and tails
beyond 75; full load at a mean spacing of 3 minutes; the oldest killed first; machines given up at random where nothing
is known of their stability; prices with spot discounts of 48 to 88 % and harvested cores at half the spot price.

Not given, so chosen after early runs on C1 and C2, and in part varied in the sweeps: a task takes 1, 2, 4 or 8 cores; a
job has 12 to 28 tasks, which wait for nothing but a machine; jobs arrive every 5 minutes, 60 % of full load; long tasks
for the quiet cluster C8 take up to 20 hours; spot machines have 8 cores, or 16. A day passes before the first job, in
which the predictor watches.
"""

from dataclasses import dataclass, field
from typing import Any

from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.requirement import amounts
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND, UNIT, Duration, Money, Time

CLUSTER_NAMES = tuple(f"C{number}" for number in range(1, 9))
MINIMA = (2, 4, 8)
CORES = 64
"""Of a server, and so the most that a harvest machine can have."""
MACHINES = 64
SERVERS = 1_000
"""Of a cluster: the paper has 700 to 2,000."""
WARM_UP: Time = DAY
LENGTH: Duration = 9 * DAY
"""How long traces are; all work is over long before."""
BOOT = 2 * MINUTE

REGULAR_PRICE: Money = UNIT // 20
"""For one core and hour."""
SPOT_SHARE = 0.4
"""Of the regular price."""
HARVEST_SHARE = 0.5
"""Of the spot price, for each core beyond the minimum (section 4.4)."""
SPOT_PRICE: Money = round(REGULAR_PRICE * SPOT_SHARE)
HARVEST_PRICE: Money = round(SPOT_PRICE * HARVEST_SHARE)


def harvest_types(limit: int = 4_000) -> tuple[MachineType, ...]:
    """One type for each minimum size, which costs as much as a spot machine; they differ in nothing else."""
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
    """Machines of one size, regular or spot."""
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
    """Of run times: `uniform`, `gaussian` or `pareto`."""
    longest: Duration = 90 * MINUTE
    """The longest run time."""
    count: int = 50
    tasks: tuple[int, int] = (12, 28)
    """Fewest and most tasks of a job."""
    cores: tuple[int, ...] = (1, 2, 4, 8)
    """Which a task takes, each as often."""
    spacing: Duration = 5 * MINUTE
    """Mean time between two jobs."""
    swing: Duration | None = None
    """Where the load varies: how long it stays at each of once and four times the base rate (section 4.4)."""


SHORT = Jobs()
LONG = Jobs(longest=20 * HOUR, spacing=66 * MINUTE)
SATURATING = Jobs(spacing=90 * SECOND)
"""Where enough of them come, three quarters of the cores are in use on average, and jobs queue."""
WINDY = Jobs(spacing=8 * MINUTE)
"""Less work where there is less power."""
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
    """Cores of machines that do not change theirs."""
    error: float = 0.0
    """Estimates of run times are off by up to this share: too long, or too short if below zero."""
    power: bool = False
    """Whether wind drives what servers may use (section 4.5)."""
    interruptible: float = 0.0
    """Share of the jobs that save their progress at no cost (appendix B.3)."""
    halves: bool = False
    """Whether half of the servers are stable and half are not (appendix B.4)."""
    kill: str = "oldest"
    """Which attempts give way first: the paper's words mean the oldest; our default is the newest."""
