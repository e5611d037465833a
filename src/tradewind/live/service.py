"""A service: one driver that owns many runs, for as long as somebody wants it.

What is handed in is answered only once it is saved. All that arrives while a batch is being saved is handled in the
next one, so that under load many submissions share one commit. Whoever reads asks the store, or the few questions here
that only the core can answer; nothing here scans all of it.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

from tradewind.core.elastic.events import OVERDUE
from tradewind.core.estimates import Learned
from tradewind.core.log import Record, Sink
from tradewind.core.state import State
from tradewind.core.work import Run
from tradewind.live.cache.cache import Cache
from tradewind.live.driver import Driver
from tradewind.live.engines.agents import FOLDER as AGENTS
from tradewind.live.engines.agents import Agents
from tradewind.live.engines.harvest import with_harvest
from tradewind.live.engines.joined import JoinedEngine
from tradewind.live.engines.local import LocalEngine
from tradewind.live.engines.played import Leases, with_played
from tradewind.live.engines.pull import PullEngine
from tradewind.live.facts import Fact, Submit
from tradewind.live.folder import RUNS
from tradewind.live.leading import Leader
from tradewind.live.loop import wall_clock
from tradewind.live.notes import IDENTITY
from tradewind.live.objects import open_objects
from tradewind.live.port import Engine, Listener
from tradewind.live.shares import Shares, secret_of
from tradewind.live.store.port import Changes, Lease, Store
from tradewind.live.store.rows import KeyRow
from tradewind.live.turns import Turns, Watched
from tradewind.model.command import Admitted, Ended, Grown, Refused, Wanted
from tradewind.model.event import Resumed
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, SECOND, Duration, in_seconds
from tradewind.policies.protocol import Policy


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and how a service runs."""

    folder: Path
    """Holds the folders of all runs."""
    machines: tuple[MachineType, ...]
    tenants: tuple[Tenant, ...]
    policy: Policy
    interval: Duration = SECOND
    """How often the policy decides what to rent."""
    quantum: Duration = 30 * SECOND
    """After how long a machine makes way for a tenant with less than its share (see `tradewind.core.sharing`)."""
    accepts_unknown: bool = False
    """Whether work that no known machine type can do waits for a machine to join instead of being refused."""
    modules: tuple[str, ...] = ()
    """Folders where the modules of functions are looked for first."""
    grace: float = 5.0
    engine: Callable[[Listener], Engine] | None = None
    """Makes what runs work; by default worker processes on this host."""
    objects: str = ""
    """Where large results of shares lie: `s3://bucket/prefix`, or a folder; empty: `objects` in the folder."""
    share_silence: Duration = OVERDUE
    """By how much the report of a share may be overdue."""
    leases: Mapping[str, Leases] = field(default_factory=dict)
    """By type: who knows what becomes of machines that are played from a trace."""
    outlives: bool = True
    """Whether machines on this host go on with what they run when the service ends, for the next one to take over."""
    unattended: Duration = HOUR
    """After how long without a service such a machine ends itself, once it has nothing to do."""
    silence: Duration | None = None
    """After how long without a call an agent has left; None: no agents may join."""
    tenants_now: Callable[[], Iterable[Tenant]] = tuple
    """Asked as soon as this service leads: tenants that are new or changed since it began to wait."""


class Key(NamedTuple):
    """A name under which work is handed in at most once, and a digest of the work."""

    name: str
    digest: str


class Taken(NamedTuple):
    """A run that was taken in and saved."""

    number: int
    id: str


class Place(NamedTuple):
    """Where an attempt belongs."""

    run: str
    """Public id of its run."""
    folder: str
    tenant: str


class RefusedError(Exception):
    """Work that no machine can ever do; the message says why."""


class StoppedError(Exception):
    """The service is about to end, or has ended, and takes nothing more."""


@dataclass(slots=True, eq=False)
class _Pending:
    """A submission on its way."""

    submit: Submit
    key: Key | None
    answer: "asyncio.Future[Taken]"
    taken: Taken | None = None
    reason: str = ""


@dataclass(slots=True)
class Load:
    """How much of a tenant is active."""

    runs: int = 0
    units: int = 0


class Service:
    """Owns a driver and takes turns with it until it is stopped; belongs to the event loop that runs when it starts."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        sinks: Sequence[Callable[[State], Sink]] = (),
        on_trouble: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.settings = settings
        self.state = State(settings.machines, settings.tenants, settings.interval, 0, Learned(warn=on_trouble))
        self.state.quantum = settings.quantum
        self.state.accepts_unknown = settings.accepts_unknown
        self.on_saved: list[Callable[[Changes], None]] = []
        """Told of each batch, right after it has become durable."""
        self.on_timed: list[Callable[[str, float], None]] = []
        """Told how many seconds the parts of a turn took: `handle`, `save` and `act`."""
        self.loads: dict[str, Load] = {}
        """By tenant."""
        self._store = store
        self._sinks = sinks
        self._on_trouble = on_trouble
        self._pending: dict[int, _Pending] = {}
        """By the identity of their documents."""
        self._decided: list[_Pending] = []
        self._told: list[asyncio.Future[None]] = []
        self._handled = 0
        """How many of the told are part of the batch that is being saved."""
        self._saved: Changes | None = None
        self._sizes: Counter[int] = Counter()
        """Units of active runs."""
        self._stack = ExitStack()
        self._leader = Leader(store, settings.folder, on_trouble)
        self._driver: Driver | None = None
        self._loop: Turns | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._is_stopping = False
        self._is_deposed = False
        """Whether another service leads by now."""
        self._identity = ""
        self.agents: PullEngine | None = None
        """The engine of machines that joined, once the service has started."""
        self._shares: Shares | None = None
        self.base = ""
        """Where processes on this host reach the server."""

    @property
    def driver(self) -> Driver:
        """The driver, once the service has started."""
        if self._driver is None:
            raise StoppedError("the service has not started")
        return self._driver

    @property
    def is_running(self) -> bool:
        """Whether work is taken in."""
        return bool(self._tasks) and not self._tasks[0].done() and not self._is_stopping

    @property
    def trouble(self) -> str:
        """Why nothing can be saved at present; empty: it can."""
        return "" if self._loop is None else self._loop.trouble

    async def start(self, *, wait: Callable[[str], None] = lambda _: None) -> None:
        """Become the leader of the store, rebuild what was saved, and begin to take turns."""
        self._stack.callback(self._leader.close)
        lease = await self._leader.take(wait)
        for tenant in await asyncio.to_thread(self.settings.tenants_now):
            self.state.put_tenant(tenant)
        self._identity = await asyncio.to_thread(self._identified, lease)
        loop = self._loop = Turns(self._on_trouble, self._after_handling, self._after_turn, self._timed)
        settings = self.settings
        engine = with_played(loop.hear, settings.leases, settings.engine or self._local)
        if settings.silence is not None:
            self.agents = PullEngine(loop.hear, settings.folder, silence=in_seconds(settings.silence))
            engine = JoinedEngine(engine, self.agents)
        self._stack.callback(self._let_go, engine)
        self._shares = await self._open_shares(lease)
        self._stack.callback(self._shares.close)
        self._driver = Driver(
            self.state,
            settings.policy,
            cast("Store", Watched(self._store, self._before_save)),
            engine,
            wall_clock,
            settings.folder / RUNS,
            lease=lease,
            sinks=[self._observe, *(sink_for(self.state) for sink_for in self._sinks)],
            cache=Cache(self._store, settings.modules),
            secret=self._shares.lease,
        )
        for run in self.state.runs.values():
            self._count(run.pool.tenant.name, run.id, len(run.units), runs=1)
        self._tasks = [
            asyncio.create_task(loop.run(self._driver, lambda: self._is_stopping), name="driver"),
            asyncio.create_task(self._stay(lease), name="lease"),
        ]
        self._tasks[0].add_done_callback(self._ended)

    async def _open_shares(self, lease: Lease) -> Shares:
        """What answers shares of elastic units."""
        settings, self.state.silence = self.settings, self.settings.share_silence
        secret = await asyncio.to_thread(secret_of, self._store, lease)
        objects = open_objects(settings.objects, settings.folder / "objects", secret)
        return Shares(self.state, self._store, objects, secret, wall_clock, self._tell)

    @property
    def answering(self) -> Shares:
        """What answers shares of elastic units, while work is taken in."""
        if self._shares is None or not self.is_running:
            raise StoppedError("the server is starting or stopping; try again in a moment")
        return self._shares

    async def _stay(self, lease: Lease) -> None:
        await self._leader.stay(lease)
        self._is_deposed = True
        self._tasks[0].cancel()

    def _identified(self, lease: Lease) -> str:
        """What tells the store from others."""
        known = self._store.note(IDENTITY)
        if known is None:
            known = secrets.token_hex(16)
            self._store.save(Changes(notes={IDENTITY: known}), lease)
        return str(known)

    def _let_go(self, engine: Engine) -> None:
        """Leave what runs to the next service; where another leads by now, it has given that up."""
        if self._is_deposed:
            engine.close()
        else:
            engine.detach()

    def _local(self, listener: Listener) -> Engine:
        settings = self.settings
        agents = None
        if settings.outlives:
            agents = Agents(settings.folder / AGENTS, self._identity, in_seconds(settings.unattended))
        return with_harvest(
            listener,
            settings.machines,
            lambda hear: LocalEngine(
                hear, settings.folder, grace=settings.grace, path=settings.modules, agents=agents, base=self.base
            ),
        )

    async def wait(self) -> None:
        """Wait for the end; raises what ended the driver, if anything did."""
        with suppress(asyncio.CancelledError):
            await self._tasks[0]

    async def stop(self) -> None:
        """Save what has happened, and leave what runs to the next service, or end it if it cannot go on alone."""
        self._is_stopping = True
        if self._loop is not None:
            self._loop.wake()
        if self._tasks:
            await asyncio.wait(self._tasks[:1])
            self._tasks[1].cancel()
            await asyncio.wait(self._tasks[1:])
        busy = sum(bool(machine.running) for machine in self.state.machines.values())
        if busy and self.settings.outlives and self.settings.engine is None and not self._is_deposed:
            machines = "machine goes" if busy == 1 else "machines go"
            self._on_trouble(
                f"{busy} {machines} on with what runs there: the next server takes over, and "
                "`tradewind server --stop-machines` ends it"
            )
        self._stack.close()

    # What people want

    async def submit(self, submit: Submit, key: Key | None = None) -> Taken:
        """Hand in work; answered once it is durable. Raises `RefusedError` if no machine can ever do it."""
        pending = _Pending(submit, key, asyncio.get_running_loop().create_future())
        self._check_running()
        self._pending[id(submit.document)] = pending
        self._tell(submit)
        return await pending.answer

    async def tell(self, fact: Fact) -> None:
        """Tell the driver something; answered once what follows from it is durable."""
        self._check_running()
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._told.append(told)
        self._tell(fact)
        await told

    def run(self, number: int) -> Run | None:
        """How an active run stands in the core."""
        return self.state.runs.get(number)

    def place_of(self, unit: int, attempt: int) -> Place | None:
        """Whose attempt it is and where its files go; None: its unit is not active."""
        found = self.state.units.get(unit)
        job = None if found is None else self.driver.jobs.get(found.run.id)
        if found is None or job is None:
            return None
        return Place(job.id, job.attempt_folder(found, attempt), found.run.pool.tenant.name)

    def hush_agents(self) -> None:
        """Let no call of an agent wait any longer."""
        if self.agents is not None:
            self.agents.hush()

    def _tell(self, fact: Fact) -> None:
        if self._loop is None:
            raise StoppedError("the service has not started")
        self.driver.tell(fact)
        self._loop.wake()

    def _check_running(self) -> None:
        if not self.is_running:
            raise StoppedError("the server is stopping; try again in a moment")

    # What the driver does

    def _observe(self, record: Record) -> None:
        kind = type(record)
        if kind is Admitted:
            admitted = cast("Admitted", record)
            self._count(self._name(admitted.tenant), admitted.run, admitted.tasks, runs=1)
            job = self.driver.jobs[admitted.run]
            if pending := self._pending.pop(id(job.document), None):
                pending.taken = Taken(admitted.run, job.id)
                self._decided.append(pending)
        elif kind is Refused:
            refused = cast("Refused", record)
            asked = self.driver.jobs.get(self.state.next_run)  # None: a run that was taken before has grown
            if asked is not None and (pending := self._pending.pop(id(asked.document), None)):
                pending.reason = refused.reason
                self._decided.append(pending)
        elif kind is Resumed:
            resumed = cast("Resumed", record)
            run = self.state.runs.get(resumed.run)
            if run is not None and run.id not in self._sizes:  # it had ended, and is tried again
                self._count(run.pool.tenant.name, run.id, len(run.units), runs=1)
        elif kind is Grown:
            grown = cast("Grown", record)
            self._count(self._name(grown.tenant), grown.run, grown.tasks)
        elif kind is Wanted:
            wanted = cast("Wanted", record)
            if self.agents is not None:
                self.agents.want(self.state.kinds[wanted.kind].type.name, wanted.count)
        elif kind is Ended:
            ended = cast("Ended", record)
            self._count(self._name(ended.tenant), ended.run, -self._sizes[ended.run], runs=-1)
            del self._sizes[ended.run]

    def _name(self, tenant: int) -> str:
        return self.state.all_pools[tenant].tenant.name

    def _count(self, tenant: str, run: int, units: int, *, runs: int = 0) -> None:
        load = self.loads.setdefault(tenant, Load())
        load.runs += runs
        load.units += units
        self._sizes[run] += units

    def _timed(self, part: str, seconds: float) -> None:
        for listener in self.on_timed:
            listener(part, seconds)

    def _after_handling(self) -> None:
        self._handled = len(self._told)

    def _before_save(self, changes: Changes) -> None:
        """Add what must be durable together with the batch; no turn is taken meanwhile."""
        changes.keys = [
            KeyRow(pending.submit.tenant, pending.key.name, pending.key.digest, pending.taken.number, self.state.now)
            for pending in self._decided
            if pending.taken is not None and pending.key is not None
        ]
        self._saved = changes

    def _after_turn(self) -> None:
        decided, self._decided = self._decided, []
        for pending in decided:
            if pending.answer.done():
                continue  # whoever asked has gone
            if pending.taken is not None:
                pending.answer.set_result(pending.taken)
            else:
                pending.answer.set_exception(RefusedError(pending.reason))
        told, self._told = self._told[: self._handled], self._told[self._handled :]
        self._handled = 0
        for each in told:
            if not each.done():
                each.set_result(None)
        saved, self._saved = self._saved, None
        if saved is not None:
            for listener in self.on_saved:
                listener(saved)

    def _ended(self, _task: "asyncio.Task[None]") -> None:
        waiting = [*(pending.answer for pending in self._pending.values()), *self._told]
        for answer in cast("list[asyncio.Future[Any]]", waiting):
            if not answer.done():
                answer.set_exception(StoppedError("the server stopped before this was saved; try again"))
