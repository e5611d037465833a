"""What one task costs in the local engine, driven directly, beside the least that it could cost.

The floor for commands is a bare `subprocess` loop that makes the same folder and files; for functions a bare process
pool, which makes none. CPU time is that of the whole process tree: each part is waited for by its parent. Floors and
ours are run in turns, since shared hosts are noisy, and the median of the rounds counts.
"""

import asyncio
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from benchmarks.measure import Contestant, Cost, Stopwatch, contest
from tradewind.live.engines.local import LocalEngine
from tradewind.live.port import Broke, Done, Order, Report, Up
from tradewind.model.action import Call, Function, Shell
from tradewind.model.machine import MachineType

SLOTS = 2
COMMAND = "true"


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds of CPU and of wall time for each task."""
    count, rounds = (1_000, 1) if quick else (10_000, 3)
    contests: dict[str, dict[str, Callable[[Path, int], None]]] = {
        "commands": {"subprocess": bare_commands, "engine": engine_commands},
        "functions": {"process pool": bare_functions, "engine": engine_functions},
        "chained": {"engine": engine_chains},
    }
    rows = []
    for tasks, jobs in contests.items():
        costs = contest({name: bare(job, count) for name, job in jobs.items()}, rounds)
        rows += [
            {"tasks": tasks, "by": name, "count": count, "cpu_ms": round(cost.cpu, 3), "wall_ms": round(cost.wall, 3)}
            for name, cost in costs.items()
            if cost is not None
        ]
    return rows


def bare(job: Callable[[Path, int], None], count: int) -> Contestant:
    """A contestant that starts its processes as a part of the job."""

    def contestant(root: Path) -> Cost:
        stopwatch = Stopwatch()
        job(root, count)
        return stopwatch.read().shared_by(count)

    return contestant


def bare_commands(root: Path, count: int) -> None:
    with ProcessPoolExecutor(SLOTS) as pool:
        for loop in [pool.submit(_loop, root / str(slot), count // SLOTS) for slot in range(SLOTS)]:
            loop.result()


def bare_functions(_: Path, count: int) -> None:
    with Pool(SLOTS) as pool:
        deque(pool.imap_unordered(nothing, range(count)), maxlen=0)
        pool.close()
        pool.join()


def engine_commands(root: Path, count: int) -> None:
    asyncio.run(_drive(root, count, [Call("task", Shell(COMMAND))]))


def engine_functions(root: Path, count: int) -> None:
    asyncio.run(_drive(root, count, [Call("task", Function("benchmarks.floor:nothing"))]))


def engine_chains(root: Path, count: int) -> None:
    """Chains of twenty functions."""
    calls = [Call(f"task{index}", Function("benchmarks.floor:nothing")) for index in range(20)]
    asyncio.run(_drive(root, count // len(calls), calls))


def nothing(_: int = 0) -> None:
    """A function that does nothing."""


async def _drive(root: Path, count: int, calls: Sequence[Call]) -> None:
    """Keep the slots of one machine busy until so many orders are done."""
    ended = asyncio.get_running_loop().create_future()
    left = iter(range(count))
    orders = tuple(calls)
    done = 0

    def listen(reports: Sequence[Report]) -> None:
        nonlocal done
        free = 0
        for report in reports:
            if isinstance(report, Up):
                free += SLOTS
            elif isinstance(report, Done):
                done += 1
                free += 1
            else:
                ended.set_exception(RuntimeError(report.reason if isinstance(report, Broke) else str(report)))
        engine.start([order(unit) for _, unit in zip(range(free), left, strict=False)])
        if done == count and not ended.done():
            ended.set_result(None)

    def order(unit: int) -> Order:
        return Order("floor", unit, 1, 1, "task", orders, f"{unit}.1")

    engine = LocalEngine(listen, root)
    engine.acquire(1, MachineType("here", slots=SLOTS))
    await ended
    engine.close()


def _loop(root: Path, count: int) -> None:
    """Run commands with the folder and files that the engine makes."""
    for index in range(count):
        folder = root / f"t{index}.1"
        folder.mkdir(parents=True)
        (folder / "command.sh").write_text(COMMAND + "\n")
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            code = subprocess.run(
                ["/bin/sh", "-c", COMMAND], cwd=folder, stdout=out, stderr=err, check=False
            ).returncode
        (folder / "exitcode").write_text(f"{code}\n")
