"""Runs the simulated experiments: the whole system over many workloads, single jobs, static partitioning, kills."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from time import thread_time

from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.request import Step
from tradewind.experiments.tascaas import static
from tradewind.experiments.tascaas.feasible import share_in_time
from tradewind.experiments.tascaas.settings import ITERATIONS, MAXIMUM, SLOTS, Extent, sites, workload
from tradewind.experiments.tascaas.static import Level, Trial
from tradewind.experiments.tascaas.world import Job, Outcome, Site, World, counted, play
from tradewind.model.units import HOUR, MINUTE, SECOND
from tradewind.sim.noise import CALM, falling
from tradewind.sim.troubles import Troubles

OURS, ORIGINAL = POLICIES = ("tascaas", "tascaas-original")
LIGHT = 0.8
"""Part of the jobs in the workload that is run to compare, and judged by no claim."""


@dataclass(frozen=True, slots=True)
class Whole:
    """One run of the whole system."""

    policy: str
    seed: int
    load: float = 1.0
    """How many jobs there are, relative to the workload that claims are judged by."""


@dataclass(frozen=True, slots=True)
class Killed:
    """What came of the run with kills."""

    iterations: int
    delivered: int
    twice: int
    missing: int
    kills: int
    outages: int
    machines: int
    """Kills that took the machine as well."""
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
    """Seconds of processor time for an event, simulation included."""


def steps(extent: Extent) -> int:
    """How many steps a study takes."""
    return (len(POLICIES) + 1) * extent.seeds + len(static.NAMES) + 3


def run_study(extent: Extent, seed: int, step: Step, workers: int = 0) -> Study:
    """Run everything; the same seed gives the same results, but for the time that calls take."""
    seeds = range(seed * extent.seeds, (seed + 1) * extent.seeds)
    wanted = [Whole(policy, each) for each in seeds for policy in POLICIES]
    lighter = [Whole(OURS, each, load=LIGHT) for each in seeds]
    found: dict[Whole, Outcome] = {}
    for whole, outcome in run_jobs(run_whole, [*wanted, *lighter], workers):
        found[whole] = outcome
        step(f"whole system, {whole.policy}")
    trials = [Trial(name, extent.draws, seed) for name in static.NAMES]
    levels: dict[str, Level | None] = {}
    for trial, level in run_jobs(static.run_level, trials, workers):
        levels[trial.name] = level
        step(f"static, {trial.name}")
    shares = static.interval_shares(2 * extent.draws, seed)
    step("static, table 4")
    before = thread_time()
    one = run_whole(wanted[0])
    per_call = (thread_time() - before) / one.events
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
    """Play three hours of all sites."""
    places = sites(Random(f"{whole.seed} sites"))
    jobs = workload(Random(f"{whole.seed} jobs"), load=whole.load)
    return play(World(places, jobs, whole.policy, seed=whole.seed, slots=sum(SLOTS.values()) // 4))


def feasible(whole: Whole) -> float:
    """Return the part of a workload that a scheduler that knew the future could do in time."""
    jobs = workload(Random(f"{whole.seed} jobs"), load=whole.load)
    return share_in_time(sites(Random(f"{whole.seed} sites")), jobs)


def run_steady() -> Outcome:
    """Fig. 7: a job of type 2; the first two slots are a fast and a slow one, as in the paper."""
    places = [Site("a", 1, 150.0, (CALM,)), Site("b", 1, 80.0, (CALM,)), Site("c", 6, 200.0, (CALM,))]
    return play(World(places, [(0, Job(ITERATIONS, 2700 * SECOND, maximum=MAXIMUM))]))


def run_single(*, falls: bool) -> Outcome:
    """Fig. 8: a job of type 4 on slots whose speed falls to 45 % within 20 minutes, or stays."""
    noise = falling(0.45, 20 * MINUTE) if falls else CALM
    places = [Site("a", 32, 150.0, (noise,)), Site("b", 16, 110.0, (noise,))]
    return play(World(places, [(0, Job(ITERATIONS, 1500 * SECOND, maximum=MAXIMUM))]))


def run_killed(extent: Extent, seed: int) -> Killed:
    """Play one long job on all slots, with shares and machines killed and the control plane down at random times."""
    random = Random(f"{seed} kills")
    places = [replace(site, boot=None) for site in sites(random)]
    job = Job(40_000_000, 2 * HOUR, initial=56, maximum=56)
    world = World(places, [(0, job)], seed=seed)
    hours = play(world).end / HOUR
    kills = sorted(round((0.02 + 0.98 * random.random()) * hours * HOUR) for _ in range(extent.kills))
    downs = [round(random.random() * hours * HOUR) for _ in range(extent.outages)]
    outages = tuple((at, at + round(random.uniform(5, 120) * SECOND)) for at in downs)
    outcome = play(replace(world, troubles=Troubles(outages=outages, kills=tuple(kills))))
    delivered, twice, missing = counted(outcome.jobs[0])
    lost = outcome.casualties
    return Killed(
        job.iterations,
        delivered,
        twice,
        missing,
        lost.killed,
        len(outages),
        lost.machines,
        lost.wasted,
        outcome.end / HOUR,
        hours,
    )
