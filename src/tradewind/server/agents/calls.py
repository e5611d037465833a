"""The calls of agents: register, take orders and report, leave."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

import tradewind
from tradewind.live.engines.pull import Description, Key, PullEngine, ReplacedError, UnknownAgentError
from tradewind.live.facts import Drain
from tradewind.live.order_json import PROTOCOL, MalformedError, end_of
from tradewind.live.port import Broke, Done
from tradewind.live.store.agent_tokens import AgentToken
from tradewind.server.agents import bodies, files
from tradewind.server.context import Context, answer, context_of
from tradewind.server.describing import CHANGING, FETCHING, READING
from tradewind.server.problems import Problem

router = APIRouter(tags=["agents"])

Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Session = Annotated[str, Query(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Attempt = Annotated[str, Path(pattern=r"^[0-9]{1,18}\.[0-9]{1,9}$")]
_SHORTEST = 0.05
"""Seconds that a call may wait, at least."""


@router.get("/agent", responses=READING)
async def which_agent(request: Request) -> Response:
    """Return the agent that a token is for."""
    row = _token(request)
    shown = {"agent": row.agent, "tenants": list(row.tenants), "protocol": PROTOCOL}
    return answer(shown | {"server": tradewind.__version__})


@router.put("/agents/{agent}", responses=CHANGING)
async def put_agent(request: Request, agent: Name, body: bodies.Registration) -> Response:
    """Register an agent, or change what it offers. The answer says how many machines are wanted."""
    context, engine, row = _met(request)
    if body.protocol != PROTOCOL:
        raise Problem(
            409,
            f"this server ({tradewind.__version__}) speaks agent protocol {PROTOCOL}, the agent "
            f"({body.version or 'of unknown version'}) speaks {body.protocol}; "
            f"install tradewind {tradewind.__version__} on the agent's machine",
            type="/problems/protocol",
        )
    if any(type.name == agent for type in context.service.settings.machines):
        raise Problem(409, f"a machine type is called {agent!r}; create a token for another name")
    type = body.machine.type(agent, max(body.max_slots, len(body.slots)))
    engine.register(
        agent, Description(body.session, row.id, type, tuple(sorted(set(body.slots))), row.tenants, body.version)
    )
    if body.draining:
        for machine in engine.machines(agent):
            await context.service.tell(Drain(machine))
    return answer({"agent": agent, "hint": engine.hint(agent), "wait": _longest(engine), "silence": engine.silence})


@router.post("/agents/{agent}/orders", responses=CHANGING)
async def take_orders(request: Request, agent: Name, body: bodies.Call) -> Response:
    """Report what an agent holds, and wait for something to do."""
    context, engine, _ = _met(request)
    try:
        ends = await _ends(context, engine, agent, body)
        held = [(unit, attempt) for unit, attempt in body.held]
        told = await engine.call(agent, body.session, body.serial, held, ends, min(body.wait, _longest(engine)))
    except (UnknownAgentError, ReplacedError, MalformedError) as error:
        raise _problem(error) from None
    return answer({"orders": told.orders, "drop": [list(each) for each in told.drop], "hint": engine.hint(agent)})


@router.delete("/agents/{agent}", status_code=204, response_class=Response, responses=CHANGING)
async def delete_agent(request: Request, agent: Name, session: Session) -> Response:
    """Leave: what the agent still holds runs again elsewhere."""
    _, engine, _ = _met(request)
    try:
        engine.duty(agent, session, (-1, -1))
    except (UnknownAgentError, ReplacedError) as error:
        raise _problem(error) from None
    engine.leave(agent, "its agent has ended")
    return Response(status_code=204)


@router.get("/agents/{agent}/attempts/{attempt}/inputs/{index}", response_class=Response, responses=FETCHING)
async def fetch_input(
    request: Request, agent: Name, attempt: Attempt, index: Annotated[int, Path(ge=0, le=10**6)], session: Session
) -> Response:
    """Return a file that an attempt needs, by its place in the order."""
    context, engine, _ = _met(request)
    try:
        duty = engine.duty(agent, session, _key(attempt))
    except (UnknownAgentError, ReplacedError) as error:
        raise _problem(error) from None
    if duty is None or index >= len(duty.files):
        raise Problem(404, f"attempt {attempt} has no input {index} for this agent")
    return await files.sent(context, _key(attempt), duty.files[index])


@router.put("/agents/{agent}/attempts/{attempt}/files/{path:path}", status_code=204, responses=CHANGING)
async def store_file(
    request: Request, agent: Name, attempt: Attempt, path: Annotated[str, Path(max_length=4096)], session: Session
) -> Response:
    """Store a file that an attempt has left, before its end is reported."""
    context, engine, _ = _met(request)
    try:
        duty = engine.duty(agent, session, _key(attempt))
    except (UnknownAgentError, ReplacedError) as error:
        raise _problem(error) from None
    if duty is None:
        raise Problem(404, f"attempt {attempt} is not held by this agent")
    await files.kept(context, _key(attempt), path, request.stream())
    return Response(status_code=204)


async def _ends(context: Context, engine: PullEngine, agent: str, body: bodies.Call) -> list[Done | Broke]:
    """The ends of attempts that the agent was given, with their small files stored; others are ignored."""
    found: list[Done | Broke] = []
    for data in body.ends:
        small = data.pop("files", {})
        end = end_of(data, -1)
        key = (end.unit, end.attempt)
        if engine.duty(agent, body.session, key) is None:
            continue
        if small:
            await files.kept_small(context, key, small)
        found.append(end)
    return found


def _met(request: Request) -> tuple[Context, PullEngine, AgentToken]:
    context = context_of(request)
    engine = context.service.agents
    if engine is None or not context.service.is_running:
        raise Problem(503, "the server is starting or stopping; try again in a moment", headers={"Retry-After": "1"})
    return context, engine, _token(request)


def _token(request: Request) -> AgentToken:
    row = request.state.agent
    assert isinstance(row, AgentToken)  # noqa: S101  put there by the door
    return row


def _key(attempt: str) -> Key:
    unit, _, number = attempt.partition(".")
    return int(unit), int(number)


def _longest(engine: PullEngine) -> float:
    """Seconds that a call may wait: an agent must call again before it counts as silent."""
    return max(_SHORTEST, min(20.0, engine.silence / 3))


def _problem(error: Exception) -> Problem:
    if isinstance(error, UnknownAgentError):
        return Problem(404, f"{error}; register it again")
    if isinstance(error, ReplacedError):
        return Problem(409, str(error), type="/problems/replaced")
    return Problem(422, str(error), type="/problems/request")


def shown(engine: PullEngine | None, tenant: str | None) -> list[dict[str, Any]]:
    """The agents that serve a tenant, or all of them."""
    return [
        {
            "agent": name,
            "machines": machines,
            "slots": len(described.slots),
            "max_slots": described.type.limit,
            "wanted": engine.hint(name) if engine is not None else None,
            "running": attempts,
            "capabilities": sorted(described.type.capabilities),
            "amounts": dict(described.type.amounts),
            "tenants": list(described.tenants),
            "version": described.version,
        }
        for name, described, machines, attempts in (engine.agents if engine is not None else ())
        if tenant is None or not described.tenants or tenant in described.tenants
    ]
