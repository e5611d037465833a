"""Simulated shares of elastic units: in time, exact, and the same every time, whatever fails."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from tradewind.experiments.tascaas.world import Job, Outcome, Site, World, counted, play
from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, Duration
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.noise import CALM, Noise, falling, jitter
from tradewind.sim.troubles import Calls, Troubles

WORK = 600
"""Seconds on the one slot."""
EVERY_OTHER = Calls(latency=SECOND // 200, every=2)
HALF = Calls(latency=SECOND // 200, failing=0.5)


def world(seed: int) -> World:
    random = Random(seed)
    sites = [
        Site("a", 8, 100.0, tuple(jitter(random, 0.15, keep=0.8) for _ in range(8)), 30 * SECOND),
        Site("b", 6, 60.0, tuple(jitter(random, 0.2, keep=0.8) for _ in range(6)), 30 * SECOND),
    ]
    jobs = [
        (round(random.random() * 30 * MINUTE), Job(100_000, random.choice((600, 900)) * SECOND, maximum=8))
        for _ in range(5)
    ]
    return World(sites, sorted(jobs, key=lambda each: each[0]), seed=seed)


def exactly(world: World) -> Outcome:
    """Play a world, and check that each iteration is delivered once."""
    outcome = play(world)
    for ran in outcome.jobs:
        assert counted(ran) == (ran.job.iterations, 0, 0)
        assert ran.status == "done"
    return outcome


@pytest.mark.parametrize("seed", range(4))
def test_jobs_end_in_time_exactly_once_over(seed: int) -> None:
    assert max(ran.lateness for ran in exactly(world(seed)).jobs) <= 0


def test_the_same_world_gives_the_same_outcome() -> None:
    troubled = replace(world(1), troubles=Troubles(HALF, ((5 * MINUTE, 6 * MINUTE),), (4 * MINUTE, 8 * MINUTE)))
    assert play(troubled) == play(troubled)
    assert play(troubled).measures != play(replace(troubled, seed=2)).measures
    assert play(world(1)).measures != play(world(2)).measures


@pytest.mark.parametrize("balancer", ["", "ruper-original", "static"])
def test_kills_and_a_control_plane_that_is_down_lose_nothing(balancer: str) -> None:
    random = Random(3)
    kills = tuple(sorted(round(random.random() * 20 * MINUTE) for _ in range(60)))
    outages = ((6 * MINUTE, 9 * MINUTE), (12 * MINUTE, 12 * MINUTE + 10 * SECOND))
    job = Job(400_000, 20 * MINUTE, initial=6, maximum=30, balancer=balancer)
    lost = exactly(World([Site("a", 8, 100.0)], [(0, job)], troubles=Troubles(Calls(), outages, kills), seed=1))
    assert lost.casualties.killed == 60
    assert 0 < lost.casualties.machines < 60
    assert lost.casualties.wasted > 0


def test_nothing_is_decided_while_the_control_plane_is_down() -> None:
    """Shares finish what they hold; what comes meanwhile waits."""
    job = Job(40_000, 20 * MINUTE, initial=2, maximum=2)
    down = (2 * MINUTE, 10 * MINUTE)
    outcome = exactly(World([Site("a", 2, 50.0)], [(0, job), (3 * MINUTE, job)], troubles=Troubles(outages=(down,))))
    assert not [measure for measure in outcome.measures if down[0] <= measure.at < down[1]]
    assert outcome.jobs[1].submitted == down[1]
    assert outcome.end > 9 * MINUTE + 40_000 * SECOND // 100


def test_all_shares_end_together_when_nothing_changes() -> None:
    sites = [Site("a", 2, 200.0), Site("b", 3, 80.0)]
    outcome = play(World(sites, [(0, Job(1_000_000, 1_800 * SECOND, 5, 5))]))
    assert outcome.end == pytest.approx(1_562.5 * SECOND, rel=0.002)


def test_a_job_that_cannot_be_in_time_is_predicted_to_be_late() -> None:
    outcome = play(World([Site("a", 4, 100.0)], [(0, Job(1_000_000, 600 * SECOND, 2, 2))]))
    assert outcome.jobs[0].is_warned
    assert outcome.jobs[0].lateness > 0
    fine = play(World([Site("a", 4, 100.0)], [(0, Job(100_000, 900 * SECOND, 2, 2))]))
    assert not fine.jobs[0].is_warned


# Calls that take time and fail


def on_one_slot(calls: Calls, seed: int = 0) -> float:
    """Seconds of a job that one slot does in time, if no call fails; callers give up on an answer after 10 s."""
    job = Job(100 * WORK, WORK * SECOND)
    return exactly(World([Site("a", 1, 100.0)], [(0, job)], troubles=Troubles(calls), seed=seed)).end / SECOND


def test_calls_that_fail_cost_about_the_time_that_they_take() -> None:
    """Twenty reports, each of which fails once: 10 s each where the share stands still, almost nothing where not."""
    assert on_one_slot(Calls(latency=SECOND // 200)) == pytest.approx(WORK, rel=0.01)
    assert 700 < on_one_slot(replace(EVERY_OTHER, is_blocking=True)) < 950
    assert on_one_slot(EVERY_OTHER) < 700


@pytest.mark.parametrize("seed", range(3))
def test_shares_that_stand_still_do_not_collapse_where_half_of_the_calls_fail(seed: int) -> None:
    assert on_one_slot(HALF, seed) < on_one_slot(replace(HALF, is_blocking=True), seed) < 1_000


def test_what_is_done_while_a_report_is_on_its_way_counts() -> None:
    """Calls of 8 s, every 30 s or so: standing still would cost a quarter of the time."""
    slow = Calls(latency=8 * SECOND)
    assert on_one_slot(slow) < 650
    assert on_one_slot(replace(slow, is_blocking=True)) > 740


@given(
    failing=st.floats(0, 0.6),
    arriving=st.floats(0, 1),
    latency=st.integers(0, 20 * SECOND),
    seed=st.integers(0, 99),
    is_blocking=st.booleans(),
)
@limits(max_examples=40, deadline=None)
def test_whatever_becomes_of_calls_each_iteration_is_delivered_once(
    failing: float, arriving: float, latency: Duration, seed: int, is_blocking: bool
) -> None:
    """Two jobs, the second of which gets slots of the first; shares and machines die, and the server is away."""
    jobs = [(0, Job(30_000, 20 * MINUTE, 4, 4)), (MINUTE, Job(9_000, 5 * MINUTE))]
    calls = Calls(latency, failing=failing, arriving=arriving, is_blocking=is_blocking)
    kills = tuple(at * MINUTE for at in (2, 3, 5, 8))
    troubles = Troubles(calls, ((4 * MINUTE, 4 * MINUTE + 40 * SECOND),), kills)
    exactly(World([Site("a", 3, 20.0), Site("b", 1, 35.0)], jobs, troubles=troubles, seed=seed))


def test_a_late_job_asks_for_no_more_shares_than_there_can_be_slots() -> None:
    outcome = play(World([Site("a", 3, 100.0)], [(0, Job(10**6, 600 * SECOND))]))
    assert max(sample.queued for sample in outcome.samples) <= 3
    assert max(sample.active for sample in outcome.samples) == 3


# Noise


def test_a_machine_takes_the_noise_of_the_first_free_slot() -> None:
    """Two slots, one of them ten times slower: a job with one share is fast, and one with two gets both."""
    noise = (CALM, Noise((0.1,)))
    alone = play(World([Site("a", 2, 100.0, noise)], [(0, Job(60_000, HOUR, 1, 1, "static"))]))
    both = play(World([Site("a", 2, 100.0, noise)], [(0, Job(60_000, HOUR, 2, 2, "static"))]))
    assert alone.end == pytest.approx(600 * SECOND, rel=0.01)
    assert both.end == pytest.approx(3_000 * SECOND, rel=0.01)


@given(
    st.lists(st.floats(0.05, 3), min_size=1, max_size=5),
    st.integers(1, 100),
    st.integers(0, 500),
    st.floats(0.1, 5_000),
)
@limits(max_examples=150)
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


def test_outages_hold_up_work_that_is_not_divided_too() -> None:
    kind = MachineType("m", billing=Billing(HOUR), boot=BootLag(20 * SECOND), limit=1)
    scenario = Scenario((), (kind,), (Tenant("default"),), "demand", interval=10 * SECOND)
    work = Workflow("w", (Task("t", "t", runtime=MINUTE),), ((),))
    ends = []
    for outages in ((), ((5 * SECOND, 5 * MINUTE),)):
        records: list[object] = []
        troubles = Troubles(outages=outages)
        Simulation(scenario, [Submission(SECOND, work)], build("demand"), troubles=troubles).run(records.append)
        ends.append(max(record.at for record in records))  # type: ignore[attr-defined]
    assert ends[0] < 2 * MINUTE
    assert ends[1] >= 5 * MINUTE + MINUTE
