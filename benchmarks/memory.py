"""Memory for each pending task: the workflow, the core's state of it and its place in the queues.

Three kinds: a graph in the simulator; the same in the live driver, whose jobs know commands and folders besides; and a
program that unfolds into chains while it runs. Each is measured as growth of a fresh process.
"""

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
            rows.append({"kind": kind, "pending_tasks": tasks, "bytes_per_task": round(int(done.stdout) / tasks)})
    return rows


def main(kind: str, tasks: int) -> None:
    """Print by how many bytes this process grows with pending tasks."""
    if kind == "simulated graph":
        scenario = Scenario((), (MachineType("m", limit=1),))
        simulation = Simulation(scenario, [], build("fixed", {"machines": 1}))
        before = _resident()
        simulation.core.handle(Submitted(0, 1, "default", independent(tasks, 1).workflow))
    else:
        with TemporaryDirectory() as folder:
            driver = _driver(Path(folder))
            driver.tell(Submit(work.calls(10), {}))
            driver.turn()
            before = _resident()
            document: Document = work.commands(tasks) if kind == "live graph" else work.calls(tasks)
            driver.tell(Submit(document, {}))
            driver.turn()
    print(_resident() - before)


def _driver(folder: Path) -> Driver:
    state = State((MachineType("m", limit=1),), (Tenant("default"),), SECOND, 0, declared_time)
    store = open_store(folder / "store.db", durability="relaxed")
    return Driver(state, build("fixed", {"machines": 1}), store, FakeEngine(lambda _: None), wall_clock, folder)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
