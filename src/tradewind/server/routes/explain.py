"""Why: what a task waits for, and why it ran again."""

from collections.abc import Iterable
from itertools import islice

from fastapi import APIRouter, Request
from starlette.responses import Response

from tradewind.core.transitions import UnitState
from tradewind.core.why import Cause, Reason, why
from tradewind.core.work import Run as CoreRun
from tradewind.core.work import Unit
from tradewind.live.cache.explain import Whose, explained
from tradewind.live.notes import reason_note
from tradewind.live.store.rows import AttemptRow
from tradewind.server import schemas, shapes
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import READING, Run, TaskNumber
from tradewind.server.routes.tasks import unit_of

router = APIRouter(prefix="/runs/{run}", tags=["explain"])

_SHOWN = 100
_TRIED = 1000


@router.get("/explain", response_model=schemas.RunExplained, responses=READING)
async def explain_run(request: Request, run: Run) -> Response:
    """What the tasks of a run wait for, and which ran again."""
    context, caller = met(request)
    head = await context.run(caller, run)
    state = context.service.state
    active = state.runs.get(head.number)
    waiting = [] if active is None else list(islice(_waiting(context, active), _SHOWN))
    rows = await context.ask(context.pages.tried_again, head.number, _TRIED)
    again: dict[int, list[AttemptRow]] = {}
    for row in rows:
        again.setdefault(row.unit, []).append(row)
    units = {number: await context.ask(context.pages.unit, head.number, number) for number in list(again)[:_SHOWN]}
    reason = await context.look(context.pages.note, reason_note(head.number)) if head.status == "failed" else None
    return answer(
        {
            "run": head.id,
            "status": shapes.status_of(head, state),
            "summary": reason or _summary(shapes.status_of(head, state), waiting),
            "waiting": waiting,
            "again": [
                {"task": number, "name": unit.chain, "attempts": unit.attempt, "why": _ended(again[number])}
                for number, unit in units.items()
                if unit is not None and unit.attempt > again[number][0].attempt
            ],
        }
    )


@router.get("/tasks/{task}/explain", response_model=schemas.TaskExplained, responses=READING)
async def explain_task(request: Request, run: Run, task: TaskNumber) -> Response:
    """Why a task is where it is, and why it ran again."""
    context, caller = met(request)
    head, row = await unit_of(context, caller, run, task)
    shown = shapes.task(row, head, context.service.state)
    unit = context.service.state.units.get(row.number)
    if unit is None:
        reason = Reason(Cause.ENDED, f"is {shown['status']}" + (f": {row.message}" if row.message else ""))
    else:
        reason = why(context.service.state, unit)
    attempts = await context.ask(context.pages.attempts, head.number, row.number)
    whose = Whose(head.id, head.tenant, head.name)
    return answer(
        _told(row.number, row.chain, shown["status"], reason)
        | {"again": _ended(each for each in attempts if each.attempt < row.attempt)}
        | {"cache": await context.ask(lambda: list(explained(whose, row, attempts, context.store)))}
    )


def _waiting(context: Context, run: CoreRun) -> Iterable[shapes.Plain]:
    """Tasks that have not ended, those that could run first."""
    state = context.service.state
    order = (UnitState.READY, UnitState.DELAYED, UnitState.RUNNING, UnitState.WAITING)
    found: dict[int, list[Unit]] = {wanted: [] for wanted in order}
    for unit in run.units:
        if unit.state in found and len(found[unit.state]) < _SHOWN:
            found[unit.state].append(unit)
    for wanted in order:
        for unit in found[wanted]:
            if wanted == UnitState.WAITING:  # to name them all would mean to look at all tasks for each
                reason = Reason(Cause.PARENTS, f"waits for {unit.waits} of the tasks before it")
            else:
                reason = why(state, unit)
            yield _told(unit.id, unit.task.id, shapes.UNIT_STATES[unit.state], reason)


def _told(number: int, name: str, status: str, reason: Reason) -> shapes.Plain:
    return {
        "task": number,
        "name": name,
        "status": status,
        "cause": reason.cause.value,
        "text": reason.text,
        "until": shapes.seconds(reason.until),
    }


def _ended(rows: Iterable[AttemptRow]) -> list[shapes.Plain]:
    return [
        {"attempt": row.attempt, "outcome": row.outcome, "reason": row.reason, "machine": row.machine} for row in rows
    ]


def _summary(status: str, waiting: list[shapes.Plain]) -> str:
    if status not in ("active", "suspended"):
        return f"the run is {status}"
    causes: dict[str, int] = {}
    for each in waiting:
        causes[each["cause"]] = causes.get(each["cause"], 0) + 1
    told = "; ".join(f"{count} tasks: {cause}" for cause, count in causes.items())
    begun = "the run is suspended: nothing more is started" if status == "suspended" else "the run is active"
    return f"{begun}; {told}" if told else begun
