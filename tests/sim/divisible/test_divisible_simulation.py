"""Simulated sites and workers: in time, exact, and the same every time."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.divisible.records import Spec
from tradewind.core.divisible.settings import Settings
from tradewind.model.units import MINUTE, SECOND
from tradewind.sim.divisible.driver import Simulation, lateness, simulate
from tradewind.sim.divisible.noise import CALM, Noise, falling, jitter
from tradewind.sim.divisible.world import SitePlan, World


def world(seed: int, **more: object) -> World:
    random = Random(seed)
    sites = [
        SitePlan("a", 8, 100.0, tuple(jitter(random, 0.15, keep=0.8) for _ in range(8)), initial=2),
        SitePlan("b", 6, 60.0, tuple(jitter(random, 0.2, keep=0.8) for _ in range(6)), initial=1),
    ]
    jobs = [
        (round(random.random() * 30 * MINUTE), Spec(100_000, target=random.choice((600, 900)) * SECOND, maximum=8))
        for _ in range(5)
    ]
    return World(sites, sorted(jobs), seed=seed, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_jobs_end_in_time_exactly_once_over(seed: int) -> None:
    outcome = simulate(world(seed))
    assert [job.state for job in outcome.jobs] == ["done"] * 5
    assert all(job.delivered == job.iterations for job in outcome.jobs)
    assert max(lateness(job) for job in outcome.jobs) <= 0


def test_the_same_world_gives_the_same_outcome() -> None:
    assert simulate(world(1)) == simulate(world(1))
    assert simulate(world(1)).measures != simulate(world(2)).measures


@pytest.mark.parametrize("balancer", ["ruper", "ruper-original", "static"])
def test_killed_workers_and_a_service_that_is_down_lose_nothing(balancer: str) -> None:
    random = Random(3)
    kills = sorted(round(random.random() * 20 * MINUTE) for _ in range(60))
    outages = [(6 * MINUTE, 9 * MINUTE), (12 * MINUTE, 12 * MINUTE + 10 * SECOND)]
    spec = Spec(400_000, target=20 * MINUTE, initial=6, maximum=30, balancer=balancer)
    simulation = Simulation(
        World([SitePlan("a", 8, 100.0)], [(0, spec)], kills=kills, outages=outages, obeys=False, seed=1)
    )
    outcome = simulation.run()
    assert outcome.killed == 60
    pieces = sorted(piece for delivery in simulation.book.deliveries.values() for piece in delivery.ranges)
    assert pieces[0][0] == 0
    assert pieces[-1][1] == 400_000
    assert all(one[1] == other[0] for one, other in pairwise(pieces))


def test_all_partitions_end_together_when_nothing_changes() -> None:
    sites = [SitePlan("a", 2, 200.0), SitePlan("b", 3, 80.0)]
    spec = Spec(1_000_000, target=1_800 * SECOND, initial=5, maximum=5)
    outcome = simulate(World(sites, [(0, spec)], obeys=False))
    assert outcome.jobs[0].ended == pytest.approx(1_562.5 * SECOND, rel=0.002)


def test_a_job_that_cannot_be_in_time_is_told_of() -> None:
    spec = Spec(1_000_000, target=600 * SECOND, initial=2, maximum=2)
    outcome = simulate(World([SitePlan("a", 4, 100.0)], [(0, spec)], obeys=False))
    late = [notice for notice in outcome.notices if notice.what == "late"]
    assert late
    assert late[0].at < 120 * SECOND
    assert "after its target: has as many partitions as it may" in late[0].because
    assert lateness(outcome.jobs[0]) > 0


def test_a_job_that_never_had_a_slot_is_told_of_when_its_time_is_over() -> None:
    rest = Spec(10**6, target=300 * SECOND, tenant="ada")
    busy = Spec(100_000, target=60_000 * SECOND, maximum=1, tenant="bob", balancer="static", priority=1)
    outcome = simulate(World([SitePlan("a", 1, 100.0, tenants=("bob",))], [(0, busy), (0, rest)], until=1_000 * SECOND))
    (late,) = [notice for notice in outcome.notices if notice.what == "late"]
    assert (late.job, outcome.jobs[1].live) == ("job1", 0)
    assert 300 * SECOND < late.at < 320 * SECOND
    assert "no speed is known, " in late.because
    assert "after its target" in late.because


def test_tenants_share_slots_by_weight_and_the_first_due_goes_first() -> None:
    jobs = [(0, Spec(10**6, tenant="ada", target=3600 * SECOND, initial=9, maximum=9))]
    jobs += [(0, Spec(10**6, tenant="bob", target=3600 * SECOND, initial=9, maximum=9))]
    simulation = Simulation(World([SitePlan("a", 6, 50.0)], jobs, obeys=False, until=5 * MINUTE))
    tenant = simulation.book.tenant("bob")
    tenant.weight = 2_000
    simulation.book.put_tenant(tenant)
    simulation.run()
    assert [simulation.book.tenant(name).running for name in ("ada", "bob")] == [2, 4]
    urgent = [(0, Spec(1000, target=900 * SECOND)), (0, Spec(1000, target=600 * SECOND)), (0, Spec(10, priority=1))]
    found = simulate(World([SitePlan("a", 1, 50.0)], urgent, obeys=False)).jobs
    assert [job.number for job in sorted(found, key=lambda job: job.started or 0)] == [2, 1, 0]
    newest = World([SitePlan("a", 1, 50.0)], urgent[:2], Settings(is_lifo=True), obeys=False)
    assert [job.number for job in sorted(simulate(newest).jobs, key=lambda job: job.started or 0)] == [1, 0]


@given(
    st.lists(st.floats(0.05, 3), min_size=1, max_size=5),
    st.integers(1, 100),
    st.integers(0, 500),
    st.floats(0.1, 5_000),
)
@settings(max_examples=150)
def test_when_work_is_reached_is_when_it_is_done(values: list[float], tick: int, begin: int, work: float) -> None:
    noise = Noise(tuple(values), tick * SECOND, phase=7)
    at = noise.reached(10.0, begin * SECOND, work, 10**15)
    assert noise.done(10.0, begin * SECOND, at) == pytest.approx(work, abs=1e-3, rel=1e-6)


def test_noise_of_all_kinds() -> None:
    assert CALM.at(123) == 1
    fallen = falling(0.4, 10 * MINUTE)
    assert fallen.at(0) == 1
    assert fallen.at(5 * MINUTE) == pytest.approx(0.7)
    assert fallen.at(50 * MINUTE) == 0.4
    drawn = jitter(Random(1), 0.2, steps=2_000).values
    assert sum(drawn) / 2_000 == pytest.approx(1, abs=0.02)
