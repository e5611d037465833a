"""The deadline paper's machines, applications, patterns and deadlines (section 4), and the axes it leaves open.

The paper draws run times at random and does not publish them. Prices differ 34-fold, so Micro would always be
preferred unless times differ as much. We draw a preferred type for each service unit, and ratios of times on both sides
of the ratio that makes it the cheapest. Ratios, volumes and the two readings of the rivals are axes. The base volume,
which gets most draws, is low so that the study takes minutes; it was chosen after first trials, for that reason only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.scenario import Arrivals, Estimates, Noise, Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, Duration, money, price_for

LAG = 390 * SECOND
TYPES = tuple(
    MachineType(name, money(price), billing=Billing(HOUR), boot=BootLag(LAG))
    for name, price in (("micro", 0.02), ("standard", 0.085), ("high-cpu", 0.68), ("high-memory", 0.50))
)
"""Table 1, billed by the hour, ready after 6.5 minutes."""
INTERVAL = MINUTE
"""The control period: the paper's finest granularity."""
HOURS = 72

Application: TypeAlias = Literal["pipeline", "parallel", "hybrid"]
Pattern: TypeAlias = Literal["stable", "growing", "cyclic", "on-off"]
Ratios: TypeAlias = Literal["strong", "weak"]
APPLICATIONS: tuple[Application, ...] = ("pipeline", "parallel", "hybrid")
PATTERNS: tuple[Pattern, ...] = ("stable", "growing", "cyclic", "on-off")
DEADLINES: tuple[Duration, ...] = tuple(HOUR * halves // 2 for halves in (1, 2, 3, 4))
VOLUMES = (0.5, 1.0, 10.0, 100.0)
"""Jobs per hour."""
BASE_VOLUME = 1.0


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy with its parameters."""

    label: str
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    lag: Duration = LAG
    period: Duration = HOUR
    """The billing period; the hourly price stays the same."""


SCS = Variant("scs", "scs")
PLUS = Variant("scs+", "scs+")
GREEDY = Variant("greedy reserve", "greedy", {"reading": "reserve"})
GREEDY_QUEUE = Variant("greedy queue", "greedy", {"reading": "queue"})
GAIN = Variant("gain reserve", "gain", {"reading": "reserve"})
GAIN_QUEUE = Variant("gain queue", "gain", {"reading": "queue"})
VARIANTS = (SCS, PLUS, GREEDY, GREEDY_QUEUE, GAIN, GAIN_QUEUE)
PAPER = (SCS, GREEDY, GAIN)
"""The policies that the paper compares, under its wording."""
RIVALS = (GREEDY, GREEDY_QUEUE, GAIN, GAIN_QUEUE)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table."""

    application: Application
    pattern: Pattern
    deadline: Duration
    volume: float = BASE_VOLUME
    ratios: Ratios = "strong"
    noise: float = 0.0
    """Deviation of actual run times from the estimates: the coefficient of variation of a factor."""
    lag_noise: float = 0.0
    """Deviation of the actual lag from the estimated one, likewise."""

    @property
    def is_exact(self) -> bool:
        """Return whether estimates are exact."""
        return not self.noise and not self.lag_noise

    @property
    def label(self) -> str:
        """Return a short description of the cell."""
        return f"{self.application}, {self.pattern}, {self.deadline / HOUR:g} h, {self.volume:g}/h"


def arrivals(pattern: Pattern, volume: float) -> Arrivals:
    """Return when jobs arrive: a mean rate per hour in a pattern of Fig. 7, independently of each other."""
    rate = f"{volume}/h"
    if pattern == "growing":
        return Arrivals("growing", {"rate": rate, "factor": 10.0})
    if pattern == "cyclic":
        return Arrivals("cyclic", {"rate": rate, "period": "24h", "amplitude": 0.9})
    if pattern == "on-off":
        return Arrivals("on-off", {"rate": rate, "on": "6h", "off": "12h"})
    return Arrivals("poisson", {"rate": rate})


def cells(
    volume: float,
    ratios: Ratios = "strong",
    patterns: Sequence[Pattern] = PATTERNS,
    deadlines: Sequence[Duration] = DEADLINES,
) -> tuple[Cell, ...]:
    """Return all cells of a volume."""
    return tuple(
        Cell(application, pattern, deadline, volume, ratios)
        for application in APPLICATIONS
        for pattern in patterns
        for deadline in deadlines
    )


IMPRECISE = 0.2
NOISY = tuple(Cell("pipeline", pattern, HOUR // 2, noise=IMPRECISE) for pattern in PATTERNS)
"""Fig. 12: run times vary by 20 %."""
LAGGING = tuple(Cell("pipeline", pattern, HOUR, lag_noise=IMPRECISE) for pattern in PATTERNS)
"""Fig. 13: the lag varies by 20 %."""
SAME = tuple(Cell("pipeline", pattern, HOUR, noise=IMPRECISE) for pattern in PATTERNS)
"""Run times vary at the deadline of Fig. 13, so that both can be compared."""


def scenario(variant: Variant, seed: int, cell: Cell | None = None) -> Scenario:
    """Return one experiment without its submissions."""
    boot = BootLag(variant.lag, round(variant.lag * cell.lag_noise) if cell else 0)
    machines = tuple(
        replace(type, price=price_for(type.price, HOUR, variant.period), billing=Billing(variant.period), boot=boot)
        for type in TYPES
    )
    return Scenario(
        workload=(),
        machines=machines,
        tenants=(Tenant("owner"),),
        policy=variant.policy,
        parameters=variant.parameters,
        interval=INTERVAL,
        seed=seed,
        noise=Noise(cell.noise if cell else 0.0),
        estimates=Estimates("declared"),
    )
