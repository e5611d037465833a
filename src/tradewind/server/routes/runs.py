"""Runs: list, look at, steer, forget."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import FileResponse, Response

from tradewind.core.transitions import UnitState
from tradewind.live.documents import decode
from tradewind.live.facts import Cancel, Fact, Redate, Reprioritise, Retry, Suspend, Unsuspend
from tradewind.live.notes import keeps_going_note
from tradewind.live.results import results_of
from tradewind.live.store.pages import Head
from tradewind.live.store.rows import UnitRow
from tradewind.model.places import base_name, texts_in
from tradewind.model.program import Program
from tradewind.model.units import SECOND, Duration, parse_duration
from tradewind.server import schemas, shapes
from tradewind.server.auth import Caller, Role
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import CHANGING, READING, Run
from tradewind.server.paging import Cursor, Limit, cursor, numbers_of
from tradewind.server.problems import Problem, not_found

router = APIRouter(prefix="/runs", tags=["runs"])

_KEEPS_GOING = keeps_going_note(0).removesuffix("0")
_SHOWN = 20
"""Failures told with a run."""
_SCANNED = 10_000
_FEW = 200
"""Rows that are read before a thread would have been woken."""
Moment = Annotated[float | None, Query(ge=0, le=1e11, description="Seconds since 1970.")]


@router.get("", response_model=schemas.Page[schemas.Run], responses=READING)
async def list_runs(
    request: Request,
    status: schemas.RunStatus | None = None,
    tenant: schemas.Name | None = None,
    name: Annotated[schemas.Line | None, Query(description="What the name begins with.")] = None,
    since: Moment = None,
    until: Moment = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Runs, newest first."""
    context, caller = met(request)
    before = numbers_of("runs", cursor)
    find = context.look if limit <= _FEW and name is None and status not in ("active", "suspended") else context.ask
    heads = await find(
        context.pages.runs,
        tenant=caller.chooses(tenant),
        status="active" if status == "suspended" else status,
        name=name,
        since=None if since is None else round(since * SECOND),
        until=None if until is None else round(until * SECOND),
        before=before[0] if before else None,
        limit=_SCANNED if status in ("active", "suspended") else limit + 1,
    )
    state = context.service.state
    if status in ("active", "suspended"):  # the store does not tell them apart
        heads = [head for head in heads if shapes.status_of(head, state) == status][: limit + 1]
    shown = await heads_shown(context, heads[:limit])
    return answer({"items": shown, "next": _mark(heads[limit - 1]) if len(heads) > limit else None})


def _mark(head: Head) -> str:
    return cursor("runs", head.number)


async def heads_shown(context: Context, heads: list[Head]) -> list[dict[str, Any]]:
    """Runs with how many of their tasks stand where."""
    state = context.service.state
    counts: dict[int, dict[int, int]] = {}
    for head in heads:
        if head.ended is None and (active := state.runs.get(head.number)) is not None:
            counts[head.number] = context.tallies.of(active)
    left = [head.number for head in heads if head.number not in counts]
    counts |= await context.look(context.pages.tallies, left)
    if left := [number for number in left if number not in counts]:
        counts |= await context.ask(context.pages.counts, left)
    return [shapes.run(head, state, counts[head.number]) for head in heads]


async def detail(context: Context, caller: Caller, id: str) -> dict[str, Any]:
    """A run with all that is known of it, if it is there for the caller."""
    found = await context.look(context.pages.described, id, _KEEPS_GOING)
    if found is None or not caller.sees(found[0].tenant):
        raise not_found(f"run {id!r}")
    head, parameters, tally, keeps_going = found
    if head.ended is None or tally is None:
        (shown,) = await heads_shown(context, [head])
    else:
        shown = shapes.run(head, context.service.state, tally)
    failed = []
    if "failed" in shown["tasks"]:
        failed = await context.look(context.pages.units, head.number, states=[UnitState.FAILED], limit=_SHOWN)
    reason, is_impossible = None, False
    if head.status == "failed":
        reason, is_impossible = await context.look(context.pages.fault, head.number)
    return shown | {
        "parameters": parameters,
        "keep_going": bool(keeps_going),
        "reason": reason,
        "impossible": is_impossible,
        "failures": [
            {"task": unit.number, "name": unit.chain, "attempt": unit.attempt, "reason": unit.message}
            for unit in failed
        ],
    }


@router.get("/{run}", response_model=schemas.RunDetail, responses=READING)
async def get_run(request: Request, run: Run) -> Response:
    """A run."""
    context, caller = met(request)
    return answer(await detail(context, caller, run))


@router.get("/{run}/document", response_model=dict[str, Any], responses=READING)
async def get_document(request: Request, run: Run) -> Response:
    """What a run was made from: its tasks or steps, with what each waits for."""
    context, caller = met(request)
    await context.run(caller, run)
    row = await context.ask(context.pages.whole, run)
    if row is None:
        raise Problem(404, f"there is no run {run!r}")
    return answer(await context.ask(_described, row.document))


def _described(document: bytes) -> dict[str, Any]:
    found = decode(document)
    if isinstance(found, Program):
        steps = [{"id": step.id, "name": step.name, "needs": list(step.needs)} for step in found.steps]
        return {"kind": "program", "name": found.name, "steps": steps}
    ids = [task.id for task in found.tasks]
    return {
        "kind": "workflow",
        "name": found.name,
        "tasks": [
            {
                "id": task.id,
                "name": task.name,
                "needs": [ids[parent] for parent in parents],
                "capabilities": sorted(task.requirement.capabilities),
            }
            for task, parents in zip(found.tasks, found.parents, strict=True)
        ],
    }


@router.get("/{run}/results", response_model=schemas.Results, responses=READING)
async def get_results(request: Request, run: Run) -> Response:
    """The outputs of a program that is done."""
    context, caller = met(request)
    head = await context.run(caller, run)
    results = await context.ask(_results, context, head) if head.status == "done" else None
    files = await context.ask(_files, context, head, results) if results else {}
    return answer(
        {"run": head.id, "results": results, "files": {place: base_name(path) for place, path in files.items()}}
    )


@router.get(
    "/{run}/outputs/{place:path}",
    response_class=Response,
    responses=READING | {200: {"description": "The file.", "content": {"application/octet-stream": {}}}},
)
async def get_output(request: Request, run: Run, place: str) -> Response:
    """A file among the outputs of a program that is done, such as `report` or `parts/0`."""
    context, caller = met(request)
    head = await context.run(caller, run)
    results = await context.ask(_results, context, head) if head.status == "done" else None
    path = (await context.ask(_files, context, head, results)).get(place)
    if path is None:
        raise not_found(f"file among the outputs at {place!r}")
    return FileResponse(path, media_type="application/octet-stream", filename=base_name(path))


def _files(context: Context, head: Head, results: dict[str, Any] | None) -> dict[str, str]:
    """The files among outputs that runs of the same tenant have left, by place: no others are given away."""
    found: dict[str, str] = {}
    for place, text in texts_in(results or {}):
        if text.startswith("/"):
            with suppress(OSError, ValueError, RuntimeError):
                path = Path(text).resolve(strict=True)
                if path.is_file() and _is_of_tenant(context, head, path):
                    found[place] = str(path)
    return found


def _is_of_tenant(context: Context, head: Head, path: Path) -> bool:
    """Whether a file lies in the folder of a run, or of an earlier one of its tenant, as the cache gives them."""
    if not path.is_relative_to(context.artefacts.root):
        return False
    run = path.relative_to(context.artefacts.root).parts[0]
    other = head if run == head.id else context.pages.head(run)
    return other is not None and other.tenant == head.tenant


def _results(context: Context, head: Head) -> dict[str, Any] | None:
    run = context.pages.whole(head.id)
    return None if run is None else results_of(run, lambda: _units(context, head), context.artefacts.root / head.id)


def _units(context: Context, head: Head) -> list[UnitRow]:
    found = context.store.run(head.id)
    return [] if found is None else found.units


async def _steer(run: str, fact: Fact, context: Context, caller: Caller) -> Response:
    await context.service.tell(fact)
    return answer(await detail(context, caller, run), 202)


@router.post("/{run}/cancel", status_code=202, response_model=schemas.RunDetail, responses=CHANGING)
async def cancel_run(request: Request, run: Run, body: schemas.Cancellation | None = None) -> Response:
    """End a run: what runs is killed, nothing more is started."""
    context, caller = met(request, Role.USER)
    is_urgent = body is not None and body.force
    if is_urgent and (await context.run(caller, run)).ended is not None:
        return answer(await detail(context, caller, run), 202)
    head = await _active(context, caller, run)
    return await _steer(run, Cancel(head.number, is_urgent), context, caller)


@router.post("/{run}/retry", status_code=202, response_model=schemas.RunDetail, responses=CHANGING)
async def retry_run(request: Request, run: Run) -> Response:
    """Let what failed or was cancelled of an ended run be tried again."""
    context, caller = met(request, Role.USER)
    head = await context.run(caller, run)
    if head.status not in ("failed", "cancelled"):
        raise Problem(409, f"run {run!r} is {head.status}; only failed or cancelled ones are tried again")
    return await _steer(run, Retry(head.id), context, caller)


@router.post("/{run}/suspend", status_code=202, response_model=schemas.RunDetail, responses=CHANGING)
async def suspend_run(request: Request, run: Run) -> Response:
    """Start nothing more of a run for now; what runs goes on."""
    context, caller = met(request, Role.USER)
    head = await _active(context, caller, run)
    return await _steer(run, Suspend(head.number), context, caller)


@router.post("/{run}/resume", status_code=202, response_model=schemas.RunDetail, responses=CHANGING)
async def resume_run(request: Request, run: Run) -> Response:
    """Let a suspended run go on."""
    context, caller = met(request, Role.USER)
    head = await _active(context, caller, run)
    return await _steer(run, Unsuspend(head.number), context, caller)


@router.put("/{run}/priority", response_model=schemas.RunDetail, responses=CHANGING)
async def set_priority(request: Request, run: Run, body: schemas.NewPriority) -> Response:
    """Want a run sooner, or later."""
    context, caller = met(request, Role.USER)
    head = await _active(context, caller, run)
    await context.service.tell(Reprioritise(head.number, body.priority))
    return answer(await detail(context, caller, run))


@router.put("/{run}/deadline", response_model=schemas.RunDetail, responses=CHANGING)
async def set_deadline(request: Request, run: Run, body: schemas.NewDeadline) -> Response:
    """Give a run another deadline, or none; policies for deadlines plan again what has not started."""
    context, caller = met(request, Role.USER)
    head = await _active(context, caller, run)
    due = None if body.deadline is None else head.submitted + deadline_of(body.deadline)
    await context.service.tell(Redate(head.number, due))
    return answer(await detail(context, caller, run))


def deadline_of(given: float | str) -> Duration:
    """A deadline as it is written in requests."""
    try:
        length = parse_duration(given)
    except ValueError as error:
        raise Problem(422, f"deadline: {error}", type="/problems/request") from None
    if length <= 0:
        raise Problem(422, "deadline: must be above zero", type="/problems/request")
    return length


@router.delete("/{run}", status_code=204, response_class=Response, responses=CHANGING)
async def delete_run(request: Request, run: Run) -> Response:
    """Forget a run that has ended, and remove its files."""
    context, caller = met(request, Role.USER)
    head = await context.run(caller, run)
    if head.ended is None:
        raise Problem(409, f"run {run!r} is active; cancel it first")
    await context.ask(context.store.forget, head.number)
    await context.ask(context.artefacts.forget, head.id)
    return Response(status_code=204)


async def _active(context: Context, caller: Caller, run: str) -> Head:
    head = await context.run(caller, run)
    if head.ended is not None:
        raise Problem(409, f"run {run!r} has ended: it is {head.status}")
    return head
