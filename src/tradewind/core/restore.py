"""Rebuilding the core after a restart, from plain rows of what is still active.

What ran on machines that are still held runs on; the driver then finds out which of them are really there, and reports
the others lost. Whatever waited for a retry is tried at once.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tradewind.core.elastic.division import Division, Share
from tradewind.core.elastic.events import arrange
from tradewind.core.elastic.saving import restore_division, restore_hold, restore_share
from tradewind.core.handle import Core
from tradewind.core.joining import note_loose
from tradewind.core.machines import BOOTING, BUSY, IDLE, SPARE, Machine
from tradewind.core.work import CANCELLED, DELAYED, DONE, FAILED, READY, RUNNING, WAITING, Attempt, Run, Unit
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Amounts
from tradewind.model.units import Duration, Money, Time
from tradewind.model.vector import minus
from tradewind.model.workflow import NO_CAUSES, Task

_ENDED = (DONE, FAILED, CANCELLED)


class UnitWas(NamedTuple):
    """A unit as it stood."""

    number: int
    task: Task
    parents: Sequence[int] = ()
    """Places in its run of the units that it waits for."""
    state: int = WAITING
    attempt: int = 0
    failures: Mapping[str, int] = NO_CAUSES
    lost: int = 0
    machine: int | None = None
    started: Time = 0
    preempted: int = 0
    kept: Duration = 0
    running: Sequence[tuple[int, int, Time]] = ()
    """Number, machine and start of all attempts that ran, if not just the last one."""
    memory: int | None = None
    """What it asks for by now, if that has grown."""
    division: Mapping[str, Any] | None = None
    """How it is divided, if it is elastic."""
    share: Mapping[str, Any] | None = None
    """What it holds of an elastic unit, if it is a share."""


class RunWas(NamedTuple):
    """A run as it stood, not ended."""

    number: int
    name: str
    tenant: str
    priority: int
    submitted: Time
    deadline: Time | None
    is_open: bool
    units: Sequence[UnitWas]
    keeps_going: bool = False
    is_suspended: bool = False


class MachineWas(NamedTuple):
    """A machine as it stood, held."""

    number: int
    kind: str
    tenant: str
    is_up: bool
    acquired: Time
    expected: Time
    paid_until: Time
    amounts: Amounts | None = None
    """What it offered; None: what its type does."""
    lacking: int = 0
    sized: Time | None = None
    returned: Money = 0
    name: str = ""
    """The name under which it joined; empty: it was rented."""
    type: MachineType | None = None
    """What it joined as."""
    tenants: tuple[str, ...] = ()
    """Tenants that it serves, if it joined."""
    is_spare: bool = False


class Spent(NamedTuple):
    """Money charged of late for a machine already given back."""

    tenant: str
    at: Time
    amount: Money


class Next(NamedTuple):
    """The smallest numbers never used."""

    run: int = 0
    unit: int = 0
    machine: int = 0


def restore(
    core: Core, now: Time, runs: Sequence[RunWas], machines: Sequence[MachineWas], spent: Sequence[Spent], next_: Next
) -> None:
    """Bring an empty core to where another one stood."""
    state = core.state
    state.now = now
    state.next_run, state.next_unit, state.next_machine = next_
    for each in spent:
        state.by_name[each.tenant].account.remember(each.at, each.amount)
    for was in machines:
        _restore_machine(core, was)
    for was_run in runs:
        restore_run(core, was_run)
    for machine in state.machines.values():
        if machine.is_up and any(machine.free):
            machine.fleet.offer(machine)


def _restore_machine(core: Core, was: MachineWas) -> None:
    state = core.state
    pool = state.by_name.get(was.tenant) or state.all_pools[0]
    if was.type is not None:
        fleet = pool.fleets[state.add_kind(was.type, was.tenants).index]
    else:
        fleet = next(fleet for fleet in pool.fleets if fleet.kind.type.name == was.kind and not fleet.kind.type.joins)
    machine = Machine(was.number, fleet, was.acquired, was.expected, was.name)
    machine.state = SPARE if was.is_spare else IDLE if was.is_up else BOOTING
    machine.paid_until = was.paid_until
    if was.amounts is not None:
        machine.capacity = machine.free = machine.kind.with_amounts(was.amounts)
    machine.lacking, machine.returned = was.lacking, was.returned
    machine.sized = machine.acquired if was.sized is None else was.sized
    machine.idle_since = state.now
    state.machines[machine.id] = machine
    if machine.joined:
        state.joined[machine.joined] = machine
        machine.kind.present += 1
        note_loose(state, machine)
    if machine.is_spare:
        return
    fleet.join(machine, state.now)
    pool.account.commit(machine.kind.type)
    if not machine.is_free_of_charge:
        core.expect_renewal(machine)


def restore_run(core: Core, was: RunWas) -> None:
    """Bring back one run."""
    state = core.state
    pool = state.by_name[was.tenant]
    run = Run(was.number, was.name, pool, was.priority, was.submitted, was.deadline)
    run.is_open = was.is_open
    run.keeps_going = was.keeps_going
    run.is_suspended = was.is_suspended
    units = _restore_units(core, run, was.units)
    run.units = run.graph = units
    run.is_elastic = any(unit.task.elastic is not None for unit in units)
    run.left = sum(not unit.is_ended for unit in units)
    state.runs[run.id] = pool.runs[run.id] = run
    for unit, row in zip(units, was.units, strict=True):
        if row.share is not None:
            restore_share(unit, _division_of(state.units[row.share["of"]]), dict(row.share))
        if row.state == RUNNING:
            _restore_attempts(core, unit, row)
            if isinstance(unit.elastic, Division) and not unit.elastic.is_over:
                unit.state = RUNNING
    if run.is_elastic:
        _restore_elastic(run)
    if any(unit.state == FAILED for unit in units):
        _doom(run)
    for unit in units:
        if (unit.attempt or unit.state == RUNNING) and not unit.is_ended:
            core.expect_expiry(unit)  # counted from the last start, for no earlier one is known any more
        if unit.state != WAITING or unit.waits:
            continue
        if run.is_suspended:
            unit.state = DELAYED
        else:
            unit.state = READY
            if isinstance(unit.elastic, Share):
                unit.elastic.division.queued += 1
            pool.enqueue(unit, core.policy.placer.rank(unit))
            state.newly_ready.append(unit)
            state.unsettle(pool)


def _restore_units(core: Core, run: Run, rows: Sequence[UnitWas]) -> list[Unit]:
    """Make the units of a run as they were, none of them running yet."""
    state = core.state
    units: list[Unit] = []
    for row in rows:
        unfinished = [units[place] for place in row.parents if units[place].state != DONE]
        wanted = row.task.requirement if row.memory is None else row.task.requirement.with_memory(row.memory)
        unit = Unit(row.number, run, row.task, state.need(wanted), len(unfinished))
        for parent in unfinished:
            parent.adopt(unit)
        unit.attempt = unit.last = row.attempt
        unit.lost, unit.preempted, unit.kept, unit.started = row.lost, row.preempted, row.kept, row.started
        unit.checkpoint = unit.checkpoint or core.policy.checkpoint
        unit.failures = row.failures
        unit.state = row.state if row.state in _ENDED else WAITING
        if row.division is not None:
            restore_division(core, unit, dict(row.division))
        units.append(unit)
        state.units[unit.id] = unit
    return units


def _restore_attempts(core: Core, unit: Unit, row: UnitWas) -> None:
    """Let those attempts of a unit run on whose machines are held."""
    machines = core.state.machines
    running = row.running or (() if row.machine is None else ((row.attempt, row.machine, row.started),))
    attempts = [Attempt(number, machines[where], at) for number, where, at in running if where in machines]
    if not attempts:
        return
    unit.state = RUNNING
    unit.attempt, unit.machine, unit.started = attempts[0]
    unit.copies = tuple(attempts[1:])
    for attempt in attempts:
        machine = attempt.machine
        machine.running[unit.id] = unit
        machine.free = minus(machine.free, unit.need.demand)
        machine.state = BUSY


def _restore_elastic(run: Run) -> None:
    """Let shares run on with what they hold, and drop those that are no longer needed."""
    for unit in run.units:
        if isinstance(unit.elastic, Division) and unit.elastic.is_over:
            unit.waits = 0
        elif isinstance(unit.elastic, Share):
            restore_hold(unit)
            if unit.state == WAITING and unit.elastic.division.is_over:
                unit.state = CANCELLED
                run.left -= 1
    arrange(run)


def _division_of(unit: Unit) -> Division:
    if not isinstance(unit.elastic, Division):
        raise ValueError(f"unit {unit.id} is not divided")  # noqa: TRY004  a damaged store, not a wrong argument
    return unit.elastic


def _doom(run: Run) -> None:
    """Something of a run has failed: nothing else is started, or nothing that waits for it if the rest goes on."""
    run.status = "failed"
    run.is_open = run.is_open and run.keeps_going
    run.is_stopping = not run.keeps_going
    doomed = list(run.units) if run.is_stopping else _descendants(run)
    for unit in doomed:
        is_divided = isinstance(unit.elastic, Division) and not unit.elastic.is_over and not unit.is_ended
        if isinstance(unit.elastic, Division) and is_divided:
            unit.elastic.is_over = True
        if unit.state == WAITING or is_divided:
            unit.state = CANCELLED
            run.left -= 1


def _descendants(run: Run) -> list[Unit]:
    """All that waits for what has failed, directly or not."""
    walk = [unit for unit in run.units if unit.state == FAILED]
    for unit in walk:  # grows while it is walked
        walk += unit.children
    return walk
