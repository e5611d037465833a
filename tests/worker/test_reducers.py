"""Results reduced by a command or a function, on a site that is willing to."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from running import Service, service, worker

from tradewind.core.divisible import beat, jobs, partitions, sites
from tradewind.core.divisible.book import MemoryBook
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Given
from tradewind.core.divisible.records import Job, Partition, Spec
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import HOUR, SECOND


class World:
    """A job of which all is delivered, and two sites."""

    def __init__(self) -> None:
        self.book = MemoryBook()
        self.now = 0
        self.count = 0
        turn = self.turn()
        jobs.submit(turn, "a", Spec(10, reducer="run", reduce="merge"))
        for name in ("one", "two"):
            sites.register(turn, name, 4, 4)
        [(job, partition)] = self.fetch("one")
        partitions.start(turn, job, partition)
        partitions.report(turn, job, partition, 10, SECOND, [Given(1, [(0, 10)])])
        self.job, self.first = job, partition

    def turn(self) -> Turn:
        return Turn(self.book, Settings(), self.now)

    def fetch(self, site: str, *, reduces: bool = True) -> list[tuple[Job, Partition]]:
        self.count += 1
        turn = self.turn()
        return sites.fetch(turn, sites.known(turn, site), str(self.count), [f"{self.count}"], reduces=reduces)


def test_all_delivered_the_job_waits_for_a_site_that_reduces() -> None:
    world = World()
    assert world.job.state == "reducing"
    assert world.fetch("two", reduces=False) == []
    [(job, reducer)] = world.fetch("two")
    assert partitions.start(world.turn(), job, reducer).next == "wait"
    assert partitions.report(world.turn(), job, world.first, 10, 2 * SECOND).next == "end"
    partitions.reduced(world.turn(), job, reducer)
    partitions.reduced(world.turn(), job, reducer)
    assert job.state == "done"
    assert world.fetch("one") == []


def test_a_silent_reducer_is_replaced_and_cannot_come_back() -> None:
    world = World()
    [(job, old)] = world.fetch("one")
    partitions.start(world.turn(), job, old)
    for _ in range(2):  # the first look only sees that nobody has looked for long
        world.now += 10 * SECOND
        beat.beat(world.turn())
    world.now += HOUR
    beat.beat(world.turn())
    for _ in range(60):
        world.now += 10 * SECOND
        beat.beat(world.turn())
    assert old.state == "lost"
    [(job, new)] = world.fetch("two")
    partitions.start(world.turn(), job, new)
    with pytest.raises(Refused):
        partitions.reduced(world.turn(), job, old)
    partitions.reduced(world.turn(), job, new)
    assert job.state == "done"


def test_a_reducer_that_fails_is_tried_three_times_and_told() -> None:
    world = World()
    for _ in range(partitions.REDUCTIONS):
        assert world.job.state == "reducing"
        [(job, reducer)] = world.fetch("one")
        partitions.start(world.turn(), job, reducer)
        partitions.finish(world.turn(), job, reducer, "no room")
    assert world.job.is_over
    assert world.job.message == "the reducer failed 3 times; the last time: no room"
    jobs.resume(world.turn(), world.job)
    assert len(world.fetch("one")) == 1


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service(tmp_path_factory.mktemp("reducers")) as made:
        yield made


def over(calm: Service, job: str) -> dict[str, object]:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        shown: dict[str, object] = calm.get(f"/jobs/{job}")
        if shown["state"] in ("done", "failed"):
            return shown
        time.sleep(0.1)
    raise TimeoutError


def test_a_site_reduces_with_a_command_and_with_a_function(calm: Service, tmp_path: Path) -> None:
    merge = tmp_path / "merge.py"
    merge.write_text(
        "import json, sys\n"
        "parts = [json.load(open(name)) for name in sys.stdin.read().split()]\n"
        "print(json.dumps({'n': sum(p['n'] for p in parts), 'total': sum(p['total'] for p in parts)}))\n"
    )
    command = ["{python}", "-m", "tradewind.worker.child", "worker_functions:summed"]
    whole = {"n": 500, "total": sum(range(500))}
    with worker(calm.url, calm.token("reducing")):
        for kind, reduce in (("run", f"{sys.executable} {merge}"), ("python", "worker_functions:added")):
            body = {"iterations": 500, "command": command, "reducer": kind, "reduce": reduce}
            job = calm.post("/jobs", body)["id"]
            assert over(calm, job)["state"] == "done"
            assert calm.get(f"/jobs/{job}/results")["result"] == whole
        body = {"iterations": 50, "command": command, "reducer": "run", "reduce": "echo full >&2; exit 5"}
        shown = over(calm, calm.post("/jobs", body)["id"])
    assert shown["state"] == "failed"
    assert shown["message"] == "the reducer failed 3 times; the last time: the reducer ended with code 5: full"
