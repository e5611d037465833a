"""Search over runs and tasks."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from tradewind.live.loop import wall_clock
from tradewind.live.search import QueryError, parse
from tradewind.live.store.searching import NOTHING, Found
from tradewind.server import schemas, shapes
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import READING
from tradewind.server.paging import Cursor, cursor, numbers_of
from tradewind.server.problems import Problem
from tradewind.server.routes.runs import heads_shown

router = APIRouter(tags=["search"])

_END = 0
"""In a cursor: nothing more of a kind."""


@router.get("/search", response_model=schemas.Found, responses=READING)
async def search(
    request: Request,
    q: Annotated[str, Query(max_length=1000, description="Words, and conditions such as `status:failed`.")] = "",
    within: Annotated[Literal["runs", "tasks", "all"], Query(alias="in")] = "all",
    limit: Annotated[int, Query(ge=1, le=200, description="How many of each at most.")] = 20,
    cursor: Cursor = None,
) -> Response:
    """Runs and tasks that a query finds, newest first, with counts; the last second may be missing."""
    context, caller = met(request)
    try:
        query = parse(q, wall_clock())
    except QueryError as error:
        raise Problem(422, f"q: {error}", type="/problems/query") from None
    after = numbers_of("search", cursor, 2) or (2**62, 2**62)
    finder, tenant = context.searcher, caller.tenant
    runs = tasks = NOTHING
    if within != "tasks" and after[0] > _END:
        runs = await context.ask(finder.runs, query, tenant, after[0], limit)
    if within != "runs" and after[1] > _END:
        tasks = await context.ask(finder.tasks, query, tenant, after[1], limit)
    return answer(
        {
            "query": q.strip(),
            "counts": {"runs": runs.total, "tasks": tasks.total, "exact": runs.is_exact and tasks.is_exact},
            "runs": await _runs(context, runs),
            "tasks": await _tasks(context, tasks),
            "next": _next(runs, tasks),
        }
    )


def _next(runs: Found, tasks: Found) -> str | None:
    if runs.last is None and tasks.last is None:
        return None
    return cursor("search", runs.last or _END, tasks.last or _END)


async def _runs(context: Context, found: Found) -> list[dict[str, Any]]:
    heads = await context.ask(context.pages.heads, [hit.number for hit in found.hits])
    return await heads_shown(context, [heads[hit.number] for hit in found.hits if hit.number in heads])


async def _tasks(context: Context, found: Found) -> list[dict[str, Any]]:
    state = context.service.state

    def look() -> list[dict[str, Any]]:
        heads = context.pages.heads(sorted({hit.run for hit in found.hits}))
        shown = []
        for hit in found.hits:
            unit, head = context.pages.unit(hit.run, hit.number), heads.get(hit.run)
            if unit is not None and head is not None:
                shown.append(shapes.task(unit, head, state) | {"run_name": head.name})
        return shown

    return await context.ask(look)
