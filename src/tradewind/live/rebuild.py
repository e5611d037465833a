"""Rebuilding a driver's core and jobs from what the store has saved."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tradewind.core.handle import Core
from tradewind.core.machines import IDLE
from tradewind.core.restore import MachineWas, Next, RunWas, Spent, UnitWas, restore, restore_run
from tradewind.core.work import DONE, WAITING
from tradewind.live.documents import decode
from tradewind.live.jobs import Job
from tradewind.live.notes import keeps_going_note, predicted_note, suspended_note, uncached_note
from tradewind.live.sizes import sized_task_of
from tradewind.live.store.port import RunDetail, Saved
from tradewind.live.store.rows import MachineRow, RunRow, UnitRow
from tradewind.model.requirement import amounts_of
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Time
from tradewind.model.workflow import Workflow


class Rebuilt(NamedTuple):
    """What has become of things while nobody looked."""

    lost: list[int]
    """Machines that were held."""
    forgotten: list[MachineRow]
    """Machines that were held, of types that are no longer declared."""
    stranded: list[str]
    """Why runs cannot go on, in a line each."""
    broken: list[tuple[int, str]]
    """Runs that have failed but had no time to end, and why."""


def rebuild(core: Core, jobs: dict[int, Job], saved: Saved, folder: Path, now: Time) -> Rebuilt:
    """Bring core and jobs to where they were saved."""
    kinds = {kind.type.name for kind in core.state.kinds}
    forgotten = [machine for machine in saved.machines if machine.kind not in kinds]
    kept = [machine for machine in saved.machines if machine.kind in kinds]
    _add_tenants(core, saved)
    held = {machine.number for machine in kept}
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
        )
        for row in kept
    ]
    spent = [Spent(c.tenant, c.at, c.amount) for c in saved.charges if not c.refund and c.machine not in held]
    numbers = Next(saved.next.run, saved.next.unit, saved.next.machine)
    restore(core, now, runs, machines, spent, numbers)
    for number, job in jobs.items():
        job.run = core.state.runs[number]
        job.run.predicted = saved.notes.get(predicted_note(number))
    return Rebuilt(sorted(held), forgotten, list(_stranded(core, jobs)), _broken(core, jobs))


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
    units = [
        unit if unit.state == DONE else unit._replace(state=WAITING, failures=0, lost=0, preempted=0)
        for unit in was.units
    ]
    is_open = was.is_open or bool(job.chains_beyond({unit.task.id for unit in units}))
    keeps_going = bool(detail.notes.get(keeps_going_note(was.number)))
    restore_run(core, was._replace(units=units, is_open=is_open, keeps_going=keeps_going, is_suspended=True))
    job.run = core.state.runs[was.number]
    return was.number


def _add_tenants(core: Core, saved: Saved) -> None:
    """Tenants that are no longer declared, but have work, machines or charges."""
    names = [row.tenant for rows in (saved.runs, saved.machines, saved.charges) for row in rows]
    for name in dict.fromkeys(names):
        if name not in core.state.by_name:
            core.state.add_pool(Tenant(name))


def _broken(core: Core, jobs: dict[int, Job]) -> list[tuple[int, str]]:
    faulty = [(number, job.fault) for number, job in jobs.items() if job.fault]
    failed = [(run.id, "a step has failed") for run in core.state.runs.values() if run.is_stopping and not run.left]
    return faulty + [each for each in failed if not jobs[each[0]].fault]


def _stranded(core: Core, jobs: dict[int, Job]) -> Iterator[str]:
    """One reason for each run of which something can never run."""
    for run in core.state.runs.values():
        for unit in run.units:
            if not unit.is_ended and not unit.kinds:
                needs = unit.need.requirement
                yield f"{jobs[run.id].id}: no machine type offers what {unit.task.id!r} needs: {needs}"
                break


def _run_was(jobs: dict[int, Job], row: RunRow, units: list[UnitRow], folder: Path) -> RunWas:
    job = Job(row.id, decode(row.document), row.parameters, folder / row.id)
    jobs[row.number] = job
    first, _ = job.begin()
    job.first = units[0].number if units else 0
    if isinstance(job.document, Workflow):
        is_open = False
        tasks = dict(zip((unit.number for unit in units), first.tasks, strict=True))
        parents = dict(zip((unit.number for unit in units), first.parents, strict=True))
    else:
        is_open = replay(job, units)
        tasks = {unit.number: sized_task_of(decode(unit.tasks or b"")) for unit in units}
        parents = dict.fromkeys(tasks, ())
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
                unit.failures,
                unit.lost,
                unit.machine,
                unit.started or 0,
                unit.preempted,
                *_saved(unit),
            )
            for unit in units
        ],
    )


def _saved(unit: UnitRow) -> tuple[Duration, Sequence[tuple[int, int, Time]]]:
    progress = unit.progress or {}
    return progress.get("kept", 0), [(number, machine, at) for number, machine, at in progress.get("running", ())]


def replay(job: Job, units: list[UnitRow]) -> bool:
    """Tell a program's generator again of all chains that have finished; whether it may still grow."""
    done = [unit for unit in units if unit.state == DONE]
    for unit in sorted(done, key=lambda unit: (unit.ended or 0, unit.number)):
        job.finish(unit.chain, unit.results or {})
    return job.generator is not None and not job.generator.is_done
