"""Killing the control plane with SIGKILL in the middle of its work, and resuming: what is lost, doubled or repeated.

Each task notes in a file that it has begun. After a kill the store tells which are done; whatever of these is ever
begun again was repeated. A task that was running when the control plane died may run twice, and is recorded once.
"""

import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.measure import fresh_folder
from tradewind.core.work import DONE
from tradewind.live.folder import STORE

COMMAND = [sys.executable, "-m", "tradewind", "run", "--machines", "machines.yaml"]
MACHINES = "machines: {here: {slots: 4, limit: 1}}\n"
FLOW = """name: kills
steps:
  task:
    for_each: %s
    run: "echo {{ item }} >> %s; sleep 0.03"
"""
PATIENCE = 120
"""Seconds that a run may stand still."""


def run(*, quick: bool) -> list[dict[str, Any]]:
    """What is left of a run after kills."""
    return [_killed(tasks, kills) for tasks, kills in (((40, 1), (100, 5)) if quick else ((400, 1), (2_000, 50)))]


def _killed(tasks: int, kills: int) -> dict[str, Any]:
    folder = fresh_folder()
    begun = folder / "begun"
    begun.touch()
    (folder / "machines.yaml").write_text(MACHINES)
    (folder / "flow.yaml").write_text(FLOW % (list(range(tasks)), begun))
    wall = time.perf_counter()
    finished: dict[int, int] = {}
    arguments = ["flow.yaml"]
    for kill in range(kills):
        process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stderr=subprocess.DEVNULL)
        _wait_for(begun, tasks * (kill + 1) // max(3, kills + 1), process)
        process.kill()
        process.wait()
        place = len(_lines(begun))
        for item in _done(folder):
            finished.setdefault(item, place)
        arguments = ["--resume"]
    subprocess.run([*COMMAND, *arguments], cwd=folder, stderr=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - wall
    executions = _lines(begun)
    recorded = Counter(_recorded(folder))
    return {
        "tasks": tasks,
        "kills": kills,
        "recorded": len(recorded),
        "lost": tasks - len(_done(folder)),
        "recorded_twice": sum(count > 1 for count in recorded.values()),
        "repeated": sum(place >= finished.get(item, len(executions)) for place, item in enumerate(executions)),
        "executions": len(executions),
        "wall_s": round(wall, 1),
    }


def _wait_for(begun: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until so many tasks have begun."""
    ends = time.monotonic() + PATIENCE
    while len(_lines(begun)) < count:
        if process.poll() is not None or time.monotonic() > ends:
            raise RuntimeError(f"the run ended by itself, or stands still: {process.returncode}")
        time.sleep(0.002)


def _lines(begun: Path) -> list[int]:
    return [int(line) for line in begun.read_text().splitlines()]


def _done(folder: Path) -> set[int]:
    """Which tasks are done, as far as the store knows."""
    rows = _ask(folder, f"SELECT chain FROM units WHERE state = {int(DONE)}")  # noqa: S608
    return {int(chain.strip("task[]")) for (chain,) in rows}


def _recorded(folder: Path) -> list[int]:
    """The units of all attempts that are recorded as done."""
    return [unit for (unit,) in _ask(folder, "SELECT unit FROM attempts WHERE outcome = 'done'")]


def _ask(folder: Path, question: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / ".tradewind" / STORE)) as connection:
        return connection.execute(question).fetchall()
