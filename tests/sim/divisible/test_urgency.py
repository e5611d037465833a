"""Slots that change hands between jobs."""

from collections.abc import Sequence

import pytest

from tradewind.core.divisible import beat, jobs, partitions, sites, urgency
from tradewind.core.divisible.book import MemoryBook
from tradewind.core.divisible.partitions import Given
from tradewind.core.divisible.records import Job, Partition, Spec, Wanted
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import MINUTE, SECOND, Time
from tradewind.policies.divisible.protocol import MEAN, SPEED
from tradewind.sim.divisible.driver import lateness, simulate
from tradewind.sim.divisible.world import SitePlan, World

SLOTS = 8


def ended(jobs: Sequence[tuple[Time, Spec]]) -> list[Job]:
    world = World([SitePlan("a", SLOTS, 10.0)], jobs, obeys=False)
    return simulate(world).jobs


def test_a_job_with_time_in_hand_makes_way_and_both_are_in_time() -> None:
    long = Spec(72_000, target=60 * MINUTE, initial=SLOTS, maximum=SLOTS)
    short = Spec(15_000, target=10 * MINUTE, initial=1, maximum=SLOTS)
    calm, urgent = ended([(0, long), (5 * MINUTE, short)])
    assert lateness(urgent) <= 0
    assert lateness(calm) <= 0
    assert calm.delivered == calm.iterations
    assert urgent.peak > 1  # on slots that the other one had


def test_a_job_that_may_have_few_partitions_does_not_wait_until_all_that_are_due_earlier_have_ended() -> None:
    wide = Spec(60_000, target=20 * MINUTE, initial=SLOTS, maximum=SLOTS)  # 12.5 min on all slots, in time on six
    narrow = Spec(14_000, target=21 * MINUTE, initial=1, maximum=2)  # almost 12 min on two
    first, later = ended([(0, wide), (10 * SECOND, narrow)])
    assert first.due < later.due
    assert lateness(first) <= 0
    assert lateness(later) <= 0
    assert (later.started or 0) < (first.ended or 0)


def test_the_originals_rules_keep_slots_until_the_job_ends() -> None:
    long = Spec(72_000, target=60 * MINUTE, initial=SLOTS, maximum=SLOTS, balancer="ruper-original")
    short = Spec(15_000, target=10 * MINUTE, initial=1, maximum=SLOTS, balancer="ruper-original")
    _, urgent = ended([(0, long), (5 * MINUTE, short)])
    assert lateness(urgent) > 0


class Full:
    """One slot more than nothing: two slots with partitions of a long job, and a short one that waits."""

    def __init__(self, **short: object) -> None:
        self.book = MemoryBook()
        self.now = 0
        turn = self.turn()
        jobs.submit(turn, "long", Spec(100_000, target=600 * MINUTE, initial=2))
        sites.register(turn, "a", 2, 2)
        handed = sites.fetch(turn, sites.known(turn, "a"), "1", ["x", "y"])
        self.job = handed[0][0]
        self.partitions = [partition for _, partition in handed]
        for partition in self.partitions:
            partitions.start(turn, self.job, partition)
        jobs.submit(turn, "short", Spec(1_000, target=10 * MINUTE, **short))  # type: ignore[arg-type]
        for partition in self.partitions:
            self.report(partition)
        self.now += 5 * MINUTE
        beat.beat(self.turn())

    def turn(self) -> Turn:
        return Turn(self.book, Settings(), self.now)

    def report(self, partition: Partition) -> str:
        """All that it holds done and delivered."""
        self.now += 10 * SECOND
        given = Given(partition.deliveries + 1, list(partition.held))
        done = partition.delivered + partition.count
        return partitions.report(self.turn(), self.job, partition, done, self.now, [given]).next


def test_one_partition_ends_for_one_that_is_wanted() -> None:
    world = Full()
    assert [world.report(partition) for partition in world.partitions] == ["end", "go"]
    partitions.finish(world.turn(), world.job, world.partitions[0])
    turn = world.turn()
    [(job, _)] = sites.fetch(turn, sites.known(turn, "a"), "2", ["z"])
    assert job.id == "short"


@pytest.mark.parametrize("short", [{"priority": -1}, {"tenant": "rich"}], ids=["lower priority", "no smaller share"])
def test_nobody_makes_way_for(short: dict[str, object]) -> None:
    world = Full(**short)
    if "tenant" in short:
        tenant = world.book.tenant("rich")
        tenant.running = 2
        world.book.put_tenant(tenant)
    assert [world.report(partition) for partition in world.partitions] == ["go", "go"]


def test_another_tenant_with_a_smaller_share_gets_a_slot() -> None:
    world = Full(tenant="poor")
    assert world.report(world.partitions[0]) == "end"


def test_one_that_is_due_after_all_that_are_planned_for_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urgency, "PLANNED", 1)
    world = Full()
    assert [row.job for row in world.turn().pulse.wanted] == [1]
    assert [world.report(partition) for partition in world.partitions] == ["end", "go"]


def test_a_job_that_keeps_its_slots_makes_way_for_nobody() -> None:
    world = Full()
    world.job.spec = world.job.spec._replace(balancer="ruper-original")
    assert [world.report(partition) for partition in world.partitions] == ["go", "go"]


def measured(book: MemoryBook, id: str, spec: Spec, *, live: int) -> Job:
    """A job whose partitions each do 10 iterations a second, on mean slots."""
    job = jobs.submit(Turn(book, Settings(), 0), id, spec)
    job.live = job.measured = job.made = live
    job.speeds = live * 10 * SPEED
    job.rated = live * MEAN
    job.queued = 0
    book.put_job(job)
    return job


def test_a_plan_by_hand() -> None:
    """Four slots and a thousand seconds, 960 of which count; a job that has three of them, and one that just came.

    The first needs 960 s of one slot, the second 1,920 s: one and two slots from now on, if both are due then.
    """
    book = MemoryBook()
    turn = Turn(book, Settings(), 0)
    sites.register(turn, "a", 4, 4)
    spec = Spec(9_600, target=1_000 * SECOND, maximum=4)
    first = measured(book, "first", spec, live=3)
    second = measured(book, "second", spec._replace(iterations=19_200), live=1)
    for job in (first, second):
        book._live.update({(job.number, number): None for number in range(job.live)})  # type: ignore[misc]
    second.queued = 1
    book.put_job(second)
    urgency.note(turn)
    assert [(row.job, row.need, row.goal, row.has) for row in turn.pulse.wanted] == [(1, 2, 2, 1), (0, 1, 2, 3)]


@pytest.mark.parametrize(
    ("iterations", "jobs", "asked"),
    [(9_600, 2, [3, 3]), (490, 2, [0, 6]), (9_600, 1, [0])],
    ids=["up to its most", "not at its end", "not if it is alone"],
)
def test_idle_slots_are_asked_for_by_those_due_first(iterations: int, jobs: int, asked: list[int]) -> None:
    """Nine slots for all and four of a tenant; two jobs on one each, the second waits for one: six are idle."""
    book = MemoryBook()
    turn = Turn(book, Settings(), 0)
    sites.register(turn, "a", 1, 9)
    sites.register(turn, "b", 4, 4, ("other",))
    found = [
        measured(book, "first", Spec(iterations, target=1_000 * SECOND, maximum=4), live=1),
        measured(book, "second", Spec(9_600, target=2_000 * SECOND, maximum=20), live=1),
    ][:jobs]
    before = [0, 1] if jobs == 2 else [1]
    for job, queued in zip(found, before, strict=True):
        book._live[job.number, 0] = None  # type: ignore[assignment]
        job.queued = queued
        book.put_job(job)
    urgency.note(turn)
    assert [job.queued - queued for job, queued in zip(found, before, strict=True)] == asked
    urgency.note(turn)
    assert [job.queued - queued for job, queued in zip(found, before, strict=True)] == asked  # once


def test_the_plan_asks_for_partitions_of_a_job_that_nobody_speaks_for() -> None:
    world = Full()
    job = world.book.jobs[1]
    job.rated, job.silent, job.queued = MEAN, SPEED, 1  # one iteration a second: 1,000 s are left of 600
    world.book.put_job(job)
    beat.beat(world.turn())
    assert job.queued == 2
    assert world.book.pulse().wanted[0].need == 2  # type: ignore[union-attr]


def test_partitions_are_rated_by_how_fast_slots_of_their_site_were() -> None:
    world = Full()
    assert world.partitions[0].rating == MEAN
    slow = sites.register(world.turn(), "slow", 2, 2)
    fast = sites.known(world.turn(), "a")
    for _ in range(60):
        sites.rate(fast, 2 * MEAN)
        sites.rate(slow, MEAN)
    beat.beat(world.turn())
    [(job, partition)] = sites.fetch(world.turn(), slow, "2", ["z"])
    assert job.id == "short"
    assert partition.rating == pytest.approx(MEAN * 2 / 3, rel=0.01)


def test_a_result_to_be_reduced_is_in_need_only_for_sites_that_reduce() -> None:
    full = Full()
    turn = full.turn()
    job = turn.book.job(1)
    assert job is not None
    job.state, job.queued, job.live = "reducing", 1, 0
    turn.book.put_job(job)
    turn.pulse.wanted = (Wanted(job.spec.tenant, job.spec.priority, job.number, 1, 1, 0),)
    tenant, priority = job.spec.tenant, job.spec.priority
    assert urgency.next_in_need(turn, tenant, priority, reduces=False) is None
    assert urgency.next_in_need(turn, tenant, priority, reduces=True) is job
