"""What sites and their workers call: documented in `docs/worker-protocol.md`."""

import secrets
from collections.abc import Mapping
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Given
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible import tokens, verbs
from tradewind.live.divisible.objects import ObjectError
from tradewind.live.divisible.tokens import SiteToken
from tradewind.live.divisible.verbs import Handed
from tradewind.model.units import in_seconds, seconds
from tradewind.server.context import answer
from tradewind.server.divisible import bodies
from tradewind.server.divisible.bodies import REFUSALS
from tradewind.server.divisible.office import Office, bearer, office_of
from tradewind.server.problems import Problem

router = APIRouter(responses=REFUSALS)

Site = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Job = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Number = Annotated[int, Path(ge=0, le=10**12)]

_LARGEST_RESULT = 256 << 10
"""Bytes of a result that is not uploaded."""


def _entered(turn: Turn, site: str, token: str) -> SiteToken:
    """The token of a site; one of another site is as good as none."""
    found = tokens.known(turn, token)
    if found is None or found.site != site:
        raise Refused("denied", "the token is not known, has expired, or is another site's")
    return found


@router.get("/site", tags=["sites"])
async def which_site(request: Request) -> Response:
    """Which site a token is for."""
    token = bearer(request)

    def work(turn: Turn) -> dict[str, Any]:
        found = tokens.known(turn, token)
        if found is None:
            raise Refused("denied", "the token is not known, or has expired")
        return {"site": found.site, "tenants": list(found.tenants)}

    return answer(await office_of(request).ask(work))


@router.put("/sites/{site}", tags=["sites"])
async def put_site(request: Request, site: Site, body: bodies.SiteState) -> Response:
    """Register a site, or tell how many slots it has; the answer says how many it should have."""
    office, token = office_of(request), bearer(request)

    def work(turn: Turn) -> dict[str, Any]:
        row = _entered(turn, site, token)
        return verbs.register(turn, site, body.slots, body.max_slots, row.tenants) | _times(office)

    return answer(await office.ask(work))


def _times(office: Office) -> dict[str, float]:
    """How often to call."""
    settings = office.desk.settings
    return {"update_every": in_seconds(settings.step // 10), "poll_every": in_seconds(settings.floor // 2)}


@router.delete("/sites/{site}", status_code=204, tags=["sites"])
async def delete_site(request: Request, site: Site) -> Response:
    """Disconnect a site; its partitions go on until they finish or fall silent."""
    office, token = office_of(request), bearer(request)

    def work(turn: Turn) -> None:
        _entered(turn, site, token)
        verbs.disconnect(turn, site)

    await office.ask(work)
    return Response(status_code=204)


@router.post("/sites/{site}/fetch", tags=["sites"])
async def fetch(request: Request, site: Site, body: bodies.Fetch) -> Response:
    """Ask for partitions for free slots."""
    office, token = office_of(request), bearer(request)
    leases = [f"twl_{secrets.token_urlsafe(24)}" for _ in range(body.slots)]

    def work(turn: Turn) -> dict[str, Any]:
        _entered(turn, site, token)
        shown, handed = verbs.fetch(turn, site, body.key, leases, reduces=body.reduces)
        return shown | _times(office) | {"partitions": [_handed(office, each, turn.now) for each in handed]}

    return answer(await office.ask(work))


def _handed(office: Office, handed: Handed, now: int) -> dict[str, Any]:
    spec, partition = handed.job.spec, handed.partition
    return {
        "job": handed.job.id,
        "name": spec.name,
        "tenant": spec.tenant,
        "partition": partition.number,
        "lease": partition.lease,
        "path": f"/worker/v1/jobs/{handed.job.id}/partitions/{partition.number}",
        "command": list(spec.command),
        "iterations": spec.iterations,
        "input": office.objects.address("GET", spec.input, now) if spec.input else None,
        "reduce": {spec.reducer: spec.reduce} if partition.number == handed.job.reducing else None,
    }


@router.post("/sites/{site}/reports", tags=["sites"])
async def report_many(request: Request, site: Site, body: bodies.ManyProgress) -> Response:
    """Report for many partitions of a site at once; each has an answer of its own, or says why it was refused."""
    office, token = office_of(request), bearer(request)
    uploads = [each for each in body.reports if has_objects(each)]
    if uploads:
        await office.ask(lambda turn: _check_own(turn, site, token, uploads))
    results_of = [
        given(each, await kept(office, each.job, each.partition, each) if has_objects(each) else {})
        for each in body.reports
    ]

    def work(turn: Turn) -> list[dict[str, Any]]:
        _entered(turn, site, token)
        found = []
        for each, results in zip(body.reports, results_of, strict=True):
            try:
                told = verbs.report(turn, each.job, each.partition, "", each.done, seconds(each.elapsed), results, site)
            except Refused as refused:
                told = {"next": "end", "refused": refused.why, "detail": str(refused)}
            found.append(told)
        return found

    return answer({"answers": await office.ask(work)})


def _check_own(turn: Turn, site: str, token: str, reports: list[bodies.SlotProgress]) -> None:
    """Refuse what a site reports of partitions that are not its own."""
    _entered(turn, site, token)
    for each in reports:
        found = turn.book.partition(verbs.job_of(turn, each.job).number, each.partition)
        if found is None or found.site != site:
            raise Refused("unknown", f"job {each.job} has no partition {each.partition} on this site")


@router.post("/jobs/{job}/partitions/{partition}/start", response_model=bodies.Ranges, tags=["partitions"])
async def start(request: Request, job: Job, partition: Number) -> Response:
    """Begin a partition."""
    lease = bearer(request)
    return _told(request, await office_of(request).ask(lambda turn: verbs.start(turn, job, partition, lease)))


@router.post("/jobs/{job}/partitions/{partition}/report", response_model=bodies.Ranges, tags=["partitions"])
async def report(request: Request, job: Job, partition: Number, body: bodies.Progress) -> Response:
    """Tell how far a partition is, and deliver results."""
    office, lease = office_of(request), bearer(request)
    names = {}
    if has_objects(body):
        await office.ask(lambda turn: verbs.is_open(turn, job, partition, lease))
        names = await kept(office, job, partition, body)
    results = given(body, names)
    elapsed = seconds(body.elapsed)
    told = await office.ask(lambda turn: verbs.report(turn, job, partition, lease, body.done, elapsed, results))
    return _told(request, told)


def _told(request: Request, told: dict[str, Any]) -> Response:
    """What a partition is to do: as JSON, or line by line for shells."""
    if request.headers.get("accept") != "text/plain":
        return answer(told)
    return Response(verbs.answer_lines(told), media_type="text/plain")


@router.post("/jobs/{job}/partitions/{partition}/finish", tags=["partitions"])
async def finish(request: Request, job: Job, partition: Number, body: bodies.Ending | None = None) -> Response:
    """End a partition; what it holds goes back."""
    lease = bearer(request)
    failure = body.failure if body else ""
    return answer(await office_of(request).ask(lambda turn: verbs.finish(turn, job, partition, lease, failure)))


@router.post("/jobs/{job}/partitions/{partition}/uploads", tags=["partitions"])
async def upload(request: Request, job: Job, partition: Number, body: bodies.Upload) -> Response:
    """An address to which the result of a delivery can be uploaded, and the key by which it is then delivered."""
    office, lease = office_of(request), bearer(request)

    def work(turn: Turn) -> dict[str, Any]:
        verbs.is_open(turn, job, partition, lease)
        key = f"results/{job}/{partition}/{body.number}"
        return {"key": key, "url": office.objects.address("PUT", key, turn.now)}

    return answer(await office.ask(work))


def has_objects(body: bodies.Progress) -> bool:
    """Whether a report delivers what was uploaded."""
    return any(each.object for each in body.deliveries)


async def kept(office: Office, job: str, partition: int, body: bodies.Progress) -> dict[str, str]:
    """Under which names what was uploaded for a report can change no more; what was not is refused."""
    found = {}
    for each in body.deliveries:
        if not each.object:
            continue
        if each.object != f"results/{job}/{partition}/{each.number}":
            raise Problem(422, "object: not the key that was given out for this delivery")
        try:
            found[each.object] = await run_in_threadpool(office.objects.keep, each.object)
        except ObjectError as error:
            raise Problem(409, str(error)) from error
    return found


def given(body: bodies.Progress, names: Mapping[str, str]) -> list[Given]:
    """The deliveries of a report, objects by the names under which they are kept; refused if they do not fit."""
    found = []
    for each in body.deliveries:
        content = {"object": names[each.object]} if each.object else {"inline": each.result}
        try:
            text = orjson.dumps(content).decode()
        except TypeError as error:
            raise Problem(422, f"the result cannot be kept ({error})") from error
        if len(text) > _LARGEST_RESULT:
            raise Problem(413, f"a result of more than {_LARGEST_RESULT >> 10} KB must be uploaded")
        found.append(Given(each.number, each.ranges, text, each.checkpoint))
    return found
