"""The application: routes, gate and background work put together, and a process around it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

import tradewind
from tradewind.formats.load import load_machines
from tradewind.live.artefacts import Artefacts
from tradewind.live.folder import RUNS
from tradewind.live.host import this_host
from tradewind.live.indexing import Indexer
from tradewind.live.loop import wall_clock
from tradewind.live.port import Engine, Listener
from tradewind.live.service import Service
from tradewind.live.service import Settings as ServiceSettings
from tradewind.live.store.access import Access, TenantRow
from tradewind.live.store.agent_tokens import AgentTokens
from tradewind.live.store.money import Costs
from tradewind.live.store.open import open_store
from tradewind.live.store.pages import Pages
from tradewind.live.store.readers import Readers
from tradewind.live.store.searching import Searcher
from tradewind.live.store.sql import SqlStore
from tradewind.model.errors import TradewindError
from tradewind.model.machine import Billing, MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.policies.registry import build
from tradewind.server import problems
from tradewind.server.agents.app import ToAgents, agent_application
from tradewind.server.audit import Audit
from tradewind.server.auth import Role, Tokens, new_token
from tradewind.server.background import Background
from tradewind.server.connections import connections
from tradewind.server.context import Context, new_tenant
from tradewind.server.limits import Gate
from tradewind.server.metrics import Metrics
from tradewind.server.owners import Owners
from tradewind.server.routes import (
    access,
    agents,
    cost,
    events,
    explain,
    files,
    health,
    machines,
    moved,
    runs,
    search,
    submit,
    tasks,
)
from tradewind.server.schemas import ProblemDocument, Submission
from tradewind.server.settings import Settings
from tradewind.server.shares.door import Door
from tradewind.server.shares.routes import application as share_application
from tradewind.server.stream import Stream
from tradewind.server.tallies import Tallies
from tradewind.sim.traces.playing import leases_of

API = "/api/v1"
_TURN = 5 * SECOND
Say = Callable[[str], None]


def prepared(settings: Settings, say: Say, engine: Callable[[Listener], Engine] | None = None) -> Context:
    """Everything a server consists of, opened but not started; work is run by processes here, or by another engine."""
    store = open_store(settings.store, durability=settings.server.durability)
    if not isinstance(store, SqlStore):
        raise TradewindError("a server needs a store in a file or in PostgreSQL")
    readers = Readers(store.url)
    pages, accesses = Pages(readers), Access(store, readers)
    tenants = _tenants(accesses, settings)

    def tenants_now() -> list[Tenant]:
        rows = _tenants(accesses, settings)
        tenants.clear()
        tenants.update(rows)
        return [row.tenant for row in rows.values()]

    types = load_machines(settings.machines.file) if settings.machines.file else (_this_host(),)
    policy = settings.policy.name
    metrics = Metrics(policy)
    service = Service(
        ServiceSettings(
            folder=settings.server.folder.resolve(),
            machines=tuple(types),
            tenants=tuple(row.tenant for row in tenants.values()),
            policy=build(policy, settings.policy.parameters),
            interval=settings.policy.interval,
            quantum=settings.policy.quantum,
            accepts_unknown=settings.machines.accept_unknown,
            modules=settings.server.modules or (str(Path.cwd()),),
            grace=settings.server.grace,
            engine=engine,
            objects=settings.divisible.objects,
            share_silence=settings.divisible.silence,
            leases=leases_of(types),
            outlives=settings.machines.outlive,
            unattended=settings.machines.unattended,
            tenants_now=tenants_now,
            silence=settings.agents.silence,
        ),
        store,
        sinks=[metrics.sink_for],
        on_trouble=say,
    )
    service.on_timed.append(metrics.turned)
    tokens = Tokens(accesses)
    owners = Owners(pages, service.state)
    context = Context(
        settings=settings,
        store=store,
        service=service,
        pages=pages,
        access=accesses,
        agent_tokens=AgentTokens(store, readers),
        searcher=Searcher(readers),
        costs=Costs(readers, {type.name: type.slots for type in types}),
        tokens=tokens,
        audit=Audit(accesses, tokens, settings.server.failed_rate),
        metrics=metrics,
        stream=Stream(pages, owners),
        tallies=Tallies(),
        artefacts=Artefacts(settings.server.folder.resolve() / RUNS, settings.artefacts.url),
        indexer=Indexer(store, pages),
        readers=readers,
        tenants=tenants,
        policy=policy,
    )
    context.stream.ask = context.ask
    return context


def _tenants(access: Access, settings: Settings) -> dict[str, TenantRow]:
    """All tenants; there is always one by the name of `default`."""
    rows = {row.name: row for row in access.tenants()}
    if "default" not in rows:
        given = settings.tenants
        row = new_tenant("default", given)
        access.put_tenant(row)
        rows["default"] = row
    return rows


def _this_host() -> MachineType:
    """This host, in turns of a few seconds, for tenants share no machine."""
    return replace(this_host(), billing=Billing(period=_TURN))


def first_token(context: Context) -> str | None:
    """A token for the first administrator; None: there are tokens already."""
    if context.access.tokens():
        return None
    token, row = new_token("first administrator", Role.ADMIN, None, now=wall_clock())
    context.access.put_token(row)
    return token


def application(context: Context, say: Say = lambda _: None) -> FastAPI:
    """The routes over a context, and what goes on beside them."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        background = Background(context, say)
        background.start()
        try:
            yield
        finally:
            await background.stop()

    app = FastAPI(
        title="Tradewind",
        version=tradewind.__version__,
        summary="Runs workloads of workflows on rented machines within a budget.",
        lifespan=life,
        redoc_url=None,
        redirect_slashes=False,
        docs_url="/docs",
        separate_input_output_schemas=False,
    )
    app.state.context = context
    app.state.agents = agent_application(context)
    app.state.shares = share_application(context)
    problems.install(app)
    for router in (submit, runs, tasks, files, explain, events, machines, agents, access, search, cost, moved):
        app.include_router(router.router, prefix=API)
    app.include_router(health.router)
    app.openapi = lambda: _description(app)  # type: ignore[method-assign]
    app.add_middleware(Gate, context=context)
    app.add_middleware(ToAgents, agents=app.state.agents)
    app.add_middleware(moved.Moved)
    app.add_middleware(Door, shares=app.state.shares, context=context)
    return app


def _description(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with what routes alone do not tell."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        parts = made.setdefault("components", {})
        known = parts.setdefault("schemas", {})
        for beside in (app.state.agents, app.state.shares):
            described = beside.openapi()
            made["paths"] |= described["paths"]
            known |= described["components"]["schemas"]
        for model in (ProblemDocument, Submission):
            shape = model.model_json_schema(ref_template="#/components/schemas/{model}")
            known |= shape.pop("$defs", {})
            known[model.__name__] = shape
        for name in ("HTTPValidationError", "ValidationError"):
            known.pop(name, None)
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        for path in ("/healthz", "/readyz"):
            made["paths"][path]["get"]["security"] = []
        app.openapi_schema = made
    return app.openapi_schema


class Server(uvicorn.Server):
    """A server that lets its listeners go when it is asked to stop, for they would never go by themselves."""

    def __init__(self, config: uvicorn.Config, context: Context) -> None:
        super().__init__(config)
        self._context = context
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  as uvicorn calls it
        """Stop; asked a second time, at once. That somebody wanted it is no failure."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._context.stream.close)
            self._loop.call_soon_threadsafe(self._context.service.hush_agents)
        self.force_exit = self.should_exit
        self.should_exit = True


def _check_address(host: str, port: int) -> None:
    """Find out that nobody can listen there before a store is opened and a token is shown that is shown but once."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise TradewindError(f"cannot listen on {host}:{port}: {reason}; see --host and --port") from None


def _base(host: str, port: int) -> str:
    """Where processes on this host reach the server."""
    here = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  nothing listens here
    return f"http://{here.get(host) or (f'[{host}]' if ':' in host else host)}:{port}"


def config_of(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How an application is served."""
    server = settings.server
    return uvicorn.Config(
        Door(app, app.state.shares, app.state.context),  # before everything else, for reports come most often
        host=server.host,
        port=server.port,
        http=connections(server.patience, server.most_pending),
        log_level="error",  # nobody fills the log with requests that are none
        access_log=False,
        timeout_graceful_shutdown=max(1, round(server.grace)),
        server_header=False,
        backlog=2048,
    )


def serve(settings: Settings, say: Say) -> int:
    """Serve until somebody ends it; the exit code."""
    _check_address(settings.server.host, settings.server.port)
    context = prepared(settings, say)
    if settings.server.auth and (token := first_token(context)):
        say(f"admin token: {token}")
        say("it is shown this once; keep it, or make others with it: tradewind tokens create")
    config = config_of(application(context, say), settings)
    server = Server(config, context)
    context.on_end = lambda: setattr(server, "should_exit", True)
    config.load()
    listening = config.bind_socket()
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer waits 40 ms for an ACK
    host, port = listening.getsockname()[:2]
    context.service.base = _base(host, port)
    say(f"serving on http://{f'[{host}]' if ':' in host else host}:{port}")
    try:
        server.run([listening])
    except KeyboardInterrupt:
        pass
    finally:
        with suppress(OSError):
            listening.close()
    return 1 if context.failure else 0
