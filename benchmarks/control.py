"""The control plane alone: core, policy, driver and a real store, over machines that answer at once.

One workflow of independent chains, which become ready together, so that the backlog is as long as it can be. CPU time
is that of this process and of the database server, from the submission to the end; the last column compares the last
tenth of the chains with the first.
"""

import gc
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.store import Cpu, place
from benchmarks.work import commands
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Close, Submit
from tradewind.live.loop import collecting_rarely, wall_clock
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Durability
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.policies.registry import build

AGENTS = 1_000
PARTS = 10


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds for each chain."""
    chains = 30_000 if quick else 300_000
    return [
        _row(database, durability, chains)
        for database in ("sqlite", "postgres")
        for durability in ("strict", "relaxed")
    ]


def _row(database: str, durability: Durability, chains: int) -> dict[str, Any]:
    with place(database) as (where, cpu), tempfile.TemporaryDirectory() as folder, collecting_rarely():
        laps, wall = drive(where, durability, chains, Path(folder), cpu)
    return {
        "store": database,
        "durability": durability,
        "chains": chains,
        "agents": AGENTS,
        "cpu_ms": round(1000 * laps[-1] / chains, 4),
        "wall_ms": round(1000 * wall / chains, 4),
        "last_to_first": round((laps[-1] - laps[-2]) / (laps[1] - laps[0]), 2),
    }


def drive(where: str, durability: Durability, chains: int, folder: Path, cpu: Cpu) -> tuple[list[float], float]:
    """CPU seconds used when the first chain was started, at each tenth, and at the end; and wall seconds."""
    store = open_store(where, durability=durability)
    engine = FakeEngine(lambda reports: driver.tell(*reports))
    state = State((MachineType("agent", limit=AGENTS),), (Tenant("default"),), SECOND, 0, declared_time)
    driver = Driver(state, build("fixed", {"machines": AGENTS}), store, engine, wall_clock, folder)
    document = commands(chains)
    gc.collect()
    gc.freeze()
    before, begin = time.process_time() + cpu(), time.perf_counter()
    driver.tell(Submit(document, {}), Close())
    driver.turn()
    laps: list[float] = []
    left = chains
    for part in range(PARTS):
        laps.append(time.process_time() + cpu() - before)
        while left > chains * (PARTS - 1 - part) // PARTS:
            engine.deliver()
            driver.turn()
            left = state.runs[0].left if state.runs else 0
    laps.append(time.process_time() + cpu() - before)
    wall = time.perf_counter() - begin
    assert driver.ended == {0: "done"}
    store.close()
    gc.unfreeze()
    return laps, wall
