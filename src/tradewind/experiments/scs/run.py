"""Run the experiments: every policy in every cell on the same jobs, for as many draws as the extent says.

The grid runs in parallel, draw by draw. Results are stored as they come in, so that an interrupted study can resume.
Decisions are timed afterwards, without other work.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.request import Step
from tradewind.experiments.scs.causes import Causes, find_causes
from tradewind.experiments.scs.experiment import Experiment, Result, run_experiment
from tradewind.experiments.scs.extent import Extent
from tradewind.experiments.scs.others import Other, others
from tradewind.experiments.scs.progress import Progress
from tradewind.experiments.scs.settings import PLUS, SCS, VARIANTS, Cell, Variant
from tradewind.experiments.scs.timing import Timing, time_decision

TIMED = (SCS, PLUS)
MOST_PLANNED = 1_000
"""Number of jobs planned together when SCS+ is timed: each takes some hundredths of a second."""
Results = Mapping[tuple[Cell, Variant], tuple[Result, ...]]


@dataclass(frozen=True, slots=True)
class Study:
    """All results that the claims are judged by."""

    cells: Results
    noise: Results
    others: Mapping[tuple[Other, Variant], Result]
    timings: Mapping[Variant, Mapping[int, Timing]]
    """By the number of active jobs."""
    causes: Causes = field(default_factory=Causes)


def steps(extent: Extent) -> int:
    """Return the number of steps of a study."""
    return len(experiments(extent, 0)) + sum(len(_sizes(extent, variant)) for variant in TIMED)


def experiments(extent: Extent, seed: int) -> list[Experiment]:
    """Return all experiments, first draws first."""
    sweeps = (*extent.sweeps, extent.noise)
    found = [
        Experiment(cell, variant, draw, sweep.hours, seed)
        for draw in range(max(sweep.draws for sweep in sweeps))
        for sweep in sweeps
        if draw < sweep.draws
        for cell in sweep.cells
        for variant in VARIANTS
    ]
    if not extent.others:
        return found
    return found + [Experiment(other, variant, 0, extent.others, seed) for other in others() for variant in VARIANTS]


def run_study(extent: Extent, seed: int, step: Step, progress: Progress, workers: int = 0) -> Study:
    """Run the missing experiments; the same seed gives the same results, except for decision times."""
    grid = experiments(extent, seed)
    found: dict[Experiment, Result] = {}
    for experiment in grid:
        result = progress.of(experiment)
        if result is not None:
            found[experiment] = result
            step("results of an earlier run")
    with closing(run_jobs(run_experiment, [each for each in grid if each not in found], workers)) as running:
        for experiment, result in running:
            found[experiment] = result
            progress.add(experiment, result)
            name = experiment.case.label if isinstance(experiment.case, Cell) else experiment.case.name
            step(f"draw {experiment.draw}, {experiment.variant.label}, {name}")
    noisy = set(extent.noise.cells)
    timings: dict[Variant, dict[int, Timing]] = {variant: {} for variant in TIMED}
    for variant in TIMED:
        for size in _sizes(extent, variant):
            timings[variant][size] = time_decision(variant, size)
            step(f"timing {variant.label} with {size} jobs")
    return Study(
        cells=_gather(grid, found, lambda cell: cell not in noisy),
        noise=_gather(grid, found, lambda cell: cell in noisy),
        others={(e.case, e.variant): found[e] for e in grid if isinstance(e.case, Other)},
        timings=timings,
        causes=find_causes(found, extent.noise.hours, seed, progress, workers),
    )


def _sizes(extent: Extent, variant: Variant) -> Sequence[int]:
    return [size for size in extent.sizes if variant != PLUS or size <= MOST_PLANNED]


def _gather(
    grid: Sequence[Experiment], found: Mapping[Experiment, Result], is_wanted: Callable[[Cell], bool]
) -> dict[tuple[Cell, Variant], tuple[Result, ...]]:
    gathered: dict[tuple[Cell, Variant], list[Result]] = {}
    for experiment in grid:  # in grid order, not in order of completion
        if isinstance(experiment.case, Cell) and is_wanted(experiment.case):
            gathered.setdefault((experiment.case, experiment.variant), []).append(found[experiment])
    return {key: tuple(results) for key, results in gathered.items()}
