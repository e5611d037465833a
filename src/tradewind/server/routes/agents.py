"""Agents that have joined, and the tokens that let them in."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from tradewind.live.loop import wall_clock
from tradewind.live.store.agent_tokens import AgentToken, NameTakenError
from tradewind.model.units import in_seconds, seconds
from tradewind.server.agents.bodies import NewAgentToken
from tradewind.server.agents.calls import shown
from tradewind.server.auth import Role
from tradewind.server.context import Context, answer, met
from tradewind.server.describing import CHANGING, READING
from tradewind.server.problems import Problem, not_found

router = APIRouter(tags=["agents"])

REVOKED = "its token was revoked"


@router.get("/agents", responses=READING)
async def list_agents(request: Request) -> Response:
    """List the agents that are connected and serve the caller."""
    context, caller = met(request)
    return answer({"items": shown(context.service.agents, caller.tenant), "next": None})


@router.post("/agent-tokens", status_code=201, responses=CHANGING)
async def new_token(request: Request, body: NewAgentToken) -> Response:
    """Create a token that lets one agent in; it is shown once. A tenant's agent serves that tenant alone."""
    context, caller = met(request, Role.USER)
    tenants = tuple(body.tenants)
    if caller.tenant is not None:
        if any(tenant != caller.tenant for tenant in tenants):
            raise Problem(403, "an agent for other tenants needs the role 'admin'")
        tenants = (caller.tenant,)
    for tenant in tenants:
        if tenant not in context.tenants:
            raise not_found(f"tenant {tenant!r}")
    now = wall_clock()
    expires = None if body.expires_in is None else now + seconds(body.expires_in)
    try:
        token, row = await context.ask(
            context.agent_tokens.make, body.agent, tenants, caller.tenant, now=now, expires=expires
        )
    except NameTakenError as error:
        raise Problem(409, str(error)) from None
    return answer(_shape(row) | {"token": token}, 201)


@router.get("/agent-tokens", responses=READING)
async def list_tokens(request: Request) -> Response:
    """List the caller's tokens for agents."""
    context, caller = met(request, Role.USER)
    rows = await context.ask(context.agent_tokens.every)
    return answer({"items": [_shape(row) for row in rows if caller.tenant in (None, row.owner)], "next": None})


@router.delete("/agent-tokens/{token}", status_code=204, response_class=Response, responses=CHANGING)
async def delete_token(request: Request, token: Annotated[str, Path(max_length=40)]) -> Response:
    """Revoke a token: its agent is dropped, and what it held runs again elsewhere. The agent's name stays reserved."""
    context, caller = met(request, Role.USER)
    rows = await context.ask(context.agent_tokens.every)
    row = next((row for row in rows if row.id == token and caller.tenant in (None, row.owner)), None)
    if row is None:
        raise not_found(f"agent token {token!r}")
    await revoke(context, row)
    return Response(status_code=204)


async def revoke(context: Context, row: AgentToken) -> None:
    """Let an agent in no longer by a token, and drop it if it came by that one."""
    await context.ask(context.agent_tokens.revoke, row)
    if context.service.agents is not None:
        context.service.agents.revoke(row.id, REVOKED)


def _shape(row: AgentToken) -> dict[str, Any]:
    return {
        "id": row.id,
        "agent": row.agent,
        "tenants": list(row.tenants),
        "owner": row.owner,
        "created": in_seconds(row.created),
        "expires": None if row.expires is None else in_seconds(row.expires),
    }
