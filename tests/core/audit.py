"""An auditor: replays a log and checks what must hold, whatever the policy.

It knows the rules from the specification and the facts from the records, and nothing else: no ledger, no meter and no
state of the core. It keeps its own books in the plainest way, however slow.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

from tradewind.core.log import Record
from tradewind.model.command import (
    Acquire,
    Admitted,
    Charged,
    Cut,
    Dropped,
    Eligible,
    Ended,
    Expired,
    Grown,
    Kill,
    Predicted,
    Refunded,
    Refused,
    Release,
    Start,
    Wake,
)
from tradewind.model.event import (
    Broken,
    Cancelled,
    Closed,
    Extended,
    Failed,
    Finished,
    MachineFailed,
    MachineLost,
    MachineReady,
    MachineResized,
    MachineUnwanted,
    Redated,
    Reprioritised,
    Resumed,
    Submitted,
    Suspended,
    TenantChanged,
    Timer,
)
from tradewind.model.machine import MachineType, Market
from tradewind.model.requirement import Requirement, amounts_of
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time
from tradewind.model.workflow import Task, Workflow

_SLOT = "slots"
"""What everything takes one of."""


@dataclass(slots=True)
class UnitBook:
    run: int
    task: Task
    parents: tuple[int, ...]
    needs: Requirement
    attempt: int = 0
    """How many there have been."""
    failures: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    preempted: int = 0
    running: dict[int, tuple[int, Time]] = field(default_factory=dict)
    """Number and start of its attempts, by machine."""
    is_done: bool = False
    is_dead: bool = False
    """It has failed for good or has been cancelled."""
    not_before: Time = 0
    first: Time | None = None
    """When it was first started."""
    is_resting: bool = False
    """It has failed and waits to be tried again."""

    @property
    def is_over(self) -> bool:
        return self.is_done or self.is_dead


@dataclass(slots=True)
class RunBook:
    tenant: int
    priority: int
    is_open: bool
    units: list[int]
    demand: int = 0
    fate: str = "done"
    """What it will end as, as things stand."""
    keeps_going: bool = False
    """Whether the rest goes on where a task has failed."""
    is_stopping: bool = False
    """Whether nothing of it may start any more."""
    is_suspended: bool = False
    status: str = ""


@dataclass(slots=True)
class MachineBook:
    kind: MachineType
    tenant: int
    acquired: Time
    is_ready: bool = False
    is_draining: bool = False
    gone: Time | None = None
    end: str = ""
    running: set[int] = field(default_factory=set)
    amounts: dict[str, int] = field(default_factory=dict)
    """What it offers now."""
    sizes: list[tuple[Time, int]] = field(default_factory=list)
    """Its cores, each from a time on."""
    charges: list[Charged] = field(default_factory=list)
    refunded: Money = 0

    @property
    def charged(self) -> Money:
        return sum(charge.amount for charge in self.charges)

    @property
    def until(self) -> Time:
        return self.charges[-1].until if self.charges else self.acquired


class Audit:
    """Books kept from the records of one run."""

    def __init__(
        self,
        types: Sequence[MachineType],
        tenants: Sequence[Tenant],
        *,
        is_dynamic: bool = False,
        is_punctual: bool = True,
        is_replicated: bool = False,
    ) -> None:
        self.types = types
        self.tenants = tenants
        self.is_dynamic = is_dynamic
        """Whether work must start at once, by priority and age, on the first machine with room."""
        self.is_punctual = is_punctual
        """Whether timers come when they were asked for and clocks never jump back."""
        self.is_replicated = is_replicated
        """Whether several attempts of a unit may run at once."""
        self._won: list[int] = []
        """Units that have ended well with the last event."""
        self.runs: list[RunBook] = []
        self.units: list[UnitBook] = []
        self.machines: list[MachineBook] = []
        self.refused = 0
        self.stale = 0
        self.lost_attempts = 0
        self.preempted_attempts = 0
        self._shrunk: int | None = None
        """The machine that has just been resized, if what runs on it may have to give way."""
        self.cuts: list[Cut] = []
        self._now: Time = 0
        self._cause = -1
        self._submitted: dict[int, Submitted] = {}
        self._unfit: set[int] = set()
        self._cancelled: set[int] = set()
        self._must_drop: set[int] = set()
        self._budgets: list[list[tuple[Time, Money | None]]] = [[(0, tenant.budget)] for tenant in tenants]

    def check(self, records: Iterable[Record], *, is_complete: bool = True) -> "Audit":
        """Replay a log; a complete one must leave nothing open."""
        for record in records:
            self._take(record)
        if is_complete:
            self._settle()
        for tenant in range(len(self.tenants)):
            self._check_spending(tenant)
        for number, machine in enumerate(self.machines if is_complete else self.machines[:-1]):
            self._check_bill(number, machine)
        if is_complete:
            self._check_all_over()
        return self

    @property
    def cost(self) -> Money:
        return sum(machine.charged - machine.refunded for machine in self.machines)

    # Replay

    def _take(self, record: Record) -> None:
        if isinstance(record, Wake):
            assert record.at == self._now
            return
        seq: int | None = getattr(record, "seq", None)
        if seq is None:
            assert record.at >= self._now, f"time goes back: {record}"
            cause: int = getattr(record, "cause", 0)
            assert cause == self._cause or cause >= 1 << 60, record
        else:
            self._settle()
            self._cause = seq
            assert record.at >= self._now or not self.is_punctual, f"time goes back: {record}"
        self._now = max(self._now, record.at)
        getattr(self, "_on_" + type(record).__name__.lower())(record)

    def _settle(self) -> None:
        """All that one event led to is on record."""
        if self._shrunk is not None:
            self._check_fits(self.machines[self._shrunk])
            self._shrunk = None
        assert not any(self.units[unit].running for unit in self._won), "what is done runs on"
        self._won.clear()
        assert not self._must_drop, f"stale, but not dropped: events {sorted(self._must_drop)}"
        for number, run in enumerate(self.runs):
            wanted = sum(self._is_wanted(unit) for unit in run.units)
            resting = run.is_suspended * sum(self.units[unit].is_resting for unit in run.units)
            assert 0 <= run.demand - wanted <= resting, (
                f"run {number}: {wanted} tasks eligible or running, {run.demand} on record"
            )
        if self.is_dynamic:
            for unit in self._placeable():
                place = self._first_place(unit)
                assert place is None, f"unit {unit} waits while machine {place} has room"

    def _is_wanted(self, unit: int) -> bool:
        book = self.units[unit]
        if book.is_over:
            return False
        if book.running:
            return True
        run = self.runs[book.run]
        is_held = run.is_stopping or run.is_suspended
        return not is_held and all(self.units[parent].is_done for parent in book.parents)

    def _on_timer(self, _record: Timer) -> None: ...

    def _on_closed(self, _record: Closed) -> None: ...

    def _on_predicted(self, _record: Predicted) -> None: ...

    # Work

    def _on_submitted(self, record: Submitted) -> None:
        self._submitted[record.seq] = record

    def _on_refused(self, record: Refused) -> None:
        if record.cause in self._unfit:
            return
        workflow = self._submitted.pop(record.cause).workflow
        self.refused += 1
        assert any(not any(self._offers(kind, task.requirement) for kind in self.types) for task in workflow.tasks)

    def _on_admitted(self, record: Admitted) -> None:
        event = self._submitted.pop(record.cause)
        workflow = event.workflow
        assert all(any(self._offers(kind, task.requirement) for kind in self.types) for task in workflow.tasks)
        assert (record.run, record.first, record.tasks) == (len(self.runs), len(self.units), len(workflow.tasks))
        assert self.tenants[record.tenant].name == event.tenant
        assert record.priority == workflow.priority
        assert record.deadline == (None if workflow.deadline is None else self._now + workflow.deadline)
        assert record.ideal == self._ideal(workflow)
        self.runs.append(RunBook(record.tenant, workflow.priority, event.is_open, [], keeps_going=event.keeps_going))
        self._add_units(record.run, workflow.tasks, workflow.parents)

    def _add_units(self, run: int, tasks: Sequence[Task], parents: Sequence[Sequence[int]]) -> None:
        first = len(self.units)
        for task, row in zip(tasks, parents, strict=True):
            self.runs[run].units.append(len(self.units))
            self.units.append(UnitBook(run, task, tuple(first + parent for parent in row), task.requirement))

    def _on_extended(self, record: Extended) -> None:
        run = self._open_run(record.run, record.seq)
        if run is None:
            return
        if not run.is_open:
            self._expect_drop(record.seq)
        elif all(any(self._offers(kind, task.requirement) for kind in self.types) for task in record.tasks):
            run.is_open = not record.is_last
            self._add_units(record.run, record.tasks, ((),) * len(record.tasks))
        else:
            self._unfit.add(record.seq)
            self._doom(run, "failed")

    def _on_grown(self, record: Grown) -> None:
        run = self.runs[record.run]
        added = run.units[-record.tasks :]
        assert added == list(range(record.first, record.first + record.tasks))

    def _on_redated(self, record: Redated) -> None:
        self._open_run(record.run, record.seq)

    def _on_reprioritised(self, record: Reprioritised) -> None:
        run = self._open_run(record.run, record.seq)
        if run is not None:
            run.priority = record.priority

    def _on_suspended(self, record: Suspended) -> None:
        run = self._open_run(record.run, record.seq)
        if run is not None and (run.is_suspended or run.is_stopping):
            self._expect_drop(record.seq)
        elif run is not None:
            run.is_suspended = True

    def _on_resumed(self, record: Resumed) -> None:
        run = self._open_run(record.run, record.seq)
        if run is not None and not run.is_suspended:
            self._expect_drop(record.seq)
        elif run is not None:
            run.is_suspended = False

    def _on_broken(self, record: Broken) -> None:
        run = self._open_run(record.run, record.seq)
        if run is not None:
            self._doom(run, "failed")

    def _open_run(self, number: int, seq: int) -> RunBook | None:
        """A run that has not ended; a report about any other is to be dropped."""
        if number < len(self.runs) and not self.runs[number].status:
            return self.runs[number]
        self._expect_drop(seq)
        return None

    def _on_eligible(self, record: Eligible) -> None:
        run = self.runs[record.run]
        assert record.tenant == run.tenant
        assert record.change
        run.demand += record.change

    def _on_cancelled(self, record: Cancelled) -> None:
        run = self._open_run(record.run, record.seq)
        if run is not None:
            self._cancelled.add(record.run)
            self._doom(run, "cancelled")

    def _doom(self, run: RunBook, fate: str) -> None:
        """Nothing of a run is to start any more."""
        run.fate = fate
        run.is_open = False
        run.is_stopping = True
        for unit in run.units:
            book = self.units[unit]
            book.is_dead = book.is_dead or (not book.is_done and not book.running)

    def _bury(self, unit: int) -> None:
        """A unit has failed for good."""
        book = self.units[unit]
        run = self.runs[book.run]
        book.is_dead = True
        if not run.keeps_going:
            self._doom(run, "failed")
            return
        run.fate = "failed"
        for other in run.units:  # parents come before their children
            if any(self.units[parent].is_dead for parent in self.units[other].parents):
                self.units[other].is_dead = True

    def _on_expired(self, record: Expired) -> None:
        book = self.units[record.unit]
        assert book.run == record.run
        assert book.task.retry.within is not None
        assert book.first is not None
        assert self._now >= book.first + book.task.retry.within, f"{record}: too early"
        assert not book.running
        self._bury(record.unit)

    def _on_ended(self, record: Ended) -> None:
        run = self.runs[record.run]
        books = [self.units[unit] for unit in run.units]
        assert not run.status, f"{record}: it had ended before"
        assert record.tenant == run.tenant
        assert record.status == run.fate
        assert not any(book.running for book in books), f"{record}: it still runs"
        assert all(book.is_over for book in books), f"{record}: tasks are lost"
        assert not run.is_open or run.fate == "failed", f"{record}: it may still grow"
        assert record.status != "done" or all(book.is_done for book in books)
        assert record.status != "cancelled" or record.run in self._cancelled
        run.status = record.status

    def _on_start(self, record: Start) -> None:
        book = self.units[record.unit]
        run = self.runs[book.run]
        machine = self.machines[record.machine]
        assert not book.is_over, f"{record}: it is over"
        assert self.is_replicated or not book.running, f"{record}: it runs already"
        assert record.machine not in book.running, f"{record}: it runs there already"
        assert not book.running or book.task.checkpoint is None, f"{record}: its attempts would share their progress"
        assert not run.is_stopping, f"{record}: its run is doomed"
        assert not run.is_suspended, f"{record}: its run is suspended"
        assert not machine.is_draining, f"{record}: the machine is being drained"
        assert all(self.units[parent].is_done for parent in book.parents), f"{record}: before its parents"
        assert self._now >= book.not_before, f"{record}: before its pause is over"
        assert record.attempt == book.attempt + 1, f"{record}: attempts are counted 1, 2, 3"
        assert machine.is_ready, f"{record}: the machine is not up"
        assert machine.gone is None, f"{record}: the machine is gone"
        assert machine.tenant == run.tenant, f"{record}: somebody else's machine"
        assert self._has_room(machine, book.needs), f"{record}: no room"
        if self.is_dynamic:
            book.is_resting = False
            assert record.machine == self._first_place(record.unit), f"{record}: not the first machine with room"
            key = self._order(record.unit)
            rivals = (other for other in self._placeable() if self.runs[self.units[other].run].tenant == run.tenant)
            for other in rivals:
                assert self._order(other) >= key or self._first_place(other) is None, f"{record}: unit {other} is first"
        book.attempt = record.attempt
        book.first = self._now if book.first is None else book.first
        book.running[record.machine] = (record.attempt, self._now)
        book.is_resting = False
        machine.running.add(record.unit)

    def _on_finished(self, record: Finished) -> None:
        if self._stop(record):
            book = self.units[record.unit]
            book.is_done = True
            self._won.append(record.unit)
            self.runs[book.run].demand -= 1

    def _on_failed(self, record: Failed) -> None:
        if not self._stop(record):
            return
        if record.cause in ("lost", "returned"):  # the unit itself has done nothing wrong
            self.lost_attempts += record.cause == "lost"
            self._lose(record.unit, counts=record.cause == "lost")
            return
        book = self.units[record.unit]
        run = self.runs[book.run]
        book.failures[record.cause] = book.failures.get(record.cause, 0) + 1
        if book.running:
            return  # its other attempts go on
        if not run.is_stopping and _may_retry(book, record.cause) and self._grows(book, record.cause):
            book.not_before = self._now + _pause(book.task, sum(book.failures.values()))
            book.is_resting = True
        else:
            self._bury(record.unit)

    def _grows(self, book: UnitBook, cause: str) -> bool:
        """What lacked memory asks for more of it; whether some machine type has that much."""
        if cause == "memory" and book.task.retry.memory_growth > 1:
            grown = {
                name: round(count * book.task.retry.memory_growth) if name == "memory" else count
                for name, count in book.needs.amounts
            }
            needs = Requirement(book.needs.capabilities, amounts_of(grown))
            if not any(self._offers(kind, needs) for kind in self.types):
                return False
            book.needs = needs
        return True

    def _stop(self, record: Finished | Failed) -> bool:
        book = self.units[record.unit] if record.unit < len(self.units) else None
        if book is None or book.running.get(record.machine, (None, 0))[0] != record.attempt:
            self._expect_drop(record.seq)
            return False
        self.machines[record.machine].running.remove(record.unit)
        del book.running[record.machine]
        return True

    def _on_kill(self, record: Kill) -> None:
        book = self.units[record.unit]
        assert book.running[record.machine][0] == record.attempt, f"{record}: it does not run there"
        if record.because == "the machine has shrunk":
            self._check_victim(record.unit, record.machine)
        self.machines[record.machine].running.remove(record.unit)
        del book.running[record.machine]
        if record.because == "another attempt was faster":
            assert record.unit in self._won, f"{record}: none has ended well"
        elif record.because == "the run was cancelled":
            book.is_dead = True
            assert book.run in self._cancelled
        elif "over all attempts" in record.because:
            pass  # what follows says more
        else:
            is_preempted = record.because == "the machine has shrunk"
            if not is_preempted:
                assert record.because in ("the budget no longer pays for it", "mischief")
            self._lose(record.unit, is_preempted=is_preempted)

    def _check_victim(self, unit: int, number: int) -> None:
        """Only what must give way on a machine that has just shrunk does, the newest first."""
        assert number == self._shrunk, f"unit {unit} gives way on machine {number}, which did not shrink"
        machine = self.machines[number]
        lacking = self._lacking(machine)
        assert self._takes_of(unit, lacking), f"unit {unit} gives way for nothing"
        order = (self.units[unit].running[number][1], unit)
        for other in machine.running - {unit}:
            if self._takes_of(other, lacking):
                assert (self.units[other].running[number][1], other) < order, f"unit {other} is newer than {unit}"

    def _lacking(self, machine: MachineBook) -> list[str]:
        """What a machine has too little of for what runs on it."""
        taken: dict[str, int] = {}
        for unit in machine.running:
            for name, count in self.units[unit].needs.amounts:
                taken[name] = taken.get(name, 0) + count
        lacking = [name for name, count in taken.items() if count > machine.amounts.get(name, 0)]
        return [*lacking, _SLOT] if len(machine.running) > self._slots(machine) else lacking

    def _takes_of(self, unit: int, names: list[str]) -> bool:
        """Whether a unit takes any of these; all take a slot."""
        takes = {_SLOT: 1, **dict(self.units[unit].needs.amounts)}
        return any(takes.get(name) for name in names)

    def _check_fits(self, machine: MachineBook) -> None:
        assert machine.gone is not None or not self._lacking(machine), "more runs on a machine than it has left"

    def _lose(self, unit: int, *, is_preempted: bool = False, counts: bool = True) -> None:
        """A unit has lost its machine, and runs again unless that has happened too often."""
        book = self.units[unit]
        book.lost += counts and not is_preempted
        book.preempted += is_preempted
        self.preempted_attempts += is_preempted
        if book.running:
            return  # its other attempts go on
        if self.runs[book.run].is_stopping:
            book.is_dead = True
        elif book.lost > book.task.retry.lost or book.preempted > book.task.retry.preempted:
            self._bury(unit)

    # Machines

    def _on_acquire(self, record: Acquire) -> None:
        assert record.machine == len(self.machines)
        kind = self.types[record.kind]
        cores = dict(kind.amounts).get("cpus", 0)
        sizes = [(self._now, cores)]
        self.machines.append(MachineBook(kind, record.tenant, self._now, amounts=dict(kind.amounts), sizes=sizes))
        held = sum(machine.kind is kind and machine.gone is None for machine in self.machines)
        assert held <= kind.limit, f"{record}: {held} machines of {kind.limit}"

    def _on_machineready(self, record: MachineReady) -> None:
        machine = self._held(record.machine)
        if machine is None or machine.is_ready:
            self._expect_drop(record.seq)
        else:
            machine.is_ready = True
            machine.sizes = [(machine.acquired, machine.amounts.get("cpus", 0))]  # as if it had never had others

    def _on_machinefailed(self, record: MachineFailed) -> None:
        machine = self._held(record.machine)
        if machine is None or machine.is_ready:
            self._expect_drop(record.seq)
        else:
            machine.gone, machine.end = self._now, "failed"

    def _on_machinelost(self, record: MachineLost) -> None:
        machine = self._held(record.machine)
        if machine is None:
            self._expect_drop(record.seq)
            return
        self._vanish(record.machine, machine)

    def _vanish(self, number: int, machine: MachineBook) -> None:
        machine.gone, machine.end = self._now, "lost"
        units = sorted(machine.running)
        machine.running.clear()
        is_firm = machine.kind.market is Market.ON_DEMAND
        for unit in units:
            self.lost_attempts += is_firm
            del self.units[unit].running[number]
            self._lose(unit, is_preempted=not is_firm)

    def _on_machineresized(self, record: MachineResized) -> None:
        machine = self._held(record.machine)
        if machine is None:
            self._expect_drop(record.seq)
            return
        amounts = dict(record.amounts)
        if any(amounts.get(name, 0) < least for name, least in machine.kind.minimum):
            self._vanish(record.machine, machine)
            return
        machine.amounts = amounts
        machine.sizes.append((self._now if machine.is_ready else machine.acquired, amounts.get("cpus", 0)))
        self._shrunk = record.machine

    def _on_machineunwanted(self, record: MachineUnwanted) -> None:
        machine = self._held(record.machine)
        if machine is None:
            self._expect_drop(record.seq)
        else:
            machine.is_draining = True

    def _held(self, number: int) -> MachineBook | None:
        known = number < len(self.machines) and self.machines[number].gone is None
        return self.machines[number] if known else None

    def _on_release(self, record: Release) -> None:
        machine = self.machines[record.machine]
        assert machine.gone is None, f"{record}: it is gone already"
        assert not machine.running, f"{record}: it is at work"
        if not machine.is_ready:
            assert machine.is_draining or record.because in ("all work is done", "the budget no longer pays for it")
        machine.gone, machine.end = self._now, "released"

    # Money

    def _on_charged(self, record: Charged) -> None:
        machine = self.machines[record.machine]
        billing = machine.kind.billing
        assert record.tenant == machine.tenant
        assert machine.gone is None, f"{record}: the machine is gone"
        periods = 1 if machine.charges else _first_periods(machine.kind)
        exact = (record.until - machine.acquired) * Fraction(machine.kind.price) / billing.period
        assert abs(machine.charged + record.amount - exact) < 1, f"{record}: {exact} should have been paid by now"
        assert record.until == machine.until + periods * billing.period
        if self.is_punctual or not machine.charges:
            assert record.at == machine.until, f"{record}: not at the end of the paid time, {machine.until}"
        machine.charges.append(record)

    def _on_refunded(self, record: Refunded) -> None:
        machine = self.machines[record.machine]
        assert record.tenant == machine.tenant
        assert record.amount > 0
        machine.refunded += record.amount

    def _on_tenantchanged(self, record: TenantChanged) -> None:
        tenant = next(i for i, tenant in enumerate(self.tenants) if tenant.name == record.tenant.name)
        self._budgets[tenant].append((self._now, record.tenant.budget))

    def _on_cut(self, record: Cut) -> None:
        assert 0 <= record.granted < record.asked
        self.cuts.append(record)

    def _on_dropped(self, record: Dropped) -> None:
        if record.because.startswith("stale decision"):
            return
        assert record.cause in self._must_drop, f"{record}: but it fitted the facts"
        self._must_drop.remove(record.cause)
        self.stale += 1

    def _expect_drop(self, seq: int) -> None:
        self._must_drop.add(seq)

    def _check_spending(self, tenant: int) -> None:
        """No stretch of time as long as the interval costs more than the budget, wherever it begins."""
        interval = self.tenants[tenant].interval
        charges = sorted(
            (due, charge.at, charge.amount)
            for machine in self.machines
            if machine.tenant == tenant
            for charge, due in zip(
                machine.charges, [machine.acquired, *(each.until for each in machine.charges)], strict=False
            )
            if charge.amount
        )
        aligned: dict[int, Money] = {}
        for due, at, amount in charges:
            window = [charge for charge in charges if due - interval < charge[0] <= due]
            budget = self._most_allowed(tenant, due - interval, max(charge[1] for charge in window))
            spent = sum(charge[2] for charge in window)
            assert budget is None or spent <= budget, f"tenant {tenant} spends {spent} of {budget} up to {due}"
            index = due // interval
            aligned[index] = aligned.get(index, 0) + amount
            budget = self._most_allowed(tenant, index * interval, at)
            assert budget is None or aligned[index] <= budget, f"tenant {tenant}, interval {index}: {aligned[index]}"

    def _most_allowed(self, tenant: int, begin: Time, end: Time) -> Money | None:
        """The largest budget in force at any time from begin to end; None: no limit.

        Where timers are late, time held under an older budget may be paid for at any time later.
        """
        changes = self._budgets[tenant]
        begin = begin if self.is_punctual else 0
        before = [budget for at, budget in changes if at < begin][-1:]
        within = [budget for at, budget in changes if begin <= at <= end]
        most = before + within or [changes[0][1]]
        return None if None in most else max(budget for budget in most if budget is not None)

    def _check_bill(self, number: int, machine: MachineBook) -> None:
        """What was paid is what the time held costs, rounded as billed."""
        assert machine.charges, f"machine {number} was never paid for"
        net = machine.charged - machine.refunded
        if machine.end == "failed":
            assert net == 0, f"machine {number} never came up, and costs {net}"
            return
        assert net >= 0, f"machine {number} has paid us {-net}"
        if machine.gone is not None and self.is_punctual:
            held = machine.gone - machine.acquired
            due = _bill(machine, held, refundable=True)
            if machine.charges[-1].at == machine.gone and held:  # renewed in the very instant in which it went
                dues = [due, _bill(machine, held + 1, refundable=False)]
                assert any(abs(net - each) < 1 for each in dues), f"machine {number} costs {net}, not {dues}"
            else:
                assert abs(net - due) < 1, f"machine {number} costs {net}, not {due}"

    def _check_all_over(self) -> None:
        assert not self._submitted
        for number, run in enumerate(self.runs):
            assert run.status, f"run {number} has not ended"
        for number, machine in enumerate(self.machines):
            assert machine.gone is not None, f"machine {number} is still held"

    # Rules

    def _offers(self, kind: MachineType, needs: Requirement) -> bool:
        offer = dict(kind.amounts)
        return (
            kind.slots >= 1
            and needs.capabilities <= kind.capabilities
            and all(offer.get(name, 0) >= count for name, count in needs.amounts)
        )

    def _slots(self, machine: MachineBook) -> int:
        """Slots that a machine has now: as large a share of them, rounded up, as of its cores."""
        declared = dict(machine.kind.amounts).get("cpus", 0)
        left = declared - min(machine.amounts.get("cpus", 0), declared)
        return machine.kind.slots - machine.kind.slots * left // declared if declared else machine.kind.slots

    def _has_room(self, machine: MachineBook, needs: Requirement) -> bool:
        kind = machine.kind
        if not self._offers(kind, needs) or len(machine.running) + 1 > self._slots(machine):
            return False
        taken: dict[str, int] = {}
        for each in (needs, *(self.units[unit].needs for unit in machine.running)):
            for name, count in each.amounts:
                taken[name] = taken.get(name, 0) + count
        return all(machine.amounts.get(name, 0) >= count for name, count in taken.items())

    def _placeable(self) -> list[int]:
        return [
            unit
            for unit, book in enumerate(self.units)
            if not book.running
            and self._is_wanted(unit)
            and not (book.is_resting and (book.not_before >= self._now or not self.is_punctual))
        ]

    def _first_place(self, unit: int) -> int | None:
        """The first machine, by type and number, on which a unit could start now."""
        book = self.units[unit]
        tenant = self.runs[book.run].tenant
        for kind in self.types:
            for number, machine in enumerate(self.machines):
                is_up = machine.tenant == tenant and machine.is_ready and machine.gone is None
                is_up = is_up and not machine.is_draining
                if machine.kind is kind and is_up and self._has_room(machine, book.needs):
                    return number
        return None

    def _order(self, unit: int) -> tuple[int, int]:
        return -self.runs[self.units[unit].run].priority, unit

    def _ideal(self, workflow: Workflow) -> Duration:
        """The longest path, every task on its fastest type."""
        ends: list[Duration] = []
        for task, parents in zip(workflow.tasks, workflow.parents, strict=True):
            time = min(_run_time(task, kind) for kind in self.types if self._offers(kind, task.requirement))
            ends.append(time + max((ends[parent] for parent in parents), default=0))
        return max(ends, default=0)


def _run_time(task: Task, kind: MachineType) -> Duration:
    return task.runtimes[kind.name] if kind.name in task.runtimes else round((task.runtime or 0) / kind.speed)


def _may_retry(book: UnitBook, cause: str) -> bool:
    retry = book.task.retry
    if cause in retry.by_cause:
        return book.failures[cause] < retry.by_cause[cause]
    return sum(number for name, number in book.failures.items() if name not in retry.by_cause) < retry.attempts


def _pause(task: Task, failures: int) -> Duration:
    return min(task.retry.max_delay, round(task.retry.delay * task.retry.factor ** (failures - 1)))


def _first_periods(kind: MachineType) -> int:
    periods = 1
    while periods * kind.billing.period < kind.billing.minimum:
        periods += 1
    return periods


def _bill(machine: MachineBook, held: Duration, *, refundable: bool) -> Fraction:
    """The exact amount, but for what is paid back for cores that it lacked, which is rounded down."""
    kind = machine.kind
    billing = kind.billing
    periods = _first_periods(kind)
    while periods * billing.period < held:
        periods += 1
    whole = Fraction(periods * kind.price)
    if not refundable or billing.rounding is None:
        return whole - _discount(machine, periods * billing.period)
    steps = 0
    while steps * billing.rounding < held:
        steps += 1
    used = max(steps * billing.rounding, billing.minimum)
    unused = max(0, periods * billing.period - used)
    return (
        whole - Fraction(unused * kind.price) / billing.period - _discount(machine, min(used, periods * billing.period))
    )


def _discount(machine: MachineBook, paid: Duration) -> Money:
    """What the cores would have cost that a machine lacked in the time that is paid for."""
    kind = machine.kind
    most = dict(kind.amounts).get("cpus", 0)
    end = machine.acquired + paid
    ends = [*(at for at, _ in machine.sizes[1:]), end]
    lacking = sum(
        (most - cores) * max(0, min(until, end) - since)
        for (since, cores), until in zip(machine.sizes, ends, strict=True)
    )
    return floor(lacking * Fraction(kind.core_price) / kind.billing.period)
