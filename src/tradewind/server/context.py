"""What all routes share: the service, the store's answers, settings, events."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from fastapi import Request
from starlette.responses import Response

from tradewind.live.artefacts import Artefacts
from tradewind.live.indexing import Indexer
from tradewind.live.loop import wall_clock
from tradewind.live.service import Service, Taken
from tradewind.live.store.access import Access, TenantRow
from tradewind.live.store.agent_tokens import AgentTokens
from tradewind.live.store.coding import to_bytes
from tradewind.live.store.money import Costs
from tradewind.live.store.pages import Head, Pages
from tradewind.live.store.readers import Readers
from tradewind.live.store.searching import Searcher
from tradewind.live.store.sql import SqlStore
from tradewind.server.audit import Audit
from tradewind.server.auth import Caller, Role, Tokens
from tradewind.server.metrics import Metrics
from tradewind.server.problems import Problem, not_found
from tradewind.server.settings import Settings, TenantsSection
from tradewind.server.stream import Stream
from tradewind.server.tallies import Tallies

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 8


@dataclass(slots=True)
class Context:
    """Everything that a server consists of."""

    settings: Settings
    store: SqlStore
    service: Service
    pages: Pages
    access: Access
    agent_tokens: AgentTokens
    searcher: Searcher
    costs: Costs
    tokens: Tokens
    audit: Audit
    metrics: Metrics
    stream: Stream
    tallies: Tallies
    artefacts: Artefacts
    indexer: Indexer
    readers: Readers
    tenants: dict[str, TenantRow]
    """All of them; whoever changes one changes it here, too."""
    policy: str = ""
    failure: str = ""
    """Why the server ends although nobody wanted it to."""
    on_end: Callable[[], None] = lambda: None
    """Ends the process."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by whoever changes a tenant."""
    submissions: dict[tuple[str, str], tuple[str, "asyncio.Future[Taken]"]] = field(default_factory=dict)
    """On their way, by tenant and key, with a digest of what is handed in."""
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_THREADS, "store"))

    async def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask the store, in a thread, so that nobody else has to wait."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, partial(question, *args, **kwargs))

    async def look(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Ask the store something small: a few rows by their keys.

        SQLite answers in less time than it takes to wake a thread, and nobody who writes keeps it from doing so.
        """
        if self.readers.is_sqlite:
            return question(*args, **kwargs)
        return await self.ask(question, *args, **kwargs)

    async def run(self, caller: Caller, id: str) -> Head:
        """A run by its id, if it is there for the caller."""
        head = await self.look(self.pages.head, id)
        if head is None or not caller.sees(head.tenant):
            raise not_found(f"run {id!r}")
        return head

    def tenant(self, caller: Caller, name: str) -> TenantRow:
        """A tenant by its name, if it is there for the caller."""
        row = self.tenants.get(name)
        if row is None or not caller.sees(name):
            raise not_found(f"tenant {name!r}")
        return row


def new_tenant(name: str, given: TenantsSection) -> TenantRow:
    """A tenant with what a new one gets."""
    return TenantRow(
        name,
        given.budget,
        given.interval,
        given.weight,
        given.max_active_runs,
        given.max_tasks,
        wall_clock(),
        given.max_machines,
    )


def context_of(request: Request) -> Context:
    """What the application of a request has."""
    context = request.app.state.context
    assert isinstance(context, Context)  # noqa: S101  put there by `app`
    return context


def caller_of(request: Request) -> Caller:
    """Who asks."""
    caller = request.state.caller
    assert isinstance(caller, Caller)  # noqa: S101  put there by `limits`
    return caller


def met(request: Request, role: Role = Role.VIEWER) -> tuple[Context, Caller]:
    """What the application has, and who asks; refused if the role is too small, or nothing works yet."""
    context, caller = context_of(request), caller_of(request)
    caller.must_be(role)
    if role > Role.VIEWER and not context.service.is_running:
        raise Problem(503, "the server is starting or stopping; try again in a moment", headers={"Retry-After": "1"})
    return context, caller


def answer(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Plain values as JSON."""
    return Response(to_bytes(content), status, headers, "application/json")
