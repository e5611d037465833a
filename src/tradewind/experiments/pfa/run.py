"""Run the experiments: every policy in every setting on the same submissions, three times with different workflows.

The grid runs in parallel. Decisions, which are measured in real time, are timed afterwards in a single process. The
policies take turns, so that a temporary slowdown of the host affects all of them.
"""

import random
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from statistics import fmean

from tradewind.core.log import Sink, SinkFor
from tradewind.core.series import Curves, Series
from tradewind.core.state import State
from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.pfa.measure import Intervals, Result, measure
from tradewind.experiments.pfa.settings import (
    ARRIVALS,
    BASELINE,
    INTERVAL,
    MAIN,
    PFA_MA,
    PLF,
    REPETITIONS,
    RICHEST,
    SCF,
    USERS,
    Extent,
    Setting,
    Variant,
    scenario,
)
from tradewind.experiments.pfa.timing import Timing, time_decisions
from tradewind.experiments.request import Step
from tradewind.model.scenario import Submission
from tradewind.model.units import SECOND, Time
from tradewind.sim.arrivals import arrive
from tradewind.sim.generators.pfa import pfa_workload
from tradewind.sim.simulate import Outcome, simulate
from tradewind.sim.workload import work as work_of

SHOWN = (PFA_MA[0], PLF, SCF)
"""The policies of Fig. 16."""
WINDOW = (1800 * SECOND, 3600 * SECOND)
"""The second half hour, when policies have a history; the paper does not say when its excerpt begins."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One policy in one setting on one set of workflows."""

    setting: Setting
    variant: Variant
    workflows: int
    seed: int


@dataclass(frozen=True, slots=True)
class Dynamics:
    """The course of a run over time."""

    curves: tuple[Curves, ...]
    """By user."""
    arrivals: tuple[tuple[Time, ...], ...]
    """By user."""


@dataclass(frozen=True, slots=True)
class Study:
    """All results that the claims are judged by."""

    results: Mapping[tuple[Setting, Variant], tuple[Result, ...]]
    """One result per repetition."""
    timings: Mapping[Variant, Timing]
    dynamics: Mapping[Variant, Dynamics]


def steps(extent: Extent) -> int:
    """Return the number of steps of a study."""
    return len(extent.grid()) * extent.repetitions + len(MAIN) * extent.rounds + len(SHOWN)


def run_study(extent: Extent, seed: int, step: Step, workers: int = 0) -> Study:
    """Run all experiments; the same seed gives the same results, except for decision times."""
    return Study(
        results=run_grid(extent, seed, step, workers),
        timings=time_decisions(
            submissions(BASELINE.workload, extent.workflows, set_seed(seed, 0)), set_seed(seed, 0), extent.rounds, step
        ),
        dynamics=follow_dynamics(extent, seed, step),
    )


def run_grid(
    extent: Extent, seed: int, step: Step, workers: int = 0
) -> dict[tuple[Setting, Variant], tuple[Result, ...]]:
    """Return the results of every policy in every setting."""
    grid = [
        Experiment(setting, variant, extent.workflows, set_seed(seed, repetition))
        for repetition in range(extent.repetitions)
        for setting, variant in extent.grid()
    ]
    found: dict[Experiment, Result] = {}
    with closing(run_jobs(run_experiment, grid, workers)) as running:
        for experiment, result in running:
            found[experiment] = result
            step(f"{experiment.variant.label}, budget {experiment.setting.label}")
    gathered: dict[tuple[Setting, Variant], list[Result]] = {}
    for experiment in grid:  # in grid order, not in order of completion
        gathered.setdefault((experiment.setting, experiment.variant), []).append(found[experiment])
    return {key: tuple(results) for key, results in gathered.items()}


def run_experiment(experiment: Experiment) -> Result:
    """Simulate one experiment."""
    intervals = Intervals(INTERVAL)
    return measure(_simulate(experiment, intervals), intervals)


def set_seed(seed: int, repetition: int) -> int:
    """Return the seed of a set of workflows; study 0 uses the generator's sets 1, 2 and 3."""
    return seed * REPETITIONS + repetition + 1


def follow_dynamics(extent: Extent, seed: int, step: Step) -> dict[Variant, Dynamics]:
    """Return the course of a run with the largest budget under each kind of policy, for the period shown."""
    first = submissions(RICHEST.workload, extent.workflows, set_seed(seed, 0))
    work = [submission for submission in first if submission.at < WINDOW[1]]
    found = {}
    for variant in SHOWN:
        series: list[Series] = []

        def follow(state: State, series: list[Series] = series) -> Sink:
            series.append(Series(state))
            return series[0].observe

        outcome = simulate(scenario(RICHEST, variant, set_seed(seed, 0)), work, [follow])
        curves = tuple(series[0].curves)
        arrivals = tuple(
            tuple(run.submitted for run in outcome.meter.runs if run.tenant == user) for user in range(len(curves))
        )
        found[variant] = Dynamics(curves, arrivals)
        step(f"dynamics of {variant.label}")
    return found


def _simulate(experiment: Experiment, *sinks: SinkFor) -> Outcome:
    work = submissions(experiment.setting.workload, experiment.workflows, experiment.seed)
    return simulate(scenario(experiment.setting, experiment.variant, experiment.seed), work, sinks)


@lru_cache(maxsize=2)
def submissions(workload: int, workflows: int, seed: int) -> tuple[Submission, ...]:
    """Return the same workflows at the same times for every policy and budget."""
    rng = random.Random(f"pfa {seed} arrivals")
    made = pfa_workload(workload, seed, workflows)
    times = arrive(ARRIVALS, len(made), round(fmean(map(work_of, made))), rng)
    return tuple(map(Submission, times, made, cycle(USERS)))
