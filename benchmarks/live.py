"""Running a job of ours as `tradewind run` does: driver, durable store, worker process, folders and files.

Everything is up and has done some calls before the clock runs, as with the peers.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks import work
from benchmarks.measure import Contestant, Cost, Stopwatch
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.local import LocalEngine
from tradewind.live.facts import Submit
from tradewind.live.jobs import Document
from tradewind.live.loop import Loop, wall_clock
from tradewind.live.store.open import open_store
from tradewind.model.machine import MachineType
from tradewind.model.requirement import amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.policies.registry import build

SLOTS = 2
WARM_UP = 200
"""Calls that wake everybody up."""


def live(document: Callable[[], Document], tasks: int) -> Contestant:
    """A contestant that runs a job of ours."""
    return lambda root: asyncio.run(_run(root, document())).shared_by(tasks)


async def _run(root: Path, document: Document) -> Cost:
    with ExitStack() as stack:
        store = open_store(root / "store.db", durability="relaxed")
        stack.callback(store.close)
        loop = Loop()
        engine = LocalEngine(loop.hear, root)
        stack.callback(engine.close)
        machine = MachineType("here", limit=1, slots=SLOTS, amounts=amounts(cpus=SLOTS))
        state = State((machine,), (Tenant("default"),), SECOND, 0, declared_time)
        driver = Driver(state, build("fixed", {"machines": 1}), store, engine, wall_clock, root / "runs")
        await _do(driver, loop, work.calls(WARM_UP))
        stopwatch = Stopwatch()
        await _do(driver, loop, document)
        return stopwatch.read()


async def _do(driver: Driver, loop: Loop, document: Document) -> None:
    number = driver.state.next_run
    driver.tell(Submit(document, {}))
    await loop.run(driver, lambda: number in driver.ended or bool(driver.refused))
    if driver.ended.get(number) != "done":
        raise RuntimeError(
            f"{document.name}: {driver.ended} {driver.refused} {driver.faults} {list(driver.failures)[:1]}"
        )
