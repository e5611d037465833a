"""Runs the simulated experiments: the whole system over many workloads, single jobs, static partitioning, kills."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from time import thread_time

from tradewind.core.divisible.records import Job, Spec
from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.request import Step
from tradewind.experiments.tascaas import static
from tradewind.experiments.tascaas.feasible import share_in_time
from tradewind.experiments.tascaas.settings import ITERATIONS, MAXIMUM, Extent, sites, workload
from tradewind.experiments.tascaas.static import Level, Trial
from tradewind.model.units import HOUR, MINUTE, SECOND
from tradewind.sim.divisible.driver import Simulation, simulate
from tradewind.sim.divisible.noise import CALM, falling
from tradewind.sim.divisible.world import Measure, Outcome, SitePlan, World

BALANCERS = ("ruper", "ruper-original")


@dataclass(frozen=True, slots=True)
class Whole:
    """One run of the whole system."""

    balancer: str
    seed: int
    is_light: bool = False
    """Whether there are a fifth fewer jobs; run to compare, judged by no claim."""


@dataclass(frozen=True, slots=True)
class Killed:
    """What came of the run with kills."""

    iterations: int
    delivered: int
    twice: int
    missing: int
    kills: int
    outages: int
    lost: int
    """Leases that ran out."""
    wasted: int
    hours: float
    undisturbed: float
    """Hours of the same job without kills and outages."""


@dataclass(frozen=True, slots=True)
class Study:
    """All that the claims are judged by."""

    wholes: dict[Whole, Outcome]
    lighter: Sequence[Outcome]
    steady: Outcome
    """A job of type 2 on slots of constant speeds."""
    falling: Outcome
    """A job of type 4 on slots whose speed falls."""
    calm: Outcome
    """The same on slots whose speed stays."""
    levels: Sequence[Level]
    shares: Sequence[float]
    """Beside Table 4."""
    draws: int
    """That these come from."""
    killed: Killed
    per_call: float
    """Seconds of processor time for a call, simulation included."""


def steps(extent: Extent) -> int:
    """How many steps a study takes."""
    return (len(BALANCERS) + 1) * extent.seeds + len(static.NAMES) + 3


def run_study(extent: Extent, seed: int, step: Step, workers: int = 0) -> Study:
    """Run everything; the same seed gives the same results, but for the time that calls take."""
    seeds = range(seed * extent.seeds, (seed + 1) * extent.seeds)
    wanted = [Whole(balancer, each) for each in seeds for balancer in BALANCERS]
    lighter = [Whole("ruper", each, is_light=True) for each in seeds]
    found: dict[Whole, Outcome] = {}
    for whole, outcome in run_jobs(run_whole, [*wanted, *lighter], workers):
        found[whole] = outcome
        step(f"whole system, {whole.balancer}")
    trials = [Trial(name, extent.draws, seed) for name in static.NAMES]
    levels: dict[str, Level | None] = {}
    for trial, level in run_jobs(static.run_level, trials, workers):
        levels[trial.name] = level
        step(f"static, {trial.name}")
    shares = static.interval_shares(2 * extent.draws, seed)
    step("static, table 4")
    before = thread_time()
    one = run_whole(wanted[0])
    per_call = (thread_time() - before) / one.calls
    killed = run_killed(extent, seed)
    step("kills")
    steady, calm, fallen = run_steady(), run_single(falls=False), run_single(falls=True)
    step("single jobs")
    return Study(
        {whole: found[whole] for whole in wanted},
        [found[whole] for whole in lighter],
        steady,
        fallen,
        calm,
        [level for name in static.NAMES if (level := levels[name]) is not None],
        shares,
        2 * extent.draws,
        killed,
        per_call,
    )


def run_whole(whole: Whole) -> Outcome:
    """Three hours of all sites."""
    places = sites(Random(f"{whole.seed} sites"))
    jobs = workload(Random(f"{whole.seed} jobs"), whole.balancer, is_light=whole.is_light)
    return simulate(World(places, jobs, seed=whole.seed))


def feasible(whole: Whole) -> float:
    """The part of a workload that somebody who knew the future could do in time."""
    return share_in_time(sites(Random(f"{whole.seed} sites")), workload(Random(f"{whole.seed} jobs")))


def run_steady() -> Outcome:
    """Fig. 7: a job of type 2; the first two slots are a fast and a slow one, as in the paper."""
    places = [
        SitePlan("a", 1, 150.0, (CALM,)),
        SitePlan("b", 1, 80.0, (CALM,)),
        SitePlan("c", 6, 200.0, (CALM,)),
    ]
    return simulate(World(places, [(0, Spec(ITERATIONS, target=2700 * SECOND, maximum=MAXIMUM))], obeys=False))


def run_single(*, falls: bool) -> Outcome:
    """Fig. 8: a job of type 4 on slots whose speed falls to 45 % within 20 minutes, or stays."""
    noise = falling(0.45, 20 * MINUTE) if falls else CALM
    places = [SitePlan("a", 32, 150.0, (noise,)), SitePlan("b", 16, 110.0, (noise,))]
    return simulate(World(places, [(0, Spec(ITERATIONS, target=1500 * SECOND, maximum=MAXIMUM))], obeys=False))


def run_killed(extent: Extent, seed: int) -> Killed:
    """One long job on all slots, with workers killed and the service down at random times."""
    random = Random(f"{seed} kills")
    places = [replace(site, initial=None) for site in sites(random)]
    spec = Spec(40_000_000, target=2 * HOUR, initial=56, maximum=200)
    calm = simulate(World(places, [(0, spec)], obeys=False))
    hours = calm.end / HOUR
    kills = [round((0.02 + 0.98 * random.random()) * hours * HOUR) for _ in range(extent.kills)]
    downs = [round(random.random() * hours * HOUR) for _ in range(extent.outages)]
    outages = [(at, at + round(random.uniform(5, 120) * SECOND)) for at in downs]
    world = World(places, [(0, spec)], kills=sorted(kills), outages=outages, obeys=False, seed=seed)
    simulation = Simulation(world)
    outcome = simulation.run()
    job = outcome.jobs[0]
    ranges = sorted(piece for delivery in simulation.book.deliveries.values() for piece in delivery.ranges)
    twice, missing, reached = 0, 0, 0
    for begin, end in ranges:
        twice += max(0, min(end, reached) - begin)
        missing += max(0, begin - reached)
        reached = max(reached, end)
    missing += job.iterations - reached
    return Killed(
        job.iterations,
        job.delivered,
        twice,
        missing,
        outcome.killed,
        len(outages),
        job.lost,
        outcome.wasted,
        (job.ended or outcome.end) / HOUR,
        hours,
    )


def measures_of(outcome: Outcome, job: Job) -> dict[int, list[Measure]]:
    """The reports of a job, by partition."""
    found: dict[int, list[Measure]] = {}
    for measure in outcome.measures:
        if measure.job == job.number:
            found.setdefault(measure.partition, []).append(measure)
    return found
