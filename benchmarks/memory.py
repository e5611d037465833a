"""Memory for each pending task: the workflow, the core's state of it and its place in the queues."""

import sys
from subprocess import run as run_process
from typing import Any

_PROGRAM = """
import sys
from pathlib import Path
from benchmarks.simulator import independent
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.event import Submitted
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

tasks = int(sys.argv[1])
scenario = Scenario((), (MachineType("m", limit=1),))
simulation = Simulation(scenario, [], build("fixed", {"machines": 1}))
before = resident()
job = independent(tasks, 1)
simulation.core.handle(Submitted(0, 1, "default", job.workflow))
print(resident() - before)
"""


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Bytes for each of many waiting tasks, measured as growth of a fresh process."""
    rows = []
    for tasks in (30_000,) if quick else (100_000, 1_000_000):
        done = run_process([sys.executable, "-c", _PROGRAM, str(tasks)], capture_output=True, text=True, check=True)
        rows.append({"pending_tasks": tasks, "bytes_per_task": round(int(done.stdout) / tasks)})
    return rows
