"""Large work: how long a plan of many tasks takes, and how the cost of a task grows with the backlog.

`plan` is measured as a user would run it, in a process of its own: processor time and peak memory. Backlogs are
fork-joins on a budget that pays for some fifty machines; the figure is tasks per CPU second of the whole simulation,
and what remains of it where ten times as many tasks wait.
"""

import os
import random
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.measure import fresh_folder
from tradewind.formats.write import write_wfformat
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import UNIT
from tradewind.policies.registry import build
from tradewind.sim.defaults import MACHINES
from tradewind.sim.driver import Simulation
from tradewind.sim.generators import generate

POLICIES = ("pfa", "plf", "scf", "capability", "slacksched", "scs+")
DEADLINES = {"montage": "3h", "epigenomics": "4d"}
BUDGET = 150 * UNIT


def plans(*, quick: bool) -> list[dict[str, Any]]:
    """CPU seconds and peak memory of `tradewind plan`, by family and size."""
    folder = fresh_folder()
    rows = []
    for family, deadline in DEADLINES.items():
        for tasks in (200, 1_000) if quick else (1_000, 2_000, 5_000, 10_000, 20_000):
            workflow = generate(family, tasks, random.Random(0))
            file = folder / f"{family}-{tasks}.json"
            file.write_bytes(write_wfformat(workflow))
            rows.append({"family": family, "tasks": len(workflow.tasks)} | _planned(file, deadline))
    return rows


def _planned(file: Path, deadline: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tradewind", "plan", str(file), "--deadline", deadline, "--json"]
    begin = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    cpu = used.ru_utime + used.ru_stime
    return {"cpu_s": round(cpu, 2), "wall_s": round(perf_counter() - begin, 2), "peak_mb": round(used.ru_maxrss / 1024)}


def backlog(*, quick: bool) -> list[dict[str, Any]]:
    """Tasks per CPU second of a fork-join of 20,000 tasks and of one ten times as large, by policy."""
    small, large = (2_000, 20_000) if quick else (20_000, 200_000)
    rows = []
    for policy in POLICIES:
        speeds = {size: _speed(policy, size) for size in (small, large)}
        rows.append(
            {"policy": policy}
            | {f"{size:,}_tasks_per_s": round(speed) for size, speed in speeds.items()}
            | {"share_kept": round(speeds[large] / speeds[small], 2)}
        )
    return rows


def _speed(policy: str, tasks: int) -> float:
    workflow = generate("forkjoin", tasks, random.Random(1))
    scenario = Scenario((), MACHINES, (Tenant("default", budget=BUDGET),), policy=policy)
    simulation = Simulation(scenario, [Submission(0, workflow)], build(policy))
    begin = process_time()
    simulation.run(lambda _: None)
    return tasks / (process_time() - begin)
