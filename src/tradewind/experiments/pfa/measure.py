"""Measure an experiment: plain values by user that can be sent between processes.

Fractions of machines are averages over each autoscaling interval (section 2.2.1 of the paper), taken from the event
log. Spending is checked over *every* period as long as an interval, not only from tick to tick.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.core.log import Record, Sink
from tradewind.core.metrics import Meter
from tradewind.core.state import State
from tradewind.core.steps import Level
from tradewind.core.why import ensure_ended
from tradewind.model.command import Charged
from tradewind.model.units import SECOND, Duration, Money, Time, in_units
from tradewind.sim.simulate import Outcome

ByKind = tuple[tuple[float, ...], ...]
"""A value per interval for each machine type."""


@dataclass(frozen=True, slots=True)
class UserResult:
    """The results of one user."""

    budget: float
    slowdowns: tuple[float, ...]
    waits: tuple[float, ...]
    """Seconds from a workflow's submission to the start of its first task."""
    peak: float
    """The largest amount reserved in any period as long as an interval."""
    costs: ByKind
    busy: ByKind
    """Busy machines."""
    held: ByKind
    elasticity: dict[str, float]


@dataclass(frozen=True, slots=True)
class Result:
    """The results of one experiment."""

    users: tuple[UserResult, ...]
    makespan: float
    """Seconds."""


class Intervals:
    """Record, for each user and machine type, how many machines were held and busy in each interval."""

    def __init__(self, interval: Duration) -> None:
        self._interval = interval
        self._due: Time = interval
        self._levels: list[list[Level]] = []
        self._areas: list[list[int]] = []
        self.rows: list[list[list[float]]] = []
        """By user: the held levels of each type, then the busy ones; one mean per interval."""
        self.charges: list[list[tuple[Time, Money]]] = []

    def __call__(self, state: State) -> Sink:
        """Return the sink of a run that is about to start."""
        self._meter = Meter(state.all_pools, state.kinds)
        self._levels = [[*tenant.allocated, *tenant.busy] for tenant in self._meter.tenants]
        self._areas = [[0] * len(levels) for levels in self._levels]
        self.rows = [[[] for _ in levels] for levels in self._levels]
        self.charges = [[] for _ in self._levels]
        return self._observe

    def _observe(self, record: Record) -> None:
        while record.at > self._due:
            self._close()
        self._meter.observe(record)
        if type(record) is Charged:
            self.charges[record.tenant].append((record.at, record.amount))

    def _close(self) -> None:
        for levels, areas, rows in zip(self._levels, self._areas, self.rows, strict=True):
            for index, level in enumerate(levels):
                area = level.until(self._due)
                rows[index].append((area - areas[index]) / self._interval)
                areas[index] = area
        self._due += self._interval

    def finish(self, end: Time) -> None:
        """Close the last interval, even if it is short."""
        while self._due < end + self._interval:
            self._close()


def measure(outcome: Outcome, intervals: Intervals) -> Result:
    """Collect the values that the paper's figures show."""
    meter = outcome.meter
    ensure_ended(outcome.unfinished, outcome.scenario.policy)
    if meter.refused or any(run.status != "done" for run in meter.runs):
        raise RuntimeError(f"{outcome.scenario.policy}: not every workflow succeeded")
    intervals.finish(meter.end)
    return Result(
        tuple(_measure_user(outcome, intervals, index) for index in range(len(meter.tenants))), meter.end / SECOND
    )


def _measure_user(outcome: Outcome, intervals: Intervals, index: int) -> UserResult:
    meter = outcome.meter
    tenant = meter.tenants[index]
    runs = [run for run in meter.runs if run.tenant == index]
    kinds = range(len(meter.kinds))
    count = len(tenant.per_interval(meter.end))
    rows = intervals.rows[index]
    nothing = [0] * len(meter.kinds)
    tenant.gap.close(meter.end)
    return UserResult(
        budget=in_units(tenant.tenant.budget or 0),
        slowdowns=tuple(run.slowdown for run in runs),
        waits=tuple(run.waiting / SECOND for run in runs),
        peak=in_units(peak_spending(intervals.charges[index], outcome.scenario.interval)),
        costs=tuple(tuple(in_units(tenant.spending.get(place, nothing)[k]) for place in range(count)) for k in kinds),
        held=tuple(tuple(rows[k]) for k in kinds),
        busy=tuple(tuple(rows[len(meter.kinds) + k]) for k in kinds),
        elasticity=tenant.gap.elasticity(meter.size),
    )


def peak_spending(charges: Sequence[tuple[Time, Money]], interval: Duration) -> Money:
    """Return the largest sum charged in any period as long as the interval; charges are ordered by time."""
    most = total = first = 0
    for at, amount in charges:
        total += amount
        while charges[first][0] <= at - interval:
            total -= charges[first][1]
            first += 1
        most = max(most, total)
    return most
