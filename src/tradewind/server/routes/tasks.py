"""Tasks and attempts of a run."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from tradewind.core.transitions import UnitState
from tradewind.live.store.pages import Head
from tradewind.live.store.rows import AttemptRow, UnitRow
from tradewind.server import schemas, shapes
from tradewind.server.auth import Caller
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import READING, Run, TaskNumber
from tradewind.server.paging import Cursor, Limit, cursor, numbers_of, page
from tradewind.server.problems import Problem, not_found

router = APIRouter(prefix="/runs/{run}", tags=["tasks"])

_SCANNED = 5_000
_STORED = {name: state for state, name in shapes.UNIT_STATES.items()}
_UNSAVED = ("waiting", "ready", "delayed", "cancelled")
"""The store does not tell these apart while a run is active."""


@router.get("/tasks", response_model=schemas.Page[schemas.Task], responses=READING)
async def list_tasks(
    request: Request,
    run: Run,
    status: schemas.TaskStatus | None = None,
    name: Annotated[schemas.Line | None, Query(description="What the name begins with.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Tasks of a run, by number."""
    context, caller = met(request)
    head = await context.run(caller, run)
    after = numbers_of("tasks", cursor)
    state = context.service.state
    scans = status in _UNSAVED
    states = [] if status is None or scans else [_STORED[status]]
    units = await context.ask(
        context.pages.units,
        head.number,
        states=[int(each) for each in UnitState if each != UnitState.DONE] if scans else states,
        name=name,
        after=after[0] if after else -1,
        limit=_SCANNED if scans else limit + 1,
    )
    shown = [shapes.task(unit, head, state) for unit in units]
    if status is not None:
        shown = [task for task in shown if task["status"] == status]
    end = _next(shown, limit, units, is_cut=scans and len(units) == _SCANNED)
    return answer({"items": shown[:limit], "next": end})


def _next(shown: list[shapes.Plain], limit: int, units: list[UnitRow], *, is_cut: bool) -> str | None:
    if len(shown) > limit:
        return cursor("tasks", shown[limit - 1]["number"])
    if not is_cut and len(units) <= limit:
        return None
    return cursor("tasks", units[-1].number) if is_cut else cursor("tasks", units[limit - 1].number)


@router.get("/tasks/{task}", response_model=schemas.Task, responses=READING)
async def get_task(request: Request, run: Run, task: TaskNumber) -> Response:
    """A task of a run."""
    context, caller = met(request)
    head, unit = await unit_of(context, caller, run, task)
    return answer(shapes.task(unit, head, context.service.state))


@router.get("/tasks/{task}/attempts", response_model=schemas.Page[schemas.Attempt], responses=READING)
async def list_attempts(request: Request, run: Run, task: TaskNumber) -> Response:
    """The attempts of a task; the last one may be running."""
    context, caller = met(request)
    head, unit = await unit_of(context, caller, run, task)
    rows = await attempts_of(context, head, unit)
    kinds = await context.look(context.pages.machine_kinds, [row.machine for row in rows])
    return answer({"items": [shapes.attempt(row, head.id, kinds) for row in rows], "next": None})


@router.get("/tasks/{task}/attempts/{attempt}", response_model=schemas.Attempt, responses=READING)
async def get_attempt(request: Request, run: Run, task: TaskNumber, attempt: str) -> Response:
    """An attempt; `last` is the newest."""
    context, caller = met(request)
    head, row = await attempt_of(context, caller, run, task, attempt)
    kinds = await context.look(context.pages.machine_kinds, [row.machine])
    return answer(shapes.attempt(row, head.id, kinds))


@router.get("/attempts", response_model=schemas.Page[schemas.Attempt], responses=READING)
async def list_run_attempts(request: Request, run: Run, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The attempts of a run that have ended, by task and attempt."""
    context, caller = met(request)
    head = await context.run(caller, run)
    after = numbers_of("attempts", cursor, 2) or (-1, -1)
    rows = await context.ask(context.pages.attempts_of_run, head.number, (after[0], after[1]), limit + 1)
    kinds = await context.look(context.pages.machine_kinds, [row.machine for row in rows])
    return answer(page(rows, limit, lambda row: shapes.attempt(row, head.id, kinds), _mark))


def _mark(row: AttemptRow) -> str:
    return cursor("attempts", row.unit, row.attempt)


async def unit_of(context: Context, caller: Caller, run: str, task: int) -> tuple[Head, UnitRow]:
    """A task of a run, if it is there for the caller."""
    head = await context.run(caller, run)
    unit = await context.look(context.pages.unit, head.number, task)
    if unit is None:
        raise not_found(f"task {task} in run {run!r}")
    return head, unit


async def attempts_of(context: Context, head: Head, unit: UnitRow) -> list[AttemptRow]:
    """The attempts of a task, those that run last."""
    rows = await context.look(context.pages.attempts, head.number, unit.number)
    alive = context.service.state.units.get(unit.number)
    job = context.service.driver.jobs.get(head.number) if alive is not None else None
    if alive is None or job is None or alive.machine is None or alive.state != UnitState.RUNNING:
        return rows
    running = {
        each.number: AttemptRow(
            *(head.number, alive.id, each.number, each.machine.id, each.started, 0, "running"),
            folder=str(job.attempt_folder(alive, each.number)),
        )
        for each in alive.attempts()
    }
    return [*(row for row in rows if row.attempt not in running), *running.values()]


async def attempt_of(context: Context, caller: Caller, run: str, task: int, attempt: str) -> tuple[Head, AttemptRow]:
    """An attempt of a task by its number, or the last."""
    if attempt != "last" and not (attempt.isascii() and attempt.isdecimal() and len(attempt) < 10):
        raise Problem(422, "an attempt is a number, or `last`", type="/problems/request")
    head, unit = await unit_of(context, caller, run, task)
    rows = await attempts_of(context, head, unit)
    wanted = rows[-1:] if attempt == "last" else [row for row in rows if row.attempt == int(attempt)]
    if not wanted:
        raise not_found(f"attempt {attempt} of task {task} in run {run!r}")
    return head, wanted[0]
