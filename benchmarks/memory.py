"""Memory for each pending task: the workflow, the core's state of it and its place in the queues.

Three kinds: a graph in the simulator; the same in the live driver, whose jobs know commands and folders besides; and a
program that unfolds into chains while it runs. Each is measured as growth of a fresh process. The live store keeps a
cache, of 64 MB at most, which grows with what was written rather than with what is pending: it is told apart, as what
is given back once the store is closed.
"""

import ctypes
import gc
import sys
from pathlib import Path
from subprocess import run as run_process
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import work
from benchmarks.simulator import independent
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Submit
from tradewind.live.jobs import Document
from tradewind.live.loop import wall_clock
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Store
from tradewind.model.event import Submitted
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

KINDS = ("simulated graph", "live graph", "live program")


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Bytes for each of many waiting tasks."""
    rows = []
    for kind in KINDS:
        for tasks in (30_000,) if quick else (100_000, 1_000_000 if kind == KINDS[0] else 300_000):
            words = [sys.executable, "-m", "benchmarks.memory", kind, str(tasks)]
            done = run_process(words, capture_output=True, text=True, check=True)
            grown, cache = map(int, done.stdout.split())
            rows.append(
                {
                    "kind": kind,
                    "pending_tasks": tasks,
                    "bytes_per_task": round((grown - cache) / tasks),
                    "with_cache": round(grown / tasks),
                }
            )
    return rows


def main(kind: str, tasks: int) -> None:
    """Print by how many bytes this process grows with pending tasks, and how many of them are the store's cache."""
    cache = 0
    if kind == "simulated graph":
        scenario = Scenario((), (MachineType("m", limit=1),))
        simulation = Simulation(scenario, [], build("fixed", {"machines": 1}))
        before = _resident()
        simulation.core.handle(Submitted(0, 1, "default", independent(tasks, 1).workflow))
        grown = _resident() - before
    else:
        with TemporaryDirectory() as folder:
            store = open_store(Path(folder) / "store.db", durability="relaxed")
            driver = _driver(Path(folder), store)
            driver.tell(Submit(work.calls(10), {}))
            driver.turn()
            before = _resident()
            document: Document = work.commands(tasks) if kind == "live graph" else work.calls(tasks)
            driver.tell(Submit(document, {}))
            driver.turn()
            grown = _resident() - before
            store.close()
            cache = grown - (_resident() - before)
    print(grown, cache)


def _driver(folder: Path, store: Store) -> Driver:
    state = State((MachineType("m", limit=1),), (Tenant("default"),), SECOND, 0, declared_time)
    return Driver(state, build("fixed", {"machines": 1}), store, FakeEngine(lambda _: None), wall_clock, folder)


def _resident() -> int:
    """Bytes in use, without what was given back but is kept for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
