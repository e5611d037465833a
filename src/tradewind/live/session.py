"""A session: one workflow run to its end on this host, durably, with whoever watches told of each record."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.core.log import Sink
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Close, Driver, Failure, Submit
from tradewind.live.engines.local import LocalEngine
from tradewind.live.jobs import Document
from tradewind.live.loop import Loop, wall_clock
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Store
from tradewind.model.action import Json
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, Duration
from tradewind.policies.protocol import Policy

STORE = "store.db"
RUNS = "runs"
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


@dataclass(slots=True)
class Result:
    """How a session ended."""

    run: int = -1
    id: str = ""
    status: str = ""
    """`done`, `failed`, `cancelled`, `refused`, `interrupted`, or `nothing` if there was nothing to go on with."""
    reasons: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


class Session:
    """Runs work until it has ended, or is interrupted."""

    def __init__(
        self,
        settings: Settings,
        sinks: Sequence[Callable[[State], Sink]] = (),
        on_trouble: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._sinks = sinks
        self._on_trouble = on_trouble
        self._is_interrupted = False

    def run(self, document: Document, parameters: Mapping[str, Json], *, keeps_going: bool = False) -> Result:
        """Submit a document and wait for its end."""
        return asyncio.run(self._run(Submit(document, parameters, self._settings.tenant.name, keeps_going)))

    def resume(self) -> Result:
        """Go on with what an earlier session left unfinished."""
        return asyncio.run(self._run(None))

    async def _run(self, submit: Submit | None) -> Result:
        settings = self._settings
        with ExitStack() as stack:
            store: Store = open_store(settings.folder / STORE)
            stack.callback(store.close)
            loop = Loop(self._on_trouble)
            engine = LocalEngine(loop.hear, settings.folder, grace=settings.grace, path=settings.modules)
            stack.callback(engine.close)
            state = State(settings.machines, (settings.tenant,), settings.interval, 0, declared_time)
            sinks = [sink_for(state) for sink_for in self._sinks]
            driver = Driver(state, settings.policy, store, engine, wall_clock, settings.folder / RUNS, sinks=sinks)
            result = Result()
            if submit is not None:
                result.run = state.next_run
                driver.tell(submit)
            elif driver.jobs:
                result.run = max(driver.jobs)
            else:
                result.status = "nothing"
                return result
            driver.tell(Close())
            self._catch_signals(stack, loop)
            await loop.run(driver, lambda: self._is_over(driver, result))
            result.id = driver.names.get(result.run, "")
            result.failures = driver.failures
            result.reasons += driver.faults
            return result

    def _is_over(self, driver: Driver, result: Result) -> bool:
        if self._is_interrupted:
            result.status = "interrupted"
        elif driver.refused:
            result.status, result.reasons = "refused", driver.refused
        elif result.run in driver.ended and not driver.state.runs:
            result.status = driver.ended[result.run]
        return bool(result.status)

    def _catch_signals(self, stack: ExitStack, loop: Loop) -> None:
        """The first interruption stops work so that it can be resumed; a second one ends the waiting for it."""
        running = asyncio.get_running_loop()

        def interrupted() -> None:
            self._is_interrupted = True
            self._on_trouble("stopping; what has finished is kept and `--resume` goes on (once more: do not wait)")
            for number in _SIGNALS:
                running.remove_signal_handler(number)
            loop.wake()

        for number in _SIGNALS:
            running.add_signal_handler(number, interrupted)
        stack.callback(lambda: [running.remove_signal_handler(number) for number in _SIGNALS])
