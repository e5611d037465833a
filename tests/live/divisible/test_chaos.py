"""A thousand dead workers and twenty dead servers, in virtual time over a real store: nothing lost, nothing twice."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Given
from tradewind.core.divisible.records import Range, Spec
from tradewind.core.divisible.settings import Settings
from tradewind.live.divisible import merging, verbs
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.open import open_session
from tradewind.model.units import SECOND

KILLS, RESTARTS, ITERATIONS = 1_000, 20, 2_400_000


@dataclass
class Worker:
    job: str
    number: int
    lease: str
    speed: int
    began: int
    at: int
    ranges: list[Range]
    due: int
    done: int = 0
    delivered: int = 0
    deliveries: int = 0


class Chaos:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.now = 10**15
        self.random = Random(7)
        self.desk = self.opened()
        self.workers: list[Worker] = []
        self.kills = self.restarts = self.repeated = self.fetches = 0

    def opened(self) -> Desk:
        return Desk(open_session(str(self.file), "relaxed", 5 * SECOND), Settings(), lambda: self.now)

    def call(self, work: Any) -> Any:
        """Call; the server may die before it has done it, or after, with the answer on its way."""
        if self.restarts < RESTARTS and self.random.random() < 0.01:
            self.restarts += 1
            if self.random.random() < 0.5:
                self.desk.do(work)  # nobody hears the answer
                self.repeated += 1
            self.desk.close()
            self.now += self.random.randint(1, 100) * SECOND
            self.desk = self.opened()
        return self.desk.do(work)

    def fetch(self, free: int) -> None:
        self.fetches += 1
        key, leases = f"key{self.fetches}", [f"{self.fetches}-{place}" for place in range(free)]
        _, handed = self.call(lambda turn: verbs.fetch(turn, "a", key, leases))
        for each in handed:
            id, number, lease = each.job.id, each.partition.number, each.partition.lease
            told = self.call(lambda turn: verbs.start(turn, id, number, lease))  # noqa: B023
            worker = Worker(id, number, lease, self.random.choice((20, 60, 150)), self.now, self.now, [], 0)
            self.obey(worker, told)
            self.workers.append(worker)

    def obey(self, worker: Worker, told: Any) -> None:
        worker.ranges = [(begin, end) for begin, end in told["ranges"]]
        worker.at = self.now
        work = sum(end - begin for begin, end in worker.ranges)
        needs = work * SECOND // worker.speed + 1 if told["next"] == "go" else 10**12
        worker.due = self.now + min(round(told["interval"] * SECOND), needs)

    def report(self, worker: Worker) -> None:
        many = (self.now - worker.at) * worker.speed // SECOND
        given = []
        for begin, end in worker.ranges:
            if many > 0:
                given.append((begin, min(end, begin + many)))
                many -= end - begin
        count = sum(end - begin for begin, end in given)
        worker.done += count
        worker.deliveries += bool(given)
        one = [Given(worker.deliveries, given, f'{{"inline": {count}}}')] if given else []
        elapsed = self.now - worker.began
        try:
            told = self.call(
                lambda turn: verbs.report(turn, worker.job, worker.number, worker.lease, worker.done, elapsed, one)
            )
        except Refused as refused:
            told = {"next": "end"}
            if refused.why != "stale":
                raise
        if told["next"] == "end":
            self.call(lambda turn: verbs.finish(turn, worker.job, worker.number, worker.lease, ""))
            self.workers.remove(worker)
        else:
            self.obey(worker, told)

    def run(self) -> None:
        self.call(lambda turn: verbs.register(turn, "a", 40, 40, ()))
        spec = Spec(ITERATIONS, initial=30, maximum=120, target=1_500 * SECOND, reducer="sum")
        self.call(lambda turn: verbs.submit(turn, "j", spec))
        for _ in range(20_000):
            if self.call(lambda turn: verbs.show(turn, "j", None))["state"] == "done":
                return
            self.now += 2 * SECOND
            for worker in [worker for worker in self.workers if worker.due <= self.now]:
                self.report(worker)
            if len(self.workers) < 40:
                self.fetch(40 - len(self.workers))
            while self.workers and self.kills < KILLS and self.random.random() < 0.7:
                self.workers.remove(self.random.choice(self.workers))
                self.kills += 1
        raise AssertionError("the job does not end")


def test_a_thousand_dead_workers_and_twenty_dead_servers(tmp_path: Path) -> None:
    chaos = Chaos(tmp_path / "store.db")
    try:
        chaos.run()
        rows = chaos.desk.do(lambda turn: turn.book.session.fetch("SELECT ranges FROM deliveries"))  # type: ignore[attr-defined]
        counted: list[Range] = sorted((begin, end) for (text,) in rows for begin, end in json.loads(text))
        assert counted[0][0] == 0
        assert counted[-1][1] == ITERATIONS
        assert all(before[1] == after[0] for before, after in pairwise(counted))
        merged = merging.merged(chaos.desk, 0, "sum", None)  # type: ignore[arg-type]
        assert [*merged] == [str(ITERATIONS).encode()]
        assert chaos.kills == KILLS
        assert chaos.restarts == RESTARTS
        assert chaos.repeated > 3
    finally:
        chaos.desk.close()
