"""Runs the experiments: every policy in every cell on the same jobs, in as many draws as the extent says.

The grid runs in parallel; decisions are timed afterwards, alone.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.request import Step
from tradewind.experiments.scs.others import Other, jobs_of, others
from tradewind.experiments.scs.settings import SCS, VARIANTS, Cell, Extent, Variant, scenario
from tradewind.experiments.scs.timing import time_decision
from tradewind.experiments.scs.workload import submissions
from tradewind.model.scenario import Submission
from tradewind.model.units import in_units
from tradewind.sim.simulate import Outcome, simulate


@dataclass(frozen=True, slots=True)
class Result:
    """What one run cost, and how it went."""

    cost: float
    jobs: int
    late: int
    """Jobs that missed their deadline or never ended."""
    held: int
    """Machine time, in microseconds."""
    busy: int

    @property
    def utilisation(self) -> float:
        """The share of the machine time held in which something ran."""
        return self.busy / self.held if self.held else 0.0


@dataclass(frozen=True, slots=True)
class Experiment:
    """One policy on the jobs of one draw of a cell, or on another workflow."""

    case: Cell | Other
    variant: Variant
    draw: int
    size: int
    """Hours that are simulated, or jobs that are submitted."""
    seed: int


Results = Mapping[tuple[Cell, Variant], tuple[Result, ...]]


@dataclass(frozen=True, slots=True)
class Study:
    """All that the claims are judged by."""

    cells: Results
    noise: Results
    others: Mapping[tuple[Other, Variant], Result]
    timings: Mapping[Variant, Mapping[int, float]]
    """Seconds of a decision, by the number of active jobs."""


def steps(extent: Extent) -> int:
    """How many steps a study takes."""
    return len(experiments(extent, 0)) + len(extent.sizes)


def experiments(extent: Extent, seed: int) -> list[Experiment]:
    """All that is simulated."""
    found = [
        Experiment(cell, variant, draw, sweep.hours, seed)
        for sweep in (*extent.sweeps, extent.noise)
        for draw in range(sweep.first, sweep.first + sweep.draws)
        for cell in sweep.cells
        for variant in VARIANTS
    ]
    if not extent.others:
        return found
    return found + [Experiment(other, variant, 0, extent.others, seed) for other in others() for variant in VARIANTS]


def run_study(extent: Extent, seed: int, step: Step, workers: int = 0) -> Study:
    """Run all experiments; the same seed gives the same results, but for the times that decisions take."""
    grid = experiments(extent, seed)
    found: dict[Experiment, Result] = {}
    with closing(run_jobs(run_experiment, grid, workers)) as running:
        for experiment, result in running:
            found[experiment] = result
            name = experiment.case.label if isinstance(experiment.case, Cell) else experiment.case.name
            step(f"{experiment.variant.label}, {name}")
    noisy = set(extent.noise.cells)
    timings: dict[Variant, dict[int, float]] = {}
    timings[SCS] = {}
    for size in extent.sizes:
        timings[SCS][size] = time_decision(SCS, size)
        step(f"timing {SCS.label} with {size} jobs")
    return Study(
        cells=_gather(grid, found, lambda cell: cell not in noisy),
        noise=_gather(grid, found, lambda cell: cell in noisy),
        others={(e.case, e.variant): found[e] for e in grid if isinstance(e.case, Other)},
        timings=timings,
    )


def _gather(
    grid: Sequence[Experiment], found: Mapping[Experiment, Result], is_wanted: Callable[[Cell], bool]
) -> dict[tuple[Cell, Variant], tuple[Result, ...]]:
    gathered: dict[tuple[Cell, Variant], list[Result]] = {}
    for experiment in grid:  # in order, whichever ended first
        if isinstance(experiment.case, Cell) and is_wanted(experiment.case):
            gathered.setdefault((experiment.case, experiment.variant), []).append(found[experiment])
    return {key: tuple(results) for key, results in gathered.items()}


def run_experiment(experiment: Experiment) -> Result:
    """Simulate one experiment."""
    case, variant = experiment.case, experiment.variant
    if isinstance(case, Other):
        return measure(simulate(scenario(variant, experiment.seed), jobs_of(case, experiment.size, experiment.seed)))
    work: list[Submission] = submissions(case, experiment.draw, experiment.seed, experiment.size)
    seed = experiment.seed * 1_000 + experiment.draw
    return measure(simulate(scenario(variant, seed, case), work))


def measure(outcome: Outcome) -> Result:
    """The figures of one run."""
    meter = outcome.meter
    tenant = meter.tenants[0]
    runs = meter.runs
    last = max([meter.end, *(level.since for level in tenant.allocated)])
    late = sum(run.ended is None or (run.deadline is not None and run.ended > run.deadline) for run in runs)
    return Result(
        cost=in_units(tenant.charged - tenant.refunded),
        jobs=len(runs),
        late=late,
        held=sum(level.until(last) for level in tenant.allocated),
        busy=sum(level.until(last) for level in tenant.busy),
    )
