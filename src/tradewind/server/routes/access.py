"""Tenants, tokens and the audit log: who may do what, and who did."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

import tradewind
from tradewind.live.facts import SetTenant
from tradewind.live.loop import wall_clock
from tradewind.live.store.access import AuditRow, TenantRow
from tradewind.model.units import SECOND, UNIT, parse_duration
from tradewind.server import people, schemas, shapes
from tradewind.server.auth import Role, new_token
from tradewind.server.context import Context, answer, met, new_tenant
from tradewind.server.describing import CHANGING, READING
from tradewind.server.paging import Cursor, Limit, cursor, numbers_of, page
from tradewind.server.problems import Problem, not_found
from tradewind.server.routes.agents import revoke

router = APIRouter(tags=["access"])

TokenId = Annotated[str, Path(alias="token", max_length=40)]
_LONGEST = 3650 * 24 * 3600 * SECOND


@router.get("/whoami", response_model=people.Who, responses=READING)
async def who_am_i(request: Request) -> Response:
    """Who asks, and what answers."""
    _, caller = met(request)
    shown = {"token": caller.token, "tenant": caller.tenant, "role": caller.role.word}
    return answer(shown | {"server": tradewind.__version__})


# Tenants


@router.get("/tenants", response_model=schemas.Page[people.Tenant], responses=READING)
async def list_tenants(request: Request) -> Response:
    """All tenants that the caller may see, by name."""
    context, caller = met(request)
    rows = [row for name, row in sorted(context.tenants.items()) if caller.sees(name)]
    return answer({"items": await _shown(context, rows), "next": None})


@router.get("/tenants/{tenant}", response_model=people.Tenant, responses=READING)
async def get_tenant(request: Request, tenant: schemas.Name) -> Response:
    """A tenant."""
    context, caller = met(request)
    (shown,) = await _shown(context, [context.tenant(caller, tenant)])
    return answer(shown)


@router.put(
    "/tenants/{tenant}",
    response_model=people.Tenant,
    responses=CHANGING | {201: {"model": people.Tenant, "description": "The tenant is new."}},
)
async def put_tenant(request: Request, tenant: schemas.Name, body: people.TenantChange) -> Response:
    """Make a tenant, or change what it may do; it counts from now on."""
    context, _ = met(request, Role.ADMIN)
    async with context.changing:
        old = context.tenants.get(tenant)
        new = _changed(context, tenant, old, body)
        await context.ask(context.access.put_tenant, new)
        await context.service.tell(SetTenant(new.tenant))
        context.tenants[tenant] = new
    (shown,) = await _shown(context, [new])
    return answer(shown, 201 if old is None else 200)


def _changed(context: Context, name: str, old: TenantRow | None, body: people.TenantChange) -> TenantRow:
    given = body.model_dump(exclude_unset=True)
    row = old or new_tenant(name, context.settings.tenants)
    if "interval" in given:
        given["interval"] = span(given["interval"], "interval") or row.interval
    if given.get("budget") is not None:
        given["budget"] = round(given["budget"] * UNIT)
    if "weight" in given and given["weight"] is None:
        del given["weight"]
    return row._replace(**given)


@router.delete("/tenants/{tenant}", status_code=204, response_class=Response, responses=CHANGING)
async def delete_tenant(request: Request, tenant: schemas.Name) -> Response:
    """Forget a tenant that has neither active runs nor machines, and its tokens; what has ended stays."""
    context, caller = met(request, Role.ADMIN)
    async with context.changing:
        context.tenant(caller, tenant)
        load = context.service.loads.get(tenant)
        pool = context.service.state.by_name.get(tenant)
        if (load is not None and load.runs) or (pool is not None and any(fleet.machines for fleet in pool.fleets)):
            raise Problem(409, f"tenant {tenant!r} has active runs or machines")
        if tenant == "default":
            raise Problem(409, "the tenant 'default' stays")
        await context.ask(context.access.drop_tenant, tenant)
        rows = [row for row in await context.ask(context.agent_tokens.every) if row.owner == tenant]
        for row in rows:
            await revoke(context, row)
        del context.tenants[tenant]
        context.tokens.forget()
    return Response(status_code=204)


async def _shown(context: Context, rows: list[TenantRow]) -> list[shapes.Plain]:
    spent = await context.ask(context.pages.spent)
    service = context.service
    shown = []
    for row in rows:
        pool, load = service.state.by_name.get(row.name), service.loads.get(row.name)
        charged, refunded = spent.get(row.name, (0, 0))
        has_budget = pool is not None and pool.account.budget is not None
        left = (
            max(0, pool.account.available(max(service.state.now, wall_clock()))) / UNIT if pool and has_budget else None
        )
        shown.append(
            shapes.limits(row)
            | {
                "active_runs": load.runs if load else 0,
                "active_tasks": load.units if load else 0,
                "spent_total": (charged - refunded) / UNIT,
                "remaining": left,
            }
        )
    return shown


# Tokens


@router.get("/tokens", response_model=schemas.Page[people.Token], responses=READING)
async def list_tokens(request: Request) -> Response:
    """All tokens; who is no administrator sees the own one."""
    context, caller = met(request)
    rows = await context.ask(context.access.tokens)
    seen = [row for row in rows if caller.role == Role.ADMIN or row.id == caller.token]
    return answer({"items": [shapes.token(row) for row in seen], "next": None})


@router.post("/tokens", status_code=201, response_model=people.MadeToken, responses=CHANGING)
async def make_token(request: Request, body: people.NewToken) -> Response:
    """Make a token; it is shown this once."""
    context, _ = met(request, Role.ADMIN)
    role = Role[body.role.upper()]
    if body.tenant is not None and body.tenant not in context.tenants:
        raise not_found(f"tenant {body.tenant!r}")
    if body.tenant is None and role == Role.USER:
        raise Problem(422, "a user's token belongs to a tenant", type="/problems/request")
    if body.tenant is not None and role == Role.ADMIN:
        raise Problem(422, "an administrator's token belongs to no tenant", type="/problems/request")
    now = wall_clock()
    life = span(body.expires_in, "expires_in")
    if life is not None and not 0 < life <= _LONGEST:
        raise Problem(422, "a token expires within ten years, or never", type="/problems/request")
    token, row = new_token(body.name, role, body.tenant, now=now, expires=None if life is None else now + life)
    await context.ask(context.access.put_token, row)
    return answer(shapes.token(row) | {"token": token}, 201)


@router.delete("/tokens/{token}", status_code=204, response_class=Response, responses=CHANGING)
async def revoke_token(request: Request, token: TokenId) -> Response:
    """Revoke a token at once; everybody may revoke the own one."""
    context, caller = met(request)
    if caller.token != token:
        caller.must_be(Role.ADMIN)
    if not await context.ask(context.access.drop_token, token):
        raise not_found(f"token {token!r}")
    context.tokens.forget(token)
    return Response(status_code=204)


# The audit log


@router.get("/audit", response_model=schemas.Page[people.AuditEntry], responses=READING)
async def list_audit(request: Request, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Who changed what, or tried to, newest first."""
    context, caller = met(request)
    caller.must_be(Role.ADMIN)
    before = numbers_of("audit", cursor)
    await context.ask(context.audit.write)
    rows = await context.ask(context.access.audit, before[0] if before else None, limit + 1)
    return answer(page(rows, limit, shapes.entry, _mark))


def _mark(row: AuditRow) -> str:
    return cursor("audit", row.number)


def span(value: float | str | None, name: str) -> int | None:
    """A duration as it was given."""
    if value is None:
        return None
    try:
        return parse_duration(value)
    except ValueError as error:
        raise Problem(422, f"{name}: {error}", type="/problems/request") from None
