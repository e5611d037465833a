"""Rebuilding a driver's core and jobs from what the store has saved."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tradewind.core.elastic.events import share_task
from tradewind.core.handle import Core
from tradewind.core.machines import IDLE, SPARE
from tradewind.core.restore import MachineWas, Next, RunWas, Spent, UnitWas, restore, restore_run
from tradewind.core.work import CANCELLED, DONE, RUNNING, WAITING
from tradewind.live.containment import Blaming
from tradewind.live.documents import decode
from tradewind.live.guests import name_type_tenants, recall_kinds
from tradewind.live.jobs import Job
from tradewind.live.notes import JOINED_KINDS, keeps_going_note, predicted_note, suspended_note, uncached_note
from tradewind.live.sizes import sized_task_of
from tradewind.live.store.port import RunDetail, Saved
from tradewind.live.store.rows import MachineRow, RunRow, UnitRow
from tradewind.model.program import Program
from tradewind.model.requirement import amounts_of
from tradewind.model.tenant import Tenant
from tradewind.model.units import Time
from tradewind.model.workflow import NO_CAUSES, Task, Workflow


class Severed(NamedTuple):
    """An attempt whose machine cannot be taken over."""

    unit: int
    attempt: int
    machine: int
    started: Time


class Rebuilt(NamedTuple):
    """What was found besides the state that was saved."""

    forgotten: list[MachineRow]
    """Machines that were held, of types that are no longer declared."""
    severed: list[Severed]
    """Attempts that ran on them."""
    stranded: list[str]
    """Why runs cannot go on, in a line each."""
    broken: list[tuple[int, str]]
    """Runs that have failed but had no time to end, and why."""


def rebuild(core: Core, jobs: dict[int, Job], saved: Saved, folder: Path, now: Time) -> Rebuilt:
    """Bring core and jobs to where they were saved."""
    kinds = {kind.type.name for kind in core.state.kinds if not kind.type.joins}
    forgotten = [machine for machine in saved.machines if machine.kind not in kinds and machine.joined is None]
    kept = [machine for machine in saved.machines if machine.kind in kinds or machine.joined is not None]
    recall_kinds(core.state, saved.notes.get(JOINED_KINDS))
    _add_tenants(core, saved)
    units: dict[int, list[UnitRow]] = {}
    for row in saved.units:
        units.setdefault(row.run, []).append(row)
    runs = [
        _run_was(jobs, row, units.get(row.number, []), folder)._replace(
            keeps_going=bool(saved.notes.get(keeps_going_note(row.number))),
            is_suspended=bool(saved.notes.get(suspended_note(row.number))),
        )
        for row in saved.runs
    ]
    machines = [
        MachineWas(
            *(row.number, row.kind, row.tenant, row.state >= IDLE, row.acquired, row.expected, row.paid_until),
            *(() if row.size is None else (amounts_of(row.size[0]), *row.size[1:])),
        )._replace(name=name, type=type, tenants=tenants, is_spare=row.state == SPARE)
        for row in kept
        for name, type, tenants in [name_type_tenants(row)]
    ]
    since = {row.number: row.acquired for row in kept if row.state != SPARE}
    users = {row.number: row.tenant for row in kept}
    spent = [
        Spent(charge.tenant, charge.at, charge.amount)
        for charge in saved.charges
        if not charge.refund
        and (charge.at < since.get(charge.machine, charge.at + 1) or users[charge.machine] != charge.tenant)
    ]
    numbers = Next(saved.next.run, saved.next.unit, saved.next.machine)
    restore(core, now, runs, machines, spent, numbers)
    for number, job in jobs.items():
        job.run = core.state.runs[number]
        job.run.predicted = saved.notes.get(predicted_note(number))
    return Rebuilt(forgotten, list(_severed(saved, forgotten)), list(_stranded(core, jobs)), _broken(core, jobs))


def latest(saved: Saved) -> Time:
    """The last time that was saved of anything, as far as it tells."""
    times = [charge.at for charge in saved.charges]
    times += [run.submitted for run in saved.runs]
    times += [machine.acquired for machine in saved.machines]
    times += [max(unit.started or 0, unit.ended or 0) for unit in saved.units]
    return max(times, default=0)


def reopen(core: Core, jobs: dict[int, Job], detail: RunDetail, folder: Path) -> int:
    """Bring back a run that has ended, suspended, with all that is not done to be done; its number."""
    was = _run_was(jobs, detail.run, detail.units, folder)
    job = jobs[was.number]
    job.uses_cache = not detail.notes.get(uncached_note(was.number))
    units = [unit if unit.state == DONE else _anew(unit) for unit in was.units]
    is_open = was.is_open or bool(job.chains_beyond({unit.task.id for unit in units}))
    keeps_going = bool(detail.notes.get(keeps_going_note(was.number)))
    restore_run(core, was._replace(units=units, is_open=is_open, keeps_going=keeps_going, is_suspended=True))
    job.run = core.state.runs[was.number]
    return was.number


def _severed(saved: Saved, forgotten: list[MachineRow]) -> Iterator[Severed]:
    gone = {machine.number for machine in forgotten}
    for row in saved.units if gone else ():
        if row.state == RUNNING:
            running = (row.progress or {}).get("running") or [(row.attempt, row.machine, row.started)]
            yield from (Severed(row.number, *each) for each in running if each[1] in gone)


def _anew(unit: UnitWas) -> UnitWas:
    """A unit that has not ended well, to be tried again; what shares of it have delivered stays."""
    if unit.share is not None:
        return unit._replace(state=CANCELLED, share={"of": unit.share["of"]})
    division = unit.division
    if division is not None and unit.task.elastic is not None:
        is_over = division["ledger"][0] == unit.task.elastic.iterations
        division = {**division, "failures": 0, "is_late": False, "is_over": is_over}
    return unit._replace(
        state=WAITING, failures=NO_CAUSES, lost=0, preempted=0, memory=None, running=(), division=division
    )


def _add_tenants(core: Core, saved: Saved) -> None:
    """Tenants that are no longer declared, but have work, machines or charges."""
    names = [row.tenant for rows in (saved.runs, saved.machines, saved.charges) for row in rows]
    for name in dict.fromkeys(names):
        if name and name not in core.state.by_name:
            core.state.add_pool(Tenant(name))


def _broken(core: Core, jobs: dict[int, Job]) -> list[tuple[int, str]]:
    faulty = [(number, job.fault) for number, job in jobs.items() if job.fault]
    failed = [(run.id, "a step has failed") for run in core.state.runs.values() if run.is_stopping and not run.left]
    return faulty + [each for each in failed if not jobs[each[0]].fault]


def _stranded(core: Core, jobs: dict[int, Job]) -> Iterator[str]:
    """One reason for each run of which something can never run."""
    for run in core.state.runs.values():
        for unit in run.units:
            if not unit.is_ended and not core.state.accepts_unknown and not core.state.can_serve(unit.need, run.pool):
                needs = unit.need.requirement
                yield f"{jobs[run.id].id}: no machine type offers what {unit.task.id!r} needs: {needs}"
                break


def _run_was(jobs: dict[int, Job], row: RunRow, units: list[UnitRow], folder: Path) -> RunWas:
    job = jobs[row.number] = Job(row.id, Program(row.name, ()), row.parameters, folder / row.id)
    job.first = units[0].number if units else 0
    is_open = True
    tasks = {unit.number: Task(unit.chain, unit.chain) for unit in units}
    parents: dict[int, tuple[int, ...]] = dict.fromkeys(tasks, ())
    with Blaming(job):  # if anything goes wrong, what is known so far will do to let it fail
        job.document = decode(row.document)
        first, _ = job.begin()
        if isinstance(job.document, Workflow):
            is_open = False
            tasks = dict(zip((unit.number for unit in units), first.tasks, strict=True))
            parents = dict(zip((unit.number for unit in units), first.parents, strict=True))
        else:
            is_open = replay(job, units)
            for unit in units:  # shares come after what they are shares of
                share = (unit.progress or {}).get("share")
                tasks[unit.number] = (
                    sized_task_of(decode(unit.tasks or b""))
                    if share is None
                    else share_task(tasks[share["of"]], unit.number)
                )
    return RunWas(
        row.number,
        row.name,
        row.tenant,
        row.priority,
        row.submitted,
        row.deadline,
        is_open,
        [
            UnitWas(
                unit.number,
                tasks[unit.number],
                parents[unit.number],
                unit.state,
                unit.attempt,
                progress.get("failures") or ({"error": unit.failures} if unit.failures else NO_CAUSES),
                unit.lost,
                unit.machine,
                unit.started or 0,
                unit.preempted,
                progress.get("kept", 0),
                [(number, machine, at) for number, machine, at in progress.get("running", ())],
                progress.get("memory"),
                progress.get("division"),
                progress.get("share"),
            )
            for unit in units
            for progress in [unit.progress or {}]
        ],
    )


def replay(job: Job, units: list[UnitRow]) -> bool:
    """Tell a program's generator again of all chains that have finished; whether it may still grow."""
    done = [unit for unit in units if unit.state == DONE]
    for unit in sorted(done, key=lambda unit: (unit.ended or 0, unit.number)):
        job.finish(unit.chain, unit.results or {})
    return job.generator is not None and not job.generator.is_done
