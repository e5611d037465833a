"""Metrics, computed from the event log and from nothing else, so that real and simulated runs are measured alike.

`Meter.observe` takes the records one by one in O(log runs), so a log need not be kept to be measured.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tradewind.core.log import Record
from tradewind.core.machines import Kind
from tradewind.core.pool import Pool
from tradewind.core.steps import Gap, Level
from tradewind.model.command import (
    Acquire,
    Admitted,
    Charged,
    Cut,
    Eligible,
    Ended,
    Grown,
    Kill,
    Lent,
    Refunded,
    Refused,
    Release,
    Start,
    Welcomed,
)
from tradewind.model.event import (
    Failed,
    Finished,
    MachineFailed,
    MachineLeft,
    MachineLost,
    MachineReady,
    MachineResized,
    Redated,
    TenantChanged,
)
from tradewind.model.machine import NO_LIMIT, MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time


@dataclass(slots=True)
class RunMeter:
    """What is measured of one run."""

    tenant: int
    workflow: str
    tasks: int
    submitted: Time
    ideal: Duration
    deadline: Time | None
    started: Time | None = None
    ended: Time | None = None
    status: str = "running"
    failure: str = ""
    """The last task of it that failed, and why."""

    @property
    def slowdown(self) -> float:
        """Response time relative to the ideal makespan; 1 for a run that takes no time at all."""
        if self.ended is None:
            raise ValueError(f"{self.workflow} has not ended")
        return (self.ended - self.submitted) / self.ideal if self.ideal else 1.0

    @property
    def waiting(self) -> Duration:
        """Time from submission to the start of the first task."""
        return (self.started if self.started is not None else self.submitted) - self.submitted


@dataclass(slots=True)
class TenantMeter:
    """What is measured of one tenant."""

    tenant: Tenant
    gap: Gap
    allocated: list[Level]
    """By machine type."""
    busy: list[Level]
    """By machine type."""
    charged: Money = 0
    refunded: Money = 0
    spending: dict[int, list[Money]] = field(default_factory=dict)
    """By interval: what was reserved for machines of each type."""
    changes: list[tuple[Time, Money | None]] = field(default_factory=list)
    """Of the budget, in order of time."""

    def spend(self, at: Time, kind: int, amount: Money) -> None:
        """Money has been reserved."""
        self.charged += amount
        interval = at // self.tenant.interval
        row = self.spending.get(interval)
        if row is None:
            row = self.spending[interval] = [0] * len(self.allocated)
        row[kind] += amount

    def budget_in(self, interval: int) -> Money | None:
        """The highest budget in force during an interval; None: no limit."""
        begin, end = interval * self.tenant.interval, (interval + 1) * self.tenant.interval
        in_force: list[Money | None] = [self.tenant.budget]
        for at, budget in self.changes:
            if at <= begin:
                in_force = [budget]
            elif at < end:
                in_force.append(budget)
        return None if None in in_force else max(each for each in in_force if each is not None)

    def per_interval(self, end: Time, begin: Time = 0) -> list[Money]:
        """What was reserved in each interval from beginning to end."""
        first = begin // self.tenant.interval
        last = max(-(-end // self.tenant.interval), max(self.spending, default=-1) + 1)
        return [sum(self.spending.get(index, ())) for index in range(first, last)]


class Meter:
    """Measures a run of the core from its records."""

    def __init__(self, pools: Sequence[Pool], kinds: Sequence[Kind], name_of: Callable[[int], str] = str) -> None:
        """`name_of`: the id of the task of a unit that has not ended."""
        self._name_of = name_of
        self._all_kinds = kinds
        """Grows when machines of new types join."""
        self.kinds = [kind.type for kind in kinds]
        self._limit = sum(kind.type.limit for kind in kinds)
        self.tenants = [
            TenantMeter(pool.tenant, Gap(self._limit), [Level() for _ in kinds], [Level() for _ in kinds])
            for pool in pools
        ]
        self.begin: Time = 0
        """When the first thing happened."""
        self.end: Time = 0
        """When the last run ended."""
        self.records = 0
        self.attempts = 0
        self.finished = 0
        self.failures = 0
        self.lost = 0
        self.preempted = 0
        """Attempts that gave way to a machine that shrank or was taken back."""
        self._resized = -1
        """The event with which a machine last changed in size."""
        self.cuts = 0
        self.refused: list[str] = []
        self._runs: dict[int, RunMeter] = {}
        self._firsts: list[int] = []
        """Numbers from which on units belong to the run at the same place below; they only grow."""
        self._owners: list[int] = []
        self._places: dict[int, tuple[int, int]] = {}
        """Tenant and type of each machine held."""
        self._joined: dict[int, int] = {}
        """Type of each machine that has joined."""
        self._up: set[int] = set()
        """Machines that have come up; late reports that they failed to count for nothing."""
        self._running: dict[int, dict[int, int]] = defaultdict(dict)
        """By machine: which attempt of which unit runs there."""
        self._observers: dict[type, Callable[[Any], None]] = {
            Admitted: self._admitted,
            Grown: self._grown,
            Refused: lambda record: self.refused.append(f"{record.workflow}: {record.reason}"),
            Eligible: lambda record: self.tenants[record.tenant].gap.change(record.at, record.change, 0),
            Ended: self._ended,
            Start: self._start,
            Finished: self._finished,
            Failed: self._failed,
            Kill: self._kill,
            Acquire: self._acquire,
            Release: lambda record: self._leave(record.at, record.machine),
            MachineLost: self._machine_lost,
            MachineLeft: self._machine_lost,
            Welcomed: self._welcomed,
            Lent: self._lent,
            MachineResized: self._machine_resized,
            MachineReady: self._machine_ready,
            MachineFailed: self._machine_failed,
            Charged: self._charged,
            Refunded: self._refunded,
            Cut: self._cut,
            TenantChanged: self._tenant_changed,
            Redated: self._redated,
        }

    @property
    def runs(self) -> list[RunMeter]:
        """All runs, in order of submission."""
        return list(self._runs.values())

    @property
    def size(self) -> int:
        """How many machines there are to be had; where there is no limit, the most that were held or wanted at once."""
        return self._limit if self._limit < NO_LIMIT else sum(meter.gap.peak for meter in self.tenants)

    def observe(self, record: Record) -> None:
        """Take the next record of the log."""
        if not self.records:
            self._start_at(record[0])
        self.records += 1
        observer = self._observers.get(type(record))
        if observer is not None:
            observer(record)

    def _start_at(self, begin: Time) -> None:
        self.begin = self.end = begin
        for tenant in self.tenants:
            tenant.gap.since = begin
            for level in (*tenant.allocated, *tenant.busy):
                level.since = begin

    def _admitted(self, record: Admitted) -> None:
        self._own(record.first, record.run)
        self._runs[record.run] = RunMeter(
            record.tenant, record.workflow, record.tasks, record.at, record.ideal, record.deadline
        )

    def _grown(self, record: Grown) -> None:
        self._own(record.first, record.run)
        run = self._runs.get(record.run)
        if run is not None:
            run.tasks += record.tasks

    def _redated(self, record: Redated) -> None:
        run = self._runs.get(record.run)
        if run is not None:
            run.deadline = record.deadline

    def _own(self, first: int, run: int) -> None:
        self._firsts.append(first)
        self._owners.append(run)

    def _ended(self, record: Ended) -> None:
        run = self._runs.get(record.run)  # a log may begin in the middle of a run
        if run is not None:
            run.ended, run.status = record.at, record.status
        self.end = max(self.end, record.at)

    def _start(self, record: Start) -> None:
        at, _, unit, attempt, machine = record  # faster than by name, and most records are of this kind
        self.attempts += 1
        run = self._run_of(unit)
        if run is not None and run.started is None:
            run.started = at
        running = self._running[machine]
        if not running:
            tenant, kind = self._places[machine]
            self.tenants[tenant].busy[kind].change(at, 1)
        running[unit] = attempt

    def _finished(self, record: Finished) -> None:
        at, _, unit, attempt, machine = record
        if self._stop(at, machine, unit, attempt):
            self.finished += 1
            self.tenants[self._places[machine][0]].gap.change(at, -1, 0)

    def _run_of(self, unit: int) -> RunMeter | None:
        place = bisect_right(self._firsts, unit) - 1
        return self._runs.get(self._owners[place]) if place >= 0 else None

    def _failed(self, record: Failed) -> None:
        if self._stop(record.at, record.machine, record.unit, record.attempt):
            run = self._run_of(record.unit)
            if run is not None:
                run.failure = f"task {self._name_of(record.unit)!r}: {record.reason}"
            self.lost += record.cause == "lost"
            self.failures += record.cause not in ("lost", "returned")  # what was given back has not even begun

    def _kill(self, record: Kill) -> None:
        is_running = self._stop(record.at, record.machine, record.unit, record.attempt)
        self.preempted += is_running and record.cause == self._resized

    def _machine_resized(self, record: MachineResized) -> None:
        place = self._places.get(record.machine)
        self._resized = record.seq
        if place is not None and not self.kinds[place[1]].keeps(record.amounts):
            self._vanish(record.machine, record.at)

    def _stop(self, at: Time, machine: int, unit: int, attempt: int) -> bool:
        """An attempt no longer runs; whether it did until now, for late reports of old attempts count for nothing."""
        running = self._running[machine]
        if running.get(unit) != attempt:
            return False
        del running[unit]
        if not running:
            tenant, kind = self._places[machine]
            self.tenants[tenant].busy[kind].change(at, -1)
        return True

    def _acquire(self, record: Acquire) -> None:
        self._places[record.machine] = (record.tenant, record.kind)
        meter = self.tenants[record.tenant]
        meter.gap.change(record.at, 0, 1)
        meter.allocated[record.kind].change(record.at, 1)

    def _welcomed(self, record: Welcomed) -> None:
        while len(self.kinds) <= record.kind:
            self._add_kind(self._all_kinds[len(self.kinds)].type)
        self._joined[record.machine] = record.kind
        self._up.add(record.machine)
        self._take(record.at, record.machine, record.tenant)

    def _lent(self, record: Lent) -> None:
        self._give_back(record.at, record.machine)
        self._take(record.at, record.machine, record.tenant)

    def _take(self, at: Time, machine: int, tenant: int) -> None:
        """A machine that joined works for a tenant, if for any."""
        if tenant >= 0:
            self._places[machine] = (tenant, self._joined[machine])
            self.tenants[tenant].gap.change(at, 0, 1)
            self.tenants[tenant].allocated[self._joined[machine]].change(at, 1)

    def _add_kind(self, type: MachineType) -> None:
        self.kinds.append(type)
        self._limit += type.limit
        for tenant in self.tenants:
            tenant.gap.ceiling = self._limit
            tenant.allocated.append(Level())
            tenant.busy.append(Level())
            for row in tenant.spending.values():
                row.append(0)

    def _machine_lost(self, record: MachineLost | MachineLeft) -> None:
        self._vanish(record.machine, record.at, is_left=isinstance(record, MachineLeft))

    def _vanish(self, machine: int, at: Time, *, is_left: bool = False) -> None:
        running = self._running[machine]
        place = self._places.get(machine)
        if place is not None and self.kinds[place[1]].market.is_firm and not is_left:
            self.lost += len(running)
        else:
            self.preempted += len(running)
        for unit, attempt in list(running.items()):
            self._stop(at, machine, unit, attempt)
        self._leave(at, machine)

    def _machine_ready(self, record: MachineReady) -> None:
        if record.machine in self._places:
            self._up.add(record.machine)

    def _machine_failed(self, record: MachineFailed) -> None:
        if record.machine not in self._up:
            self._leave(record.at, record.machine)

    def _leave(self, at: Time, machine: int) -> None:
        self._up.discard(machine)
        self._joined.pop(machine, None)
        self._running.pop(machine, None)
        self._give_back(at, machine)

    def _give_back(self, at: Time, machine: int) -> None:
        place = self._places.pop(machine, None)
        if place is not None:
            tenant, kind = place
            self.tenants[tenant].gap.change(at, 0, -1)
            self.tenants[tenant].allocated[kind].change(at, -1)

    def _charged(self, record: Charged) -> None:
        at, _, machine, tenant, amount, _ = record
        _, kind = self._places.get(machine, (0, 0))
        self.tenants[tenant].spend(at, kind, amount)

    def _refunded(self, record: Refunded) -> None:
        self.tenants[record.tenant].refunded += record.amount

    def _tenant_changed(self, record: TenantChanged) -> None:
        for meter in self.tenants:
            if meter.tenant.name == record.tenant.name:
                meter.changes.append((record.at, record.tenant.budget))

    def _cut(self, _record: Cut) -> None:
        self.cuts += 1
