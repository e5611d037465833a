"""Any calls in any order, repeated, late and forged: the ledger stays exact, and honest workers end the job."""

from collections import Counter
from collections.abc import Sequence
from itertools import count
from random import Random

import pytest
from divisible_audit import audit

from tradewind.core.divisible import beat, jobs, partitions, sites
from tradewind.core.divisible.book import MemoryBook
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Answer, Given
from tradewind.core.divisible.records import Job, Partition, Range, Spec
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import SECOND

SETTINGS = Settings()
BALANCERS = ("ruper", "ruper-original", "static")


def first(ranges: Sequence[Range], many: int) -> list[Range]:
    """The first iterations of some ranges."""
    found = []
    for begin, end in ranges:
        if many > 0:
            found.append((begin, min(end, begin + many)))
            many -= end - begin
    return found


class Calls:
    """Random callers."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.book = MemoryBook()
        self.now = 0
        self.leases = count()
        self.known: list[tuple[int, int, str]] = []
        self.seen = Counter[str]()
        sites.register(self.turn(), "a", 4, 8)
        sites.register(self.turn(), "b", 2, 2, ("ada",))

    def turn(self) -> Turn:
        return Turn(self.book, SETTINGS, self.now)

    def step(self) -> None:
        """One call; most are honest."""
        verbs = [self.submit, self.wait, self.fetch, self.work, self.forge, self.finish, self.cancel]
        verb = self.random.choices(verbs, (2, 6, 12, 60, 8, 2, 0.3))[0]
        try:
            verb()
            self.seen[verb.__name__] += 1
        except Refused as refused:
            self.seen[f"{verb.__name__} {refused.why}"] += 1

    def submit(self) -> None:
        random = self.random
        spec = Spec(
            random.choice((1, 7, 60, 200)),
            tenant=random.choice(("ada", "bob")),
            initial=random.randint(1, 4),
            maximum=6,
            target=random.choice((None, SECOND, 100 * SECOND, 2_000 * SECOND)),
            balancer=random.choice(BALANCERS),
        )
        id = f"job{len(self.book.jobs)}"
        job = jobs.submit(self.turn(), id, spec)
        assert jobs.submit(self.turn(), id, spec) is job

    def wait(self) -> None:
        for _ in range(self.random.choice((1, 1, 1, 4, 20))):
            self.now += self.random.randint(1, 14) * SECOND
            beat.beat(self.turn())

    def fetch(self) -> None:
        turn = self.turn()
        site = self.random.choice(("a", "b"))
        leases = [str(next(self.leases)) for _ in range(self.random.randint(1, 3))]
        handed = sites.fetch(turn, sites.known(turn, site), leases[0], leases)
        again = sites.fetch(self.turn(), sites.known(turn, site), leases[0], ["other"])
        assert [partition.lease for _, partition in handed] == [partition.lease for _, partition in again]
        assert site == "a" or all(job.spec.tenant == "ada" for job, _ in handed)
        self.known += [(job.number, partition.number, partition.lease) for job, partition in handed]

    def chosen(self) -> tuple[Job, Partition]:
        if not self.known:
            raise Refused("unknown", "nobody is there")
        return partitions.opened(self.turn(), *self.random.choice(self.known[-12:]))

    def work(self) -> None:
        job, partition = self.chosen()
        if partition.state == "leased":
            answer = partitions.start(self.turn(), job, partition)
            assert partitions.start(self.turn(), job, partition) == answer
            return
        done = partition.done + round(self.random.choice((0, 0.3, 1, 1, 1.5)) * partition.left)
        given = first(partition.held, round(self.random.choice((0, 0.5, 1)) * (done - partition.delivered)))
        if len(given) > 1 and self.random.random() < 0.3:
            given.reverse()
        ones = [Given(partition.deliveries + 1, given, is_checkpoint=self.random.random() < 0.5)] if given else []
        elapsed = partition.elapsed + self.random.randint(0, 60) * SECOND
        answer = partitions.report(self.turn(), job, partition, done, elapsed, ones)
        before = (job.delivered, job.unassigned, job.queued, partition.done)
        assert partitions.report(self.turn(), job, partition, done, elapsed, ones).ranges == answer.ranges
        assert (job.delivered, job.unassigned, job.queued, partition.done) == before
        if answer.next == "end" and self.random.random() < 0.8:
            partitions.finish(self.turn(), job, partition)

    def forge(self) -> None:
        """Deliver what may not be held, or was delivered."""
        job, partition = self.chosen()
        begin = self.random.randint(-5, 210)
        piece = (begin, begin + self.random.randint(-3, 20))
        given = Given(partition.deliveries + self.random.randint(0, 2), [piece] * self.random.randint(1, 2))
        partitions.deliver(self.turn(), job, partition, given)

    def finish(self) -> None:
        job, partition = self.chosen()
        for _ in range(2):
            partitions.finish(self.turn(), job, partition, self.random.choice(("", "broken")))

    def cancel(self) -> None:
        for job in list(self.book.jobs.values())[-1:]:
            jobs.cancel(self.turn(), job)

    def settle(self) -> None:
        """Workers that do as they are told, until every job is over."""
        for _ in range(3_000):
            if all(job.is_over for job in self.book.jobs.values()):
                return
            self.now += 5 * SECOND
            turn = self.turn()
            beat.beat(turn)
            leases = [str(next(self.leases)) for _ in range(8)]
            for job, partition in sites.fetch(turn, sites.known(turn, "a"), "", leases):
                partitions.start(turn, job, partition)
            for partition in list(self.book.partitions.values()):
                if partition.state == "running":
                    self.obey(turn, partition)
        raise AssertionError("a job does not end")

    def obey(self, turn: Turn, partition: Partition) -> None:
        job = self.book.jobs[partition.job]
        given = Given(partition.deliveries + 1, first(partition.held, 3))
        done = min(max(partition.done, partition.delivered + 3), partition.delivered + partition.count)
        answer: Answer | None = None
        try:
            elapsed = partition.elapsed + 5 * SECOND
            answer = partitions.report(turn, job, partition, done, elapsed, [given] if given.ranges else [])
        except Refused as refused:
            self.seen[refused.why] += 1
        if answer is None or answer.next == "end":
            partitions.finish(turn, job, partition)


@pytest.mark.parametrize("seed", range(40))
def test_the_ledger_is_exact_whatever_is_called(seed: int) -> None:
    calls = Calls(seed)
    for _ in range(150):
        calls.step()
        audit(calls.book)
    calls.settle()
    audit(calls.book)


def test_the_callers_above_do_get_somewhere() -> None:
    seen = Counter[str]()
    for seed in range(10):
        calls = Calls(seed)
        for _ in range(150):
            calls.step()
        seen += calls.seen
        seen["delivered"] += sum(job.delivered for job in calls.book.jobs.values())
        seen["done"] += sum(job.state == "done" for job in calls.book.jobs.values())
    assert seen["work"] > 150
    assert seen["delivered"] > 500
    assert min(seen[what] for what in ("done", "finish", "work stale", "work conflict", "forge conflict")) > 0, seen
