"""Rebuilding a driver's core and jobs from what the store has saved."""

from pathlib import Path

from tradewind.core.handle import Core
from tradewind.core.machines import IDLE
from tradewind.core.restore import MachineWas, Next, RunWas, Spent, UnitWas, restore
from tradewind.core.work import DONE
from tradewind.live.documents import decode
from tradewind.live.jobs import Job, task_of
from tradewind.live.journal import keeps_going_note
from tradewind.live.store.port import Saved
from tradewind.live.store.rows import RunRow, UnitRow
from tradewind.model.units import Time
from tradewind.model.workflow import Workflow


def rebuild(core: Core, jobs: dict[int, Job], saved: Saved, folder: Path, now: Time) -> list[int]:
    """Bring core and jobs to where they were saved; the machines that were held then."""
    held = {machine.number for machine in saved.machines}
    units: dict[int, list[UnitRow]] = {}
    for row in saved.units:
        units.setdefault(row.run, []).append(row)
    runs = [
        _run_was(jobs, row, units.get(row.number, []), folder)._replace(
            keeps_going=bool(saved.notes.get(keeps_going_note(row.number)))
        )
        for row in saved.runs
    ]
    machines = [
        MachineWas(row.number, row.kind, row.tenant, row.state >= IDLE, row.acquired, row.expected, row.paid_until)
        for row in saved.machines
    ]
    spent = [Spent(c.tenant, c.at, c.amount) for c in saved.charges if not c.refund and c.machine not in held]
    numbers = Next(saved.next.run, saved.next.unit, saved.next.machine)
    restore(core, now, runs, machines, spent, numbers)
    for number, job in jobs.items():
        job.run = core.state.runs[number]
    return sorted(held)


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
        is_open = _replay(job, units)
        tasks = {unit.number: task_of(decode(unit.tasks or b"")) for unit in units}
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
            )
            for unit in units
        ],
    )


def _replay(job: Job, units: list[UnitRow]) -> bool:
    """Tell a program's generator again of all chains that have finished; whether it may still grow."""
    done = [unit for unit in units if unit.state == DONE]
    for unit in sorted(done, key=lambda unit: (unit.ended or 0, unit.number)):
        job.finish(unit.chain, unit.results or {})
    return job.generator is not None and not job.generator.is_done
