"""Change a run that no session is running: edit the store for the next session."""

from pathlib import Path

from tradewind.client.errors import ClientError
from tradewind.core.work import CANCELLED, IS_ENDED
from tradewind.live.documents import decode
from tradewind.live.jobs import Job
from tradewind.live.loop import wall_clock
from tradewind.live.notes import suspended_note
from tradewind.live.store.coding import pack
from tradewind.live.store.port import Changes, RunDetail, Store
from tradewind.live.store.rows import LogRow, RunChange, UnitChange, UnitRow
from tradewind.model.units import in_seconds


def steer(store: Store, detail: RunDetail, verb: str, value: int | None = None) -> None:
    """Cancel, suspend or resume an interrupted run, or change its priority or deadline."""
    run = detail.run
    changes = Changes()
    match verb:
        case "cancel" | "kill":
            _cancel(store, detail, changes)
        case "suspend" | "resume":
            changes.notes[suspended_note(run.number)] = verb == "suspend"
        case "priority":
            changes.runs = [RunChange(run.number, value or 0, run.deadline, None, run.status)]
        case "deadline":
            changes.runs = [RunChange(run.number, run.priority, value, None, run.status)]
        case _:
            raise ClientError(f"{verb} is not possible without a running session")
    store.save(changes)


def _cancel(store: Store, detail: RunDetail, changes: Changes) -> None:
    run, now = detail.run, wall_clock()
    changes.runs = [RunChange(run.number, run.priority, run.deadline, now, "cancelled")]
    changes.units = [
        UnitChange(
            *(unit.run, unit.number, CANCELLED, unit.attempt, unit.failures, unit.lost),
            started=unit.started,
            ended=now,
            results=unit.results,
            message="the run was cancelled",
            preempted=unit.preempted,
        )
        for unit in detail.units
        if not IS_ENDED[unit.state]
    ]
    seq = store.load().next.seq
    at = in_seconds(now)
    records = [
        {"at": at, "event": "cancelled", "seq": seq, "run": run.number},
        {"at": at, "event": "ended", "cause": seq, "run": run.number, "tenant": run.tenant, "status": "cancelled"},
    ]
    changes.log = [LogRow(seq, seq, now, pack(records))]


def folder_of(folder: Path, detail: RunDetail, unit: UnitRow, attempt: int) -> Path:
    """Return the folder of an attempt that has not ended."""
    job = Job(detail.run.id, decode(detail.run.document), detail.run.parameters, folder / detail.run.id)
    if unit.tasks is not None:
        chain = decode(unit.tasks)
        job.chains.replace(chain)
    return Path(job.folder_of(unit.chain, attempt))
