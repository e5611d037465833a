"""Balancers, the partitioning rule and the scaling hint, by hand and against brute force."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.model.units import SECOND, Duration
from tradewind.policies.divisible import partitioning, scaling, speed
from tradewind.policies.divisible.original import Original
from tradewind.policies.divisible.protocol import MEAN, SPEED, eta, mean_speed, remaining, typical_speed
from tradewind.policies.divisible.registry import BALANCERS
from tradewind.policies.divisible.ruper import Ruper, report_interval
from tradewind.policies.divisible.scaling import Load, Need, Reach
from tradewind.policies.divisible.speed import Speed
from tradewind.policies.divisible.static import Static


@dataclass(frozen=True)
class AJob:
    iterations: int = 1_000_000
    computed: int = 0
    unassigned: int = 500_000
    submitted: int = 0
    paced: int = 0
    speeds: int = 0
    silent: int = 0
    measured: int = 0
    live: int = 0
    queued: int = 0
    initial: int = 1
    maximum: int = 20
    target: Duration | None = 2_000 * SECOND
    since: int = 0
    weights: tuple[int, ...] = ()
    made: int = 0
    rated: int = 0


@dataclass(frozen=True)
class APart:
    number: int = 0
    speed: Speed = Speed()  # noqa: RUF009  # frozen
    interval: Duration = 100 * SECOND
    left: int = 0
    reports: int = 3


def job_of(*speeds: int, **more: object) -> AJob:
    """A job whose partitions have just reported these iterations per second."""
    return replace(
        AJob(speeds=sum(speeds) * SPEED, measured=len(speeds), live=len(speeds), made=len(speeds)),
        **more,  # type: ignore[arg-type]
    )


def part(own: int, **more: object) -> APart:
    return replace(APart(speed=Speed(own * SPEED)), **more)  # type: ignore[arg-type]


# Speeds


def test_a_first_measure_is_taken_as_it_is_and_later_ones_count_half() -> None:
    first = speed.weighted(Speed(), 500, 10 * SECOND)
    assert first == Speed(50 * SPEED)
    second = speed.weighted(first, 300, 10 * SECOND)
    assert second.value == 40 * SPEED
    assert 0 < second.spread < 0.5
    assert speed.weighted(second, 5, 0) == second
    assert speed.last(first, 300, 10 * SECOND) == Speed(30 * SPEED)
    assert speed.weighted(Speed(), 0, SECOND).value == 1, "slow, but alive"
    assert speed.moved(first, second) == pytest.approx(0.2)
    assert speed.moved(Speed(), first) == 0


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 10**9)), min_size=1, max_size=30))
def test_an_estimate_stays_within_what_was_measured(reports: list[tuple[int, int]]) -> None:
    found = Speed()
    measures = []
    for done, elapsed in reports:
        found = speed.weighted(found, done, elapsed)
        measures.append(max(1, done * SPEED * SECOND // elapsed))
    assert min(measures) * (1 - 1e-9) - 1 <= found.value <= max(measures) * (1 + 1e-9) + 1
    assert 0 <= found.spread <= 10


# Shares


def test_shares_are_by_speed_and_no_more_than_two_intervals() -> None:
    job = job_of(100, 300, computed=100_000)
    assert Ruper().share(job, part(100), 0) == 2 * 100 * 100
    near = job_of(100, 300, computed=950_000, unassigned=50_000)  # 125 s left
    assert Ruper().share(near, part(100), 0) == 12_500
    assert Ruper().share(near, part(300), 0) == 37_500


def test_in_the_end_game_nothing_is_taken_back_and_shares_halve() -> None:
    job = job_of(100, 300, computed=984_000, unassigned=16_000)  # 40 s left
    assert Ruper().share(job, part(100), 0) == 2_000
    assert Ruper().share(job, part(100, left=9_000), 0) == 9_000
    last = job_of(100, 300, computed=999_960, unassigned=40)
    assert Ruper().share(last, part(100), 0) == 10


def test_others_are_taken_to_have_gone_on_since_they_reported() -> None:
    job = job_of(100, 300, computed=100_000, unassigned=0)
    assert remaining(job, 0) == 900_000
    assert remaining(job, 10 * SECOND) == 896_000
    assert remaining(replace(job, unassigned=899_000), 10 * SECOND) == 899_000
    assert eta(job, 0) == 2_250 * SECOND
    assert eta(AJob(), 0) is None
    assert eta(AJob(iterations=5, computed=5, unassigned=0), 0) == 0


def test_the_typical_speed_is_that_on_a_mean_slot_by_all_that_were_measured() -> None:
    slow = MEAN * 2 // 3
    assert typical_speed(job_of(80, rated=slow)) == pytest.approx(120 * SPEED)
    assert typical_speed(job_of(80, silent=120 * SPEED, rated=slow + MEAN)) == pytest.approx(120 * SPEED)
    assert typical_speed(AJob(live=1)) == 0


def test_a_partition_without_a_measure_starts_small_or_at_the_mean() -> None:
    assert Ruper().share(AJob(live=1), APart(reports=0), 0) == 50_000
    assert Ruper().share(replace(job_of(100), live=2), APart(reports=0), 0) == 20_000
    assert mean_speed(AJob()) == 0


def test_without_a_target_partitions_get_equal_parts_and_keep_them() -> None:
    job = AJob(target=None, initial=4, live=4)
    for make in BALANCERS.values():
        assert make(10 * SECOND).share(job, APart(reports=0), 0) == 250_000
        assert make(10 * SECOND).share(job, APart(left=77), 0) == 77
        assert make(10 * SECOND).wanted(job, APart(), 1_000, 0) == 0


def test_static_shares_are_by_weight_and_add_up() -> None:
    job = AJob(iterations=1_000, unassigned=1_000, initial=3, weights=(1, 2, 4))
    shares = [Static().share(job, APart(number=number, reports=0), 0) for number in range(3)]
    assert shares == [142, 286, 572]
    assert sum(shares) == 1_000
    assert Static().share(replace(job, unassigned=90, queued=0), APart(number=3, reports=0), 0) == 90


def test_the_original_gives_whole_shares_and_counts_the_silent() -> None:
    job = job_of(100, 300, computed=100_000, silent=400 * SPEED)
    assert Original().share(job, part(100), 0) == 225_000
    assert eta(job, 0, with_silent=True) == 1_125 * SECOND


def test_reports_come_sooner_while_the_speed_moves() -> None:
    job = AJob()
    assert report_interval(job, None, 0.0, 10 * SECOND) == 50 * SECOND
    assert report_interval(job, part(1, interval=100 * SECOND), 0.5, 10 * SECOND) == 80 * SECOND
    assert report_interval(job, part(1, interval=100 * SECOND), 0.0, 10 * SECOND) == 120 * SECOND
    assert report_interval(job, part(1, interval=120 * SECOND), 0.0, 10 * SECOND) == 125 * SECOND
    assert report_interval(job, part(1, interval=11 * SECOND), 1.0, 10 * SECOND) == 10 * SECOND


# How many partitions


def test_as_many_partitions_as_end_the_job_in_time() -> None:
    job = job_of(100)  # 10,000 s for one; 1,860 s are aimed at
    assert partitioning.ours(job, 10**6, 0) == 5
    assert partitioning.ours(replace(job, queued=5), 10**6, 0) == 0
    assert partitioning.ours(replace(job, maximum=4), 10**6, 0) == 3
    assert partitioning.ours(AJob(live=1), 10**6, 0) == 0, "nothing is known"
    assert partitioning.ours(replace(job, target=None), 10**6, 0) == 0


def test_no_more_partitions_wait_than_there_can_be_slots() -> None:
    job = job_of(100)
    assert partitioning.ours(job, 1, 0) == 1
    assert partitioning.ours(replace(job, queued=1), 1, 0) == 0
    assert partitioning.ours(replace(job, queued=1), 3, 0) == 2
    assert partitioning.ours(job, 0, 0) == 0


def test_partitions_without_a_slot_share_nothing() -> None:
    job = job_of(100, computed=940_000, unassigned=60_000)
    assert Ruper().share(replace(job, queued=1_000), part(100), 0) == Ruper().share(job, part(100), 0) == 2 * 100 * 100
    fresh = replace(job, live=2)
    assert Ruper().share(replace(fresh, queued=9), APart(reports=0), 0) == Ruper().share(fresh, APart(reports=0), 0)


@given(
    speeds=st.lists(st.integers(1, 1_000), min_size=1, max_size=8),
    computed=st.integers(0, 1_000_000),
    now=st.integers(0, 4_000),
)
def test_the_rule_asks_for_the_fewest_that_are_enough(speeds: list[int], computed: int, now: int) -> None:
    job = job_of(*speeds, computed=computed, maximum=10**6, unassigned=1)
    job = replace(job, paced=job.speeds * now * 1_000)
    more = partitioning.ours(job, 10**6, now * SECOND)
    left = max(100.0, 2_000 * partitioning.AIM - now)
    work = 1_000_000 - computed
    mean = job.speeds // job.measured / SPEED

    def time(extra: int) -> float:
        return work / (sum(speeds) + extra * mean)

    assert more >= 0
    if more:
        assert time(more) <= left * 1.001
        assert time(more - 1) > left * 0.999
    else:
        assert time(0) <= max(10.0, left * (1 + partitioning.TOLERANCE)) * 1.001


def test_the_original_asks_only_with_the_newest_partition_and_never_divides_by_nothing() -> None:
    job = job_of(100, 100)
    newest = part(100, number=1)
    assert partitioning.original(job, newest, 0) == 4
    assert partitioning.original(job, part(100, number=0), 0) == 0
    assert partitioning.original(job, part(100, number=1, reports=2), 0) == 0
    assert partitioning.original(job, newest, 2_000 * SECOND) == 18
    assert partitioning.ours(job, 10**6, 2_000 * SECOND) == 18


# How many slots


def test_the_hint_follows_the_load_with_a_spare_pool() -> None:
    load = Load(mean=20.0, busy=18, queued=4, dispatched=0, created=16, slots=30, achievable=56)
    assert scaling.ours(Need(), load) == Need(24, 8.0)
    assert scaling.ours(Need(25, 16.0), load).slots == 26
    assert scaling.ours(Need(27, 16.0), load).slots == 27, "a small drop changes nothing"
    assert scaling.ours(Need(50, 16.0), load).slots == 26
    assert scaling.grown(Need(10, 8.0), 30, 56).slots == 32
    assert scaling.grown(Need(40, 8.0), 30, 56).slots == 40
    assert scaling.grown(Need(10, 8.0), 60, 56).slots == 56


def test_the_original_takes_what_was_dispatched() -> None:
    def load(dispatched: int, queued: int) -> Load:
        return Load(0, 0, queued, dispatched, 0, 10, 56)

    assert scaling.original(Need(9), load(0, 6)).slots == 4
    assert scaling.original(Need(9), load(3, 6)).slots == 3
    assert scaling.original(Need(9), load(12, 6)).slots == 15
    assert scaling.original(Need(9), load(12, 1)).slots == 9


@given(st.integers(0, 300), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5_000_000)), max_size=6))
@settings(max_examples=200)
def test_slots_are_spread_whole_and_within_reach(slots: int, given_sites: list[tuple[int, int]]) -> None:
    sites = [Reach(*each) for each in given_sites]
    found = scaling.spread(slots, sites)
    assert sum(found) == min(slots, sum(site.achievable for site in sites))
    assert all(0 <= many <= site.achievable for many, site in zip(found, sites, strict=True))
    alike = scaling.spread_original(slots, sites)
    assert all(0 <= many <= site.achievable for many, site in zip(alike, sites, strict=True))


def test_faster_and_larger_sites_get_more() -> None:
    assert scaling.spread(14, [Reach(32, 0), Reach(16, 0), Reach(8, 0)]) == [8, 4, 2]
    assert scaling.spread(12, [Reach(10, 2_000_000), Reach(10, 1_000_000)]) == [8, 4]
    assert scaling.spread(19, [Reach(10, 9_000_000), Reach(10, 1_000_000)]) == [10, 9]
