"""What whoever reduces the results of a job calls; the server itself runs nothing that a job brings along."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from tradewind.live.divisible import merging, verbs
from tradewind.live.divisible.objects import ObjectError
from tradewind.server.context import answer
from tradewind.server.divisible import bodies
from tradewind.server.divisible.bodies import REFUSALS
from tradewind.server.divisible.office import Office, bearer, office_of
from tradewind.server.divisible.worker import Job, Number
from tradewind.server.problems import Problem

router = APIRouter(responses=REFUSALS, tags=["partitions"])


@router.get("/jobs/{job}/partitions/{partition}/results")
async def results(request: Request, job: Job, partition: Number) -> Response:
    """The results of a job in the order of iterations, for the partition that reduces them: values, or addresses."""
    office, lease = office_of(request), bearer(request)
    found = await office.ask(lambda turn: verbs.reducing(turn, job, partition, lease))
    return answer({"results": await run_in_threadpool(_all_shown, office, found.number)})


def _all_shown(office: Office, job: int) -> list[dict[str, Any]]:
    now = office.desk.clock()
    with merging.pieces(office.desk, job) as pieces:
        return [_shown(office, piece.result, now) for piece in pieces]


def _shown(office: Office, result: dict[str, Any], now: int) -> dict[str, Any]:
    if "object" not in result:
        return {"inline": result["inline"]}
    return {"object": result["object"], "url": office.objects.address("GET", result["object"], now)}


@router.post("/jobs/{job}/partitions/{partition}/reduced")
async def reduced(request: Request, job: Job, partition: Number, body: bodies.Upload) -> Response:
    """The result has been uploaded as this delivery: the job is done."""
    office, lease = office_of(request), bearer(request)
    shown = await office.ask(lambda turn: verbs.show(turn, job, None))
    if shown["state"] == "reducing":
        await office.ask(lambda turn: verbs.reducing(turn, job, partition, lease))
        await run_in_threadpool(_keep, office, job, f"results/{job}/{partition}/{body.number}")
    return answer(await office.ask(lambda turn: verbs.reduced(turn, job, partition, lease)))


def _keep(office: Office, job: str, key: str) -> None:
    try:
        office.objects.write(merging.merged_key(job), office.objects.read(key))
    except ObjectError as error:
        raise Problem(422, f"number: {error}") from error
