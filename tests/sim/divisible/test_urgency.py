"""Slots that change hands between jobs."""

from collections.abc import Sequence

import pytest

from tradewind.core.divisible import beat, jobs, partitions, sites
from tradewind.core.divisible.book import MemoryBook
from tradewind.core.divisible.partitions import Given
from tradewind.core.divisible.records import Job, Partition, Spec
from tradewind.core.divisible.settings import Settings
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import MINUTE, SECOND, Time
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
