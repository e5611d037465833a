"""A session: one workflow run to its end on this host, durably, with whoever watches told of each record."""

import asyncio
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tradewind.core.elastic.events import OVERDUE
from tradewind.core.estimates import Learned
from tradewind.core.log import Sink
from tradewind.core.state import State
from tradewind.live.acting import no_secret
from tradewind.live.cache.cache import Cache
from tradewind.live.driver import Driver
from tradewind.live.engines.harvest import with_harvest
from tradewind.live.engines.keeper import Newborn
from tradewind.live.engines.local import LocalEngine
from tradewind.live.engines.played import Leases, with_played
from tradewind.live.facts import Close, Retry, Submit, Suspend, Unsuspend
from tradewind.live.folder import RUNS, STORE, LeftRunningError, alone_in, note_store, store_of
from tradewind.live.jobs import Document, Job
from tradewind.live.loop import Loop, wall_clock
from tradewind.live.port import Failure, Listener
from tradewind.live.steered import Control
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Lease, Store
from tradewind.live.store.rows import run_number
from tradewind.live.worker.agent import FOLDER as AGENTS
from tradewind.model.action import Json
from tradewind.model.command import Ended
from tradewind.model.machine import MachineType
from tradewind.model.program import Program, is_divisible
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, Duration
from tradewind.policies.protocol import Policy

if TYPE_CHECKING:
    from tradewind.live.endpoint import Endpoint

_DRAIN = 3.0
"""Seconds that shares have to deliver what they have after an interruption."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and how a session runs."""

    folder: Path
    """Holds the store and the folders of all runs."""
    machines: tuple[MachineType, ...]
    tenant: Tenant
    policy: Policy
    interval: Duration = SECOND
    """How often the policy decides what to rent."""
    modules: tuple[str, ...] = ()
    """Folders where the modules of functions are looked for first."""
    grace: float = 5.0
    silence: float = 10.0
    """Seconds after which a machine that does not answer is given up."""
    share_silence: Duration = OVERDUE
    """By how much the report of a share may be overdue."""
    store: str | None = None
    """Where runs are kept, unless it is in the folder: a path, or the address of a database."""
    leases: Mapping[str, Leases] = field(default_factory=dict)
    """By type: who knows what becomes of machines that are played from a trace."""


@dataclass(slots=True)
class Result:
    """How a session ended."""

    run: int = -1
    id: str = ""
    status: str = ""
    """`done`, `failed`, `cancelled`, `refused`, `interrupted`, or `nothing` if there was nothing to go on with."""
    reasons: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    """The last of them."""
    failed: int = 0
    """How many there were."""
    outputs: dict[str, Json] = field(default_factory=dict)
    """What a program that is done gives."""
    late: Duration = 0
    """How long after its deadline it ended; zero or less: in time."""


class Session:
    """Runs work until it has ended, or is interrupted."""

    def __init__(
        self,
        settings: Settings,
        sinks: Sequence[Callable[[State], Sink]] = (),
        on_trouble: Callable[[str], None] = lambda _: None,
        keeper: Newborn | None = None,
    ) -> None:
        """`keeper`: one that was begun while this was still being prepared."""
        self._settings = settings
        self._keeper = keeper
        self._sinks = sinks
        self._on_trouble = on_trouble
        self._is_interrupted = False
        self._interrupt: Callable[[], object] | None = None
        self._drained: float | None = None
        """By when shares must have delivered what they have, after an interruption."""

    def interrupt(self) -> None:
        """Stop, from any thread, so that work can be resumed."""
        if self._interrupt is None:
            self._is_interrupted = True
        else:
            with suppress(RuntimeError):  # it has ended already
                self._interrupt()

    def run(
        self,
        document: Document,
        parameters: Mapping[str, Json],
        *,
        keeps_going: bool = False,
        uses_cache: bool = True,
    ) -> Result:
        """Submit a document and wait for its end."""
        submit = Submit(document, parameters, self._settings.tenant.name, keeps_going, uses_cache)
        return asyncio.run(self._run(submit))

    def resume(self) -> Result:
        """Go on with what an earlier session left unfinished."""
        return asyncio.run(self._run(None))

    def retry(self, id: str) -> Result:
        """Try again what failed of a run that has ended, and go on with what else was left unfinished."""
        return asyncio.run(self._run(Retry(id)))

    async def _run(self, submit: Submit | Retry | None) -> Result:
        settings = self._settings
        with ExitStack() as stack:
            stack.enter_context(alone_in(settings.folder))
            loop = Loop(self._on_trouble)
            store, lease = self._open(stack, loop)
            if (settings.folder / AGENTS).is_dir():
                _check_left(settings.folder, store)
            endpoint = await self._listen(stack, submit)
            keeper, self._keeper = self._keeper, None

            def local(listener: Listener) -> LocalEngine:
                return LocalEngine(
                    listener,
                    settings.folder,
                    grace=settings.grace,
                    silence=settings.silence,
                    path=settings.modules,
                    keeper=keeper,
                    base=endpoint.address if endpoint is not None else "",
                )

            engine = with_played(loop.hear, settings.leases, lambda hear: with_harvest(hear, settings.machines, local))
            stack.callback(engine.close)
            estimates = Learned(warn=self._on_trouble)
            state = State(settings.machines, (settings.tenant,), settings.interval, 0, estimates)
            sinks = [sink_for(state) for sink_for in self._sinks]
            cache = Cache(store, settings.modules)
            runs = settings.folder / RUNS
            state.silence = settings.share_silence
            if endpoint is not None:
                endpoint.answer(state, store, lease, settings.folder, loop.tell)
            driver = Driver(
                *(state, settings.policy, store, engine, wall_clock, runs),
                lease=lease,
                sinks=sinks,
                cache=cache,
                secret=no_secret if endpoint is None else endpoint.secret,
            )
            result = Result()
            driver.on_ended = partial(self._note_end, result)
            if not self._begin(driver, submit, result):
                return result
            self._catch_signals(stack, loop)
            control = Control(settings.folder, driver, loop.wake)
            stack.callback(control.close)
            await control.open()
            await loop.run(driver, lambda: self._is_over(driver, result))
            result.id = driver.names.get(result.run, "")
            result.failures = list(driver.failures)
            result.failed = driver.failed
            result.reasons += driver.faults
            return result

    @staticmethod
    async def _listen(stack: ExitStack, submit: Submit | Retry | None) -> "Endpoint | None":
        """Listen to shares, if there may be any."""
        if isinstance(submit, Submit) and not (isinstance(submit.document, Program) and is_divisible(submit.document)):
            return None
        from tradewind.live.endpoint import Endpoint  # noqa: PLC0415 - seldom needed

        endpoint = Endpoint()
        await endpoint.open()
        stack.callback(endpoint.close)
        return endpoint

    @staticmethod
    def _note_end(result: Result, ended: Ended, job: Job) -> None:
        if ended.run != result.run:
            return
        if job.run is not None and job.run.deadline is not None:
            result.late = ended.at - job.run.deadline
        if job.generator is not None and job.generator.is_done:
            result.outputs = job.generator.outputs()

    def _open(self, stack: ExitStack, loop: Loop) -> tuple[Store, Lease | None]:
        """The store; with a lease, if it is not in the folder, where nobody else can be."""
        folder = self._settings.folder
        where = store_of(folder, self._settings.store)
        is_here = where == folder / STORE
        # this host is all the machines there are: if it fails, nothing runs that a store here might have forgotten
        store = open_store(where, durability="relaxed" if is_here else "strict")
        stack.callback(store.close)
        if is_here:
            return store, None
        from tradewind.live.leading import Leader  # noqa: PLC0415 - seldom needed

        leader = Leader(store, folder, self._on_trouble)
        stack.callback(leader.close)
        lease = leader.take_now()
        note_store(folder, where)

        async def stay() -> None:
            await leader.stay(lease)
            self._is_interrupted = True
            loop.wake()

        staying = asyncio.get_running_loop().create_task(stay())
        stack.callback(staying.cancel)
        return store, lease

    def _begin(self, driver: Driver, submit: Submit | Retry | None, result: Result) -> bool:
        """Tell the driver what is wanted of it; whether it is to begin at all."""
        earlier = driver.state.runs
        if isinstance(submit, Submit):
            result.run = driver.state.next_run
            driver.tell(*(Suspend(number) for number, run in earlier.items() if not run.is_suspended), submit, Close())
            if earlier:
                runs, them = ("run is", "it") if len(earlier) == 1 else ("runs are", "them")
                self._on_trouble(f"{len(earlier)} earlier {runs} unfinished; `--resume` goes on with {them}")
            return True
        if driver.stranded:
            result.status, result.reasons = "refused", driver.stranded
            return False
        driver.tell(*(Unsuspend(number) for number, run in earlier.items() if run.is_suspended))
        if submit is not None:
            result.run = run_number(submit.id)
            driver.tell(submit)
        elif driver.jobs:
            result.run = max(driver.jobs)
        else:
            result.status = "nothing"
            return False
        driver.tell(Close())
        return True

    def _is_over(self, driver: Driver, result: Result) -> bool:
        if self._is_interrupted and self._is_drained(driver):
            result.status = "interrupted"
        elif driver.refused:
            result.status, result.reasons = "refused", list(driver.refused)
        elif result.run in driver.ended and all(run.is_suspended for run in driver.state.runs.values()):
            result.status = driver.ended[result.run]
        return bool(result.status)

    def _is_drained(self, driver: Driver) -> bool:
        """Ask shares to deliver what they have; whether they all have, or have had the time to."""
        running = asyncio.get_running_loop()
        if self._drained is None:
            self._drained = running.time() + (_DRAIN if driver.has_shares else 0.0)
            driver.drain_shares()
        return running.time() >= self._drained or not driver.has_shares

    def _catch_signals(self, stack: ExitStack, loop: Loop) -> None:
        """The first interruption stops work so that it can be resumed; a second one ends the waiting for it."""
        running = asyncio.get_running_loop()
        signals = _SIGNALS if threading.current_thread() is threading.main_thread() else ()  # nobody else gets any

        def interrupted() -> None:
            self._is_interrupted = True
            for number in signals:  # before anybody is told that the next one counts
                running.remove_signal_handler(number)
            self._on_trouble("stopping; what has finished is kept and `--resume` goes on (once more: do not wait)")
            loop.wake()
            running.call_later(_DRAIN, loop.wake)

        for number in signals:
            running.add_signal_handler(number, interrupted)
        self._interrupt = lambda: running.call_soon_threadsafe(interrupted)
        stack.callback(lambda: [running.remove_signal_handler(number) for number in signals])
        if self._is_interrupted:
            loop.wake()


def _check_left(folder: Path, store: Store) -> None:
    """Raise if machines of a server still work there: a session would end them and run their tasks again."""
    from tradewind.live.engines.agents import found_in  # noqa: PLC0415 - seldom needed

    if any(found.is_alive for found in found_in(folder / AGENTS)) and store.runs(status="active", limit=1):
        raise LeftRunningError(folder)
