"""Plan and run all simulations of a study."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.slacksched.measure import Figures
from tradewind.experiments.slacksched.settings import (
    CLUSTER_NAMES,
    LONG,
    SATURATING,
    SHORT,
    SWINGING,
    WINDY,
    Jobs,
    Trial,
)
from tradewind.experiments.slacksched.world import run_trial
from tradewind.model.machine import Market
from tradewind.model.units import HOUR, MINUTE
from tradewind.sim.traces.provider import PLACEMENTS

CAPACITY, NODELAY, SLACKSCHED, ORACLE = "capacity", "slacksched-nodelay", "slacksched", "oracle"
ALL = (CAPACITY, NODELAY, SLACKSCHED, ORACLE)
MAIN = (CAPACITY, SLACKSCHED, ORACLE)
LONGEST = (10, 20, 240, 480, 960)
"""Minutes, besides the value for the standard jobs."""
SPACINGS = (3, 4, 8)
"""Minutes, besides the value for the standard jobs."""
FULL_LOAD = "full load"
"""Jobs that arrive so fast, and in such numbers, that the machines fill up."""
ERRORS = (-0.5, -0.2, 0.2, 0.5)
STANDARD = "C2"
LARGE_SPOT, NEWEST = "spot, 16 cores", "harvest, newest killed"
"""Market variants that show what makes the difference between them."""
OWN = "ours"
"""Label of runs that kill the newest attempt first, our default."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much to run."""

    clusters: tuple[str, ...] = CLUSTER_NAMES
    seeds: int = 4
    """Seeds for clusters and lengths of tasks."""
    sweep_seeds: int = 2
    jobs: int = 50
    swinging: int = 150


FULL = Extent()
QUICK = Extent(("C1", "C2", "C5", "C8"), seeds=1, sweep_seeds=1, jobs=16, swinging=40)

Key = tuple[str, str]
"""Experiment and scheme."""


@dataclass(frozen=True, slots=True)
class Study:
    """All figures by experiment and scheme, one per seed."""

    extent: Extent
    found: Mapping[Key, Sequence[Figures]]

    def __getitem__(self, key: Key) -> Sequence[Figures]:
        return self.found[key]


class _Plan:
    """The trials planned so far."""

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self.trials: dict[Key, Trial] = {}

    def add(self, experiment: str, scheme: str, trial: Trial, times: int = 1) -> None:
        """Add one scheme of an experiment, with a multiple of the usual number of jobs."""
        count = self.extent.swinging if trial.jobs.swing else times * self.extent.jobs
        self.trials[experiment, scheme] = replace(trial, label=experiment, jobs=replace(trial.jobs, count=count))

    def schemes(self, experiment: str, names: Sequence[str], jobs: Jobs = SHORT, cluster: str = STANDARD) -> None:
        """Add some policies on the same work and machines."""
        for name in names:
            self.add(experiment, name, Trial("", name, cluster, jobs))


def plan(extent: Extent) -> dict[Key, Trial]:
    """Return every trial, without its seed."""
    made = _Plan(extent)
    for cluster in extent.clusters:
        made.schemes(cluster, ALL, cluster=cluster)
        for name in MAIN:
            made.add(f"{cluster} {OWN}", name, Trial("", name, cluster, kill="newest"))
    made.schemes("long", ALL, LONG, "C8")
    _sweeps(made)
    _machines(made)
    _rivals(made)
    return made.trials


def _sweeps(made: _Plan) -> None:
    """Add sweeps over the parameters that gains depend on (Fig. 11 to 15)."""
    for distribution in ("gaussian", "pareto"):
        made.schemes(distribution, MAIN, Jobs(distribution))
    for minutes in LONGEST:
        share = minutes * MINUTE / SHORT.longest
        jobs = Jobs(longest=minutes * MINUTE, spacing=round(SHORT.spacing * share))
        made.schemes(f"longest {minutes}", MAIN, jobs)
    for minutes in SPACINGS:
        made.schemes(f"spacing {minutes}", MAIN, Jobs(spacing=minutes * MINUTE))
    for name in MAIN[:2]:
        made.add(FULL_LOAD, name, Trial("", name, jobs=SATURATING), times=3)
    for error in ERRORS:
        for name in (SLACKSCHED, ORACLE):
            made.add(f"error {error:+.0%}", name, Trial("", name, error=error))


def _machines(made: _Plan) -> None:
    """Add trials that vary the machines held and where they come from (Fig. 16 to 19 and 24)."""
    for placement in PLACEMENTS:
        for name in (CAPACITY, SLACKSCHED):
            for acquire in (False, True):
                scheme = name + ("+acquirer" if acquire else "")
                made.add(placement, scheme, Trial("", name, parameters={"acquire": acquire}, placement=placement))
    by_use = {"scaling": "utilisation", "machines": 24}
    for market, machines in ((Market.ON_DEMAND, 48), (Market.SPOT, 48), (Market.HARVEST, 24)):
        parameters = {**by_use, "machines": machines}
        made.add("cost", market.value, Trial("", CAPACITY, jobs=SWINGING, parameters=parameters, market=market))
    large = Trial("", CAPACITY, jobs=SWINGING, parameters=by_use, market=Market.SPOT, size=16)
    made.add("cost", LARGE_SPOT, large)
    newest = Trial("", CAPACITY, jobs=SWINGING, parameters=by_use, kill="newest")
    made.add("cost", NEWEST, newest)
    made.add("cost", SLACKSCHED, Trial("", SLACKSCHED, jobs=SWINGING, parameters={**by_use, "acquire": True}))
    for name in MAIN[:2]:
        made.add("power", name, Trial("", name, jobs=WINDY, power=True))
        made.add("mixed", name, Trial("", name, interruptible=0.5))
    for acquire in (False, True):
        trial = Trial("", CAPACITY, parameters={"acquire": acquire}, halves=True)
        made.add("halves", "acquirer" if acquire else "none", trial)


def _rivals(made: _Plan) -> None:
    """Add other ways to handle preemptions, and variants of our own (appendix B)."""
    for minutes in (1, 2):
        made.add(STANDARD, f"checkpoint {minutes}", Trial("", "checkpoint", parameters={"cost": f"{minutes}m"}))
    made.add(STANDARD, "replicate", Trial("", "replicate"))
    for form in ("first", "several", "shrink"):
        made.add(STANDARD, form, Trial("", SLACKSCHED, parameters={"form": form}))
    made.add(STANDARD, "literal", Trial("", SLACKSCHED, parameters={"literal": True, "form": "first", "kills": "all"}))
    made.add(STANDARD, "naive", Trial("", SLACKSCHED, parameters={"naive": True}))
    made.add(STANDARD, "heartbeat", Trial("", "slacksched-heartbeat"))
    made.add(STANDARD, "strict", Trial("", ORACLE, parameters={"strict": True}))


def seeds_of(extent: Extent, key: Key) -> int:
    """Return the number of seeds that an experiment is run with."""
    many = key[0] in extent.clusters or key[0] == "long"
    return extent.seeds if many else extent.sweep_seeds


def steps(extent: Extent) -> int:
    """Return the number of simulations in a study."""
    return sum(seeds_of(extent, key) for key in plan(extent))


def run_study(extent: Extent, seed: int, step: Callable[[str], None], workers: int = 0) -> Study:
    """Run all experiments; the same seed gives the same results."""
    jobs = [
        (key, replace(trial, seed=1_000 * seed + place))
        for key, trial in plan(extent).items()
        for place in range(seeds_of(extent, key))
    ]
    jobs.sort(key=lambda job: job[1].jobs.longest < 2 * HOUR)  # longest first, so that the workers finish together
    found: dict[Key, dict[int, Figures]] = {}
    for (key, trial), figures in run_jobs(_run, jobs, workers):
        found.setdefault(key, {})[trial.seed] = figures
        step(f"{key[0]}, {key[1]}")
    return Study(extent, {key: [each[seed] for seed in sorted(each)] for key, each in found.items()})


def _run(job: tuple[Key, Trial]) -> Figures:
    return run_trial(job[1])
