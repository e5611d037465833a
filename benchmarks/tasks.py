"""What a task costs from submission to result, beside peers and floors in the same run.

Ours are run as `tradewind run` does: driver, durable store, one machine of two slots, a folder for each attempt.
CPU time is that of the whole tree of processes. `rate` is that of wall time, relative to the first row.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks import floor, work
from benchmarks.live import live
from benchmarks.measure import Contestant, Cost, contest
from benchmarks.peers import peer

OURS = "Tradewind"


def shell(*, quick: bool) -> list[dict[str, Any]]:
    """The command `true`, beside a bare loop over `subprocess` that makes the same folders and files."""
    count = 1_000 if quick else 10_000
    floors = {"subprocess loop": floor.bare(floor.bare_commands, count)}
    return _rows("true", count, floors | {OURS: live(lambda: work.commands(count), count)}, 1 if quick else 3)


def python(*, quick: bool) -> list[dict[str, Any]]:
    """A function that does nothing."""
    count = 1_000 if quick else 10_000
    ours = {OURS: live(lambda: work.calls(count), count)}
    floors = {"process pool": floor.bare(floor.bare_functions, count)}
    return _rows("no-op call", count, floors | ours | _peers("calls", count, 0, count), 1 if quick else 2)


def chains(*, quick: bool) -> list[dict[str, Any]]:
    """Lines of dependent calls: placed as chains, as we do unless told otherwise, and with each call placed alone."""
    count, length = (10, 20) if quick else (100, 20)
    tasks = count * length
    contestants = {
        f"{OURS}, chains": live(lambda: work.chains(count, length, alone=False), tasks),
        f"{OURS}, alone": live(lambda: work.chains(count, length, alone=True), tasks),
    }
    contestants |= _peers("chains", count, length, tasks)
    return _rows(f"{count} chains of {length}", tasks, contestants, 1 if quick else 3)


def forkjoin(*, quick: bool) -> list[dict[str, Any]]:
    """Stages of independent calls with a call between them that takes the results of all."""
    stages, width = (3, 100) if quick else (3, 1_000)
    tasks = stages * (width + 1)
    contestants = {OURS: live(lambda: work.fork_join(stages, width), tasks)} | _peers("forkjoin", stages, width, tasks)
    return _rows(f"fork-join {stages} x {width:,}", tasks, contestants, 1 if quick else 3)


def _peers(job: str, first: int, second: int, tasks: int) -> dict[str, Contestant]:
    return {name: peer(package, (job, first, second), tasks) for name, package in (("Ray", "ray"), ("Dask", "dask"))}


def _rows(title: str, tasks: int, contestants: Mapping[str, Contestant], rounds: int) -> list[dict[str, Any]]:
    costs = contest(contestants, rounds)
    reference = next(cost for cost in costs.values() if cost is not None)
    return [_row(title, tasks, name, cost, reference) for name, cost in costs.items()]


def _row(title: str, tasks: int, name: str, cost: Cost | None, reference: Cost) -> dict[str, Any]:
    row: dict[str, Any] = {"task": title, "by": name, "count": tasks}
    if cost is None:
        return row | dict.fromkeys(("cpu_ms", "wall_ms", "rate"), "not installed")
    return row | {
        "cpu_ms": round(cost.cpu, 3),
        "wall_ms": round(cost.wall, 3),
        "rate": round(reference.wall / cost.wall, 2),
    }
