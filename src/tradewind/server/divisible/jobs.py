"""Divisible jobs, inputs, sites and their tokens, for tenants."""

import secrets
from hashlib import sha256
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.records import Spec
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible import coding, merging, tokens, verbs
from tradewind.live.divisible import statements as sql
from tradewind.live.divisible.book import SqlBook
from tradewind.live.divisible.objects import ObjectError
from tradewind.live.divisible.tokens import SiteToken
from tradewind.model.units import in_seconds, seconds
from tradewind.server import paging
from tradewind.server.auth import Caller, Role
from tradewind.server.context import answer
from tradewind.server.describing import CHANGING
from tradewind.server.divisible import bodies
from tradewind.server.divisible.bodies import REFUSALS
from tradewind.server.divisible.office import Office, asked
from tradewind.server.paging import Cursor, Limit, numbers_of, page
from tradewind.server.problems import Problem, not_found

router = APIRouter(tags=["divisible jobs"], responses=REFUSALS | CHANGING)

Job = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
_LAST = 2**62
_SHOWN = 1 << 20
"""Bytes of a result that are shown; larger ones are fetched from their address."""


@router.post("/jobs", status_code=201)
async def submit(
    request: Request,
    body: bodies.NewJob,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Submit a divisible job; the same key with the same job gives the same one again."""
    office, caller = asked(request, Role.USER)
    tenant = caller.chooses(body.tenant) or "default"
    weight = _weight(request, tenant)
    if body.input and not body.input.startswith(f"inputs/{tenant}/"):
        raise not_found(f"input {body.input!r}")
    try:
        given = await run_in_threadpool(office.objects.keep, body.input) if body.input else ""
    except ObjectError as error:
        raise Problem(422, f"input: {error}") from error
    spec = Spec(
        iterations=body.iterations,
        name=body.name,
        tenant=tenant,
        initial=body.initial,
        maximum=max(body.maximum, body.initial),
        target=None if body.target is None else max(1, seconds(body.target)),
        is_from_start=body.from_start,
        priority=body.priority,
        balancer=body.balancer,
        reducer=body.reducer,
        reduce=body.reduce,
        command=tuple(body.command),
        input=given,
    )
    key = idempotency_key
    id = secrets.token_hex(8) if key is None else sha256(f"{tenant}\n{key}".encode()).hexdigest()[:16]
    shown = await office.ask(lambda turn: verbs.submit(turn, id, spec, weight))
    return answer(shown, 201, {"Location": f"/api/v1/jobs/{id}"})


def _weight(request: Request, tenant: str) -> float:
    """How much a tenant weighs where tenants are kept; elsewhere everybody weighs the same."""
    context = getattr(request.app.state, "context", None)
    if context is None:
        return 1.0
    if tenant not in context.tenants:
        raise not_found(f"tenant {tenant!r}")
    return float(context.tenants[tenant].weight)


@router.post("/inputs", status_code=201)
async def new_input(request: Request) -> Response:
    """An address to which input data can be uploaded, and the key by which a job names it."""
    office, caller = asked(request, Role.USER)
    key = f"inputs/{caller.tenant or 'default'}/{secrets.token_hex(8)}"
    return answer({"key": key, "url": office.objects.address("PUT", key, office.desk.clock())}, 201)


@router.get("/jobs")
async def list_jobs(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Divisible jobs, newest first."""
    office, caller = asked(request)
    before = (numbers_of("jobs", cursor) or (_LAST,))[0]

    def work(turn: Turn) -> list[dict[str, Any]]:
        book = _book(turn)
        rows = book.session.fetch(sql.JOBS_BEFORE, before=before, tenant=caller.tenant or "", limit=limit + 1)
        return [verbs.job_shape(coding.job_of(row), turn.now) for row in rows]

    rows = await office.ask(work)
    return answer(page(rows, limit, lambda row: row, lambda row: paging.cursor("jobs", row["number"])))


@router.get("/jobs/{job}")
async def show(request: Request, job: Job) -> Response:
    """A divisible job, its progress, and when it is expected to end."""
    office, caller = asked(request)
    return answer(await office.ask(lambda turn: verbs.show(turn, job, caller.tenant)))


@router.get("/jobs/{job}/partitions")
async def list_partitions(request: Request, job: Job, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The partitions of a job, oldest first."""
    office, caller = asked(request)
    after = (numbers_of("partitions", cursor) or (-1,))[0]

    def work(turn: Turn) -> list[dict[str, Any]]:
        found = verbs.job_of(turn, job, caller.tenant)
        rows = _book(turn).session.fetch(sql.PARTITIONS_OF, job=found.number, after=after, limit=limit + 1)
        return [verbs.partition_shape(coding.partition_of(row)) for row in rows]

    rows = await office.ask(work)
    return answer(page(rows, limit, lambda row: row, lambda row: paging.cursor("partitions", row["number"])))


@router.post("/jobs/{job}/cancel", status_code=202)
async def cancel(request: Request, job: Job) -> Response:
    """End a job."""
    office, caller = asked(request, Role.USER)
    return answer(await office.ask(lambda turn: verbs.cancel(turn, job, caller.tenant)), 202)


@router.get("/jobs/{job}/results")
async def results(request: Request, job: Job) -> Response:
    """The merged result of a job that is done; merged when it is first asked for."""
    office, caller = asked(request)
    shown = await office.ask(lambda turn: verbs.show(turn, job, caller.tenant))
    if shown["state"] != "done":
        raise Problem(409, f"the job is {shown['state']}: {shown['progress']:.1%} delivered")
    try:
        key, content = await run_in_threadpool(_result, office, job, shown)
    except (Refused, ObjectError) as error:
        raise Problem(409, str(error)) from error
    told = {"job": job, "reducer": shown["reducer"], "url": office.objects.address("GET", key, office.desk.clock())}
    try:
        return answer(told | {"result": orjson.loads(content)})
    except orjson.JSONDecodeError:
        return answer(told | {"result": None})


def _result(office: Office, job: str, shown: dict[str, Any]) -> tuple[str, bytes]:
    """The name of a job's result, and what can be shown of it."""
    key = merging.settle(office.desk, office.objects, job, shown["number"], shown["reducer"])
    return key, office.objects.read(key) if office.objects.size(key) <= _SHOWN else b"null"


@router.get("/sites")
async def list_sites(request: Request) -> Response:
    """Sites that serve the caller."""
    office, caller = asked(request)

    def work(turn: Turn) -> list[dict[str, Any]]:
        found = [site for site in turn.book.sites(0) if _serves(caller, site.tenants)]
        is_active = turn.now - turn.settings.inactive
        return [verbs.site_shape(site) | {"active": site.updated >= is_active} for site in found]

    return answer({"items": await office.ask(work), "next": None})


def _serves(caller: Caller, tenants: tuple[str, ...]) -> bool:
    return caller.tenant is None or not tenants or caller.tenant in tenants


@router.post("/site-tokens", status_code=201)
async def new_token(request: Request, body: bodies.NewToken) -> Response:
    """A token that lets one site in; it is shown once. A tenant's site serves that tenant alone."""
    office, caller = asked(request, Role.USER)
    tenants = tuple(body.tenants)
    if caller.tenant is not None:
        if any(tenant != caller.tenant for tenant in tenants):
            raise Problem(403, "a site for other tenants needs the role 'admin'")
        tenants = (caller.tenant,)

    def work(turn: Turn) -> dict[str, Any]:
        for other in tokens.every(turn):
            if other.site == body.site and other.owner != caller.tenant:
                raise Refused("conflict", f"another site is called {body.site!r}; choose another name")
        expires = None if body.expires_in is None else turn.now + seconds(body.expires_in)
        token, row = tokens.make(turn, body.site, tenants, caller.tenant, expires)
        return _token_shape(row) | {"token": token}

    return answer(await office.ask(work), 201)


@router.get("/site-tokens")
async def list_tokens(request: Request) -> Response:
    """The caller's site tokens."""
    office, caller = asked(request, Role.USER)
    rows = await office.ask(lambda turn: [row for row in tokens.every(turn) if caller.tenant in (None, row.owner)])
    return answer({"items": [_token_shape(row) for row in rows], "next": None})


@router.delete("/site-tokens/{token}", status_code=204)
async def delete_token(request: Request, token: Annotated[str, Path(max_length=40)]) -> Response:
    """Let a site in no longer."""
    office, caller = asked(request, Role.USER)

    def work(turn: Turn) -> None:
        if not any(row.id == token and caller.tenant in (None, row.owner) for row in tokens.every(turn)):
            raise Refused("unknown", f"there is no site token {token!r}")
        tokens.drop(turn, token)

    await office.ask(work)
    return Response(status_code=204)


def _token_shape(row: SiteToken) -> dict[str, Any]:
    return {
        "id": row.id,
        "site": row.site,
        "tenants": list(row.tenants),
        "owner": row.owner,
        "created": in_seconds(row.created),
        "expires": None if row.expires is None else in_seconds(row.expires),
    }


def _book(turn: Turn) -> SqlBook:
    assert isinstance(turn.book, SqlBook)  # noqa: S101  a desk has no other
    return turn.book
