"""Run the four experiments: many draws of 1 and 2 in each reading, in parallel; then 3, which is timed, and 4."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, thread_time

from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.request import Step
from tradewind.experiments.steep.measure import (
    Length,
    Tenths,
    done,
    finish_spread,
    length_of,
    longest_gap,
    longest_without,
)
from tradewind.experiments.steep.settings import (
    BASELINE,
    DYNAMIC,
    FAULTS,
    INFERRED,
    NEW,
    OLD,
    SETS,
    STATIC,
    Extent,
    Reading,
    Trial,
    start_of,
)
from tradewind.experiments.steep.world import simulate
from tradewind.model.units import Duration, Time
from tradewind.pictures.lanes import Lane

MANY = replace(DYNAMIC, is_many=True)
"""Experiment 2 with as many machines started at once as the work justifies; not in the paper."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One workload of experiment 1 or 2, to be run with both heuristics."""

    experiment: int
    trial: Trial
    reading: Reading
    seed: int


@dataclass(frozen=True, slots=True)
class Pair:
    """The results of one workload with both heuristics."""

    new: Length
    old: Length


@dataclass(frozen=True, slots=True)
class Scale:
    """The results of experiment 3."""

    chains: int
    agents: int
    done: int
    length: Duration
    gap: Duration
    spread: float
    is_right: bool
    tenths: Sequence[float]
    """Microseconds per chain."""
    cpu: float
    """Seconds of processor time."""
    wall: float
    """Seconds of real time."""


@dataclass(frozen=True, slots=True)
class Faults:
    """The results of experiment 4."""

    chains: int
    done: int
    length: Duration
    undisturbed: Duration
    """The same run without kills."""
    kills: int
    again: int
    """Chains that were lost with their agents and ran again."""
    created: int
    without: Mapping[str, tuple[Time, Duration]]
    """For each required set, when after the start and for how long at most no agent offered it."""
    is_right: bool


@dataclass(frozen=True, slots=True)
class Study:
    """All results that the claims are judged by."""

    pairs: Mapping[tuple[int, Reading], tuple[Pair, ...]]
    many: tuple[Length, ...]
    scale: Scale
    faults: Faults
    shown: Mapping[str, Sequence[Lane]]
    """The lanes of the runs that are drawn, by experiment and policy."""


def draws(extent: Extent, seed: int) -> list[Draw]:
    """Return all workloads of experiments 1 and 2."""
    first, second = extent.draws
    # experiment 1 depends on neither the mean run time nor the start time of VMs
    readings = [r for r in extent.readings if r.scale == 1 and r.boot == BASELINE.boot]
    return [
        *(Draw(1, STATIC, reading, seed * first + place) for reading in readings for place in range(first)),
        *(Draw(2, DYNAMIC, reading, seed * second + place) for reading in extent.readings for place in range(second)),
    ]


def steps(extent: Extent) -> int:
    """Return the number of steps of a study."""
    return len(draws(extent, 0)) + 3


def run_study(extent: Extent, seed: int, step: Step, workers: int = 0) -> Study:
    """Run all experiments; the same seed gives the same results, except for decision times."""
    found: dict[Draw, Pair] = {}
    wanted = draws(extent, seed)
    for draw, pair in run_jobs(run_pair, wanted, workers):
        found[draw] = pair
        step(f"experiment {draw.experiment}, {draw.reading.name}")
    pairs: dict[tuple[int, Reading], list[Pair]] = {}
    for draw in wanted:  # in the order of the draws, not of completion
        pairs.setdefault((draw.experiment, draw.reading), []).append(found[draw])
    start = start_of(BASELINE)
    many = [length_of(simulate(MANY, BASELINE, NEW, seed * extent.draws[1] + place), start) for place in range(4)]
    step("experiment 2, many at once")
    scale, scale_lanes = run_scale(extent.scale, seed)
    step("experiment 3")
    faults, faults_lanes = run_faults(seed)
    step("experiment 4")
    shown = {
        f"{number} {policy}": simulate(trial, INFERRED, policy, seed * extent.draws[number - 1])
        for number, trial in ((1, STATIC), (2, DYNAMIC))
        for policy in (NEW, OLD)
    }
    return Study(
        {key: tuple(row) for key, row in pairs.items()},
        tuple(many),
        scale,
        faults,
        {**shown, "3": scale_lanes, "4": faults_lanes},
    )


def run_pair(draw: Draw) -> Pair:
    """Run one workload with both heuristics."""
    start = start_of(draw.reading)
    new, old = (length_of(simulate(draw.trial, draw.reading, policy, draw.seed), start) for policy in (NEW, OLD))
    return Pair(new, old)


def run_scale(trial: Trial, seed: int) -> tuple[Scale, list[Lane]]:
    """Run experiment 3."""
    start = start_of(BASELINE)
    tenths = Tenths(trial.chains, start)
    begin, begin_cpu = perf_counter(), thread_time()
    lanes = simulate(trial, BASELINE, NEW, seed, tenths.observe)
    cpu, wall = thread_time() - begin_cpu, perf_counter() - begin
    length = length_of(lanes, start)
    return Scale(
        chains=trial.chains,
        agents=len(lanes),
        done=done(lanes, start),
        length=length.whole,
        gap=longest_gap(lanes, start),
        spread=finish_spread(lanes, start),
        is_right=length.is_right,
        tenths=tenths.microseconds(),
        cpu=cpu,
        wall=wall,
    ), lanes


def run_faults(seed: int) -> tuple[Faults, list[Lane]]:
    """Run experiment 4."""
    start = start_of(BASELINE)
    lanes = simulate(FAULTS, BASELINE, NEW, seed)
    calm = simulate(replace(FAULTS, kills=0), BASELINE, NEW, seed)
    length = length_of(lanes, start)
    without = {name: longest_without(lanes, name, start) for name in SETS}
    return Faults(
        chains=FAULTS.chains,
        done=done(lanes, start),
        length=length.whole,
        undisturbed=length_of(calm, start).whole,
        kills=sum(lane.is_lost for lane in lanes),
        again=sum(not bar.is_done for lane in lanes for bar in lane.bars),
        created=sum(lane.acquired >= start for lane in lanes),
        without={name: (since - start, time) for name, (since, time) in without.items()},
        is_right=length.is_right,
    ), lanes
