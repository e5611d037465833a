"""The same jobs by Ray and Dask, each in a process of its own, started and warmed up before the clock runs.

    python -m benchmarks.peers ray calls 10000

prints processor and wall seconds. Processor time is that of the process and all its descendants, read while they live.
Neither peer keeps anything on disk.
"""

import logging
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from subprocess import run as run_process
from typing import Any, Protocol, TypeAlias

from benchmarks.measure import Contestant, Cost, Stopwatch
from benchmarks.work import after, join, nothing

SLOTS = 2
PACKAGES = {"ray": "ray", "dask": "distributed"}

Job: TypeAlias = tuple[str, int, int]
"""Its name, and up to two sizes."""


class Peer(Protocol):
    """Calls functions somewhere else."""

    def submit(self, function: Callable[..., Any], *values: Any) -> Any:
        """A future value."""

    def gather(self, futures: list[Any]) -> list[Any]:
        """The values of futures."""

    def close(self) -> None:
        """End all processes."""


def peer(name: str, job: Job, tasks: int) -> Contestant:
    """A contestant that does a job with one of the peers."""

    def contestant(_: Path) -> Cost | None:
        if find_spec(PACKAGES[name]) is None:
            return None
        words = [sys.executable, "-W", "ignore", "-m", "benchmarks.peers", name, *map(str, job)]
        quiet = {**os.environ, "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}
        done = run_process(words, capture_output=True, text=True, env=quiet, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        return Cost(*map(float, done.stdout.split()[-2:])).shared_by(tasks)

    return contestant


class _Ray:
    def __init__(self) -> None:
        ray = self._ray = import_module("ray")  # optional
        ray.init(num_cpus=SLOTS, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        self._remote = {each: ray.remote(each) for each in (nothing, after, _second)}
        self._join = ray.remote(lambda *values: join(list(values)))

    def submit(self, function: Callable[..., Any], *values: Any) -> Any:
        return self._join.remote(*values) if function is join else self._remote[function].remote(*values)

    def gather(self, futures: list[Any]) -> list[Any]:
        found: list[Any] = self._ray.get(futures)
        return found

    def close(self) -> None:
        self._ray.shutdown()


class _Dask:
    def __init__(self) -> None:
        distributed: Any = import_module("distributed")  # optional
        cluster = distributed.LocalCluster(
            n_workers=SLOTS, threads_per_worker=1, processes=True, dashboard_address=None
        )
        self._client: Any = distributed.Client(cluster)

    def submit(self, function: Callable[..., Any], *values: Any) -> Any:
        arguments = ([*values],) if function is join else values
        return self._client.submit(function, *arguments, pure=False)

    def gather(self, futures: list[Any]) -> list[Any]:
        found: list[Any] = self._client.gather(futures)
        return found

    def close(self) -> None:
        self._client.shutdown()


def _calls(peer: Peer, count: int, _: int) -> None:
    peer.gather([peer.submit(nothing, item) for item in range(count)])


def _chains(peer: Peer, count: int, length: int) -> None:
    lines: list[Any] = [0] * count
    for _ in range(length):
        lines = [peer.submit(after, value) for value in lines]
    assert peer.gather(lines) == [length] * count


def _fork_join(peer: Peer, stages: int, width: int) -> None:
    before: Any = 0
    for _ in range(stages):
        before = peer.submit(join, *[peer.submit(_second, item, before) for item in range(width)])
    assert peer.gather([before]) == [width]


def _second(item: int, _: int) -> int:
    return item


def main(name: str, job: str, *sizes: str) -> None:
    """Do a job once, after some calls that wake everybody up."""
    peer: Peer = _Ray() if name == "ray" else _Dask()
    _calls(peer, 200, 0)
    jobs = {"calls": _calls, "chains": _chains, "forkjoin": _fork_join}
    stopwatch = Stopwatch()
    jobs[job](peer, *map(int, sizes))
    cost = stopwatch.read()
    peer.close()
    print(*cost)


if __name__ == "__main__":
    main(*sys.argv[1:])
