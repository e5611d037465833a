"""Find out why SCS is late and expensive: the same jobs again, with one suspected cause removed at a time."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.scs.experiment import Experiment, Result, run_experiment
from tradewind.experiments.scs.progress import Progress
from tradewind.experiments.scs.settings import BASE_VOLUME, LAG, PAPER, SCS, Cell, Variant, cells
from tradewind.model.units import HOUR, MINUTE

LATE = (
    Variant("scs without lag", "scs", lag=0),
    Variant("scs without consolidation", "scs", {"consolidation": False}),
)
"""Changes to SCS, tried in the draws in which it was late."""
BILLED = (
    ("by the hour, with the lag", HOUR, LAG),
    ("by the minute, with the lag", MINUTE, LAG),
    ("by the minute, without lag", MINUTE, 0),
)
"""Ways to bill machines: with unused hours and the lag, without unused hours, and without both."""


@dataclass(frozen=True, slots=True)
class Causes:
    """The results with each suspected cause removed."""

    late: Mapping[str, int] = field(default_factory=dict)
    """Late jobs under SCS and its variants, in the draws in which SCS was late."""
    won: Mapping[str, int] = field(default_factory=dict)
    """Number of cells in which SCS is the cheapest of the paper's three, by billing."""
    cells: int = 0
    """Number of cells this was tried in."""
    jobs: int = 0
    """Number of jobs in the draws in which SCS was late."""
    costs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Cost over those cells, by billing and by policy."""


def find_causes(found: Mapping[Experiment, Result], hours: int, seed: int, progress: Progress, workers: int) -> Causes:
    """Run the experiments that separate causes from guesses."""
    late = [
        experiment
        for experiment, result in found.items()
        if experiment.variant == SCS and result.late and isinstance(experiment.case, Cell) and experiment.case.is_exact
    ]
    counts = {SCS.label: sum(found[experiment].late for experiment in late)}
    for variant in LATE:
        again = _run([replace(experiment, variant=variant) for experiment in late], progress, workers)
        counts[variant.label] = sum(result.late for result in again.values())
    table = cells(BASE_VOLUME, patterns=("stable",))
    won: dict[str, int] = {}
    costs: dict[str, Mapping[str, float]] = {}
    for label, period, lag in BILLED:
        variants = [replace(v, label=f"{v.label}, {label}", period=period, lag=lag) for v in PAPER]
        grid = [Experiment(cell, variant, 0, hours, seed) for cell in table for variant in variants]
        results = _run(grid, progress, workers)
        rows = [[results[Experiment(cell, v, 0, hours, seed)].cost for v in variants] for cell in table]
        won[label] = sum(row[0] < min(row[1:]) for row in rows)
        costs[label] = {v.label: sum(column) for v, column in zip(PAPER, zip(*rows, strict=True), strict=True)}
    return Causes(counts, won, len(table), sum(found[experiment].jobs for experiment in late), costs)


def _run(grid: Iterable[Experiment], progress: Progress, workers: int) -> dict[Experiment, Result]:
    wanted = list(grid)
    found = {each: result for each in wanted if (result := progress.of(each)) is not None}
    with closing(run_jobs(run_experiment, [each for each in wanted if each not in found], workers)) as running:
        for experiment, result in running:
            progress.add(experiment, result)
            found[experiment] = result
    return found
