"""What was spent, and for what."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from tradewind.live.loop import wall_clock
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.server import estate, schemas
from tradewind.server.context import answer, met
from tradewind.server.describing import READING, Run
from tradewind.server.routes.runs import Moment

router = APIRouter(tags=["cost"])

_RUNS = 200
"""Runs whose cost is told at once."""


@router.get("/runs/{run}/cost", response_model=estate.RunCost, responses=READING)
async def run_cost(request: Request, run: Run) -> Response:
    """What a run has cost so far: the time its tasks took, at the price of their machines."""
    context, caller = met(request)
    head = await context.run(caller, run)
    shares = await context.ask(context.costs.of_run, head.number, wall_clock())
    return answer(
        {
            "run": head.id,
            "total": sum(share.cost for share in shares) / UNIT,
            "by_machine_type": [
                {"machine_type": share.machine_type, "cost": share.cost / UNIT, "busy_time": share.busy / SECOND}
                for share in shares
            ],
        }
    )


@router.get("/cost", response_model=estate.Cost, responses=READING)
async def cost(
    request: Request,
    by: Literal["run", "tenant", "interval", "machine_type", "machine"] = "tenant",
    since: Moment = None,
    until: Moment = None,
    tenant: schemas.Name | None = None,
    interval: Annotated[float, Query(ge=1, le=1e9, description="Seconds; where it goes by interval.")] = 60.0,
) -> Response:
    """What was spent; by run it is told for the newest ones that were submitted in that time."""
    context, caller = met(request)
    whose = caller.chooses(tenant)
    begin = None if since is None else round(since * SECOND)
    end = None if until is None else round(until * SECOND)
    items: list[dict[str, Any]] = []
    if by == "run":
        heads = await context.ask(context.pages.runs, tenant=whose, since=begin, until=end, limit=_RUNS)
        for head in heads:
            total = sum(share.cost for share in await context.ask(context.costs.of_run, head.number, wall_clock()))
            items.append({"key": head.id, "cost": total / UNIT, "charged": total / UNIT, "refunded": 0.0})
    else:
        sums = await context.ask(
            context.costs.sums,
            by,
            tenant=whose,
            since=begin,
            until=end,
            interval=max(MINUTE // 60, round(interval * SECOND)),
        )
        items = [
            {
                "key": str(int(each.key) / SECOND) if by == "interval" else each.key,
                "cost": each.cost / UNIT,
                "charged": each.charged / UNIT,
                "refunded": each.refunded / UNIT,
            }
            for each in sums
        ]
    return answer({"by": by, "total": sum(item["cost"] for item in items), "items": items})
