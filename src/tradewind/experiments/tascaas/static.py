"""Balanced against static partitioning (section V), measured: the same slots, the same noise, the same partitions.

The static side is given the best it could have: shares by the exact mean speed of each site (eq. 17 and 18).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from tradewind.experiments.tascaas.settings import ITERATIONS, series
from tradewind.experiments.tascaas.world import Job, Outcome, Site, World, play
from tradewind.model.units import MINUTE, SECOND, in_seconds
from tradewind.sim.noise import Noise, from_traces, jitter

FAST, SLOW = (2, 200.0), (3, 80.0)
"""Slots and speeds of the two groups: five partitions, about the paper's mean."""
TARGET = 1800
SIGMA = 0.15
"""The paper's, of its slower group."""
TABLE = ((0.0, 1.0, 0.8757), (1.0, 2.0, 0.5185), (2.0, 3.0, 0.1007), (3.0, 99.0, 0.005))
"""Of Table 4 for five partitions: delays in standard deviations, and how likely one partition or more has one."""


@dataclass(frozen=True, slots=True)
class Level:
    """One kind of noise, with both ways of partitioning."""

    name: str
    cv: float
    """Of the speed of a slot."""
    gains: Sequence[float]
    """By what part balanced jobs were shorter, draw by draw."""
    delays: Sequence[float]
    """Of static jobs, relative to what their mean speeds promise."""

    @property
    def gain(self) -> float:
        """In the mean."""
        return fmean(self.gains)


@dataclass(frozen=True, slots=True)
class Trial:
    """One level of noise to be drawn many times."""

    name: str
    draws: int
    seed: int


MADE_UP: dict[str, Callable[[Random], Noise]] = {
    "none": lambda _: Noise(),
    "each partition +-15%, constant": lambda random: jitter(random, SIGMA, steps=1),
    "+-30%, minutes": lambda random: jitter(random, 0.3, keep=0.9),
    "each partition +-30%, constant": lambda random: jitter(random, 0.3, steps=1),
    "each partition +-50%, constant": lambda random: jitter(random, 0.5, steps=1),
}
MEASURED = {
    "measured: processor, normal machines": ("stressng_cpu", "D8s_v5"),
    "measured: cache, normal machines": ("stressng_cache", "D8s_v5"),
    "measured: cache, burstable machines": ("stressng_cache", "B8ms"),
    "measured: remote disk, burstable machines": ("fio_rr64_remote", "B8ms"),
}
NAMES = (*MADE_UP, *MEASURED)


def run_level(trial: Trial) -> Level | None:
    """Draw noise again and again, and run both; None: its series is not there."""
    random = Random(f"{trial.seed} {trial.name}")
    draw: Callable[[Random], Noise]
    if trial.name in MADE_UP:
        draw = MADE_UP[trial.name]
    else:
        traces = series(*MEASURED[trial.name])
        if not traces:
            return None

        def draw(random: Random) -> Noise:
            return from_traces(traces, random, tick=MINUTE)

    gains, delays, values = [], [], []
    expected = ITERATIONS / (FAST[0] * FAST[1] + SLOW[0] * SLOW[1])
    for _ in range(trial.draws):
        noises = [draw(random) for _ in range(FAST[0] + SLOW[0])]
        values += [noise.values[0] for noise in noises]
        static, balanced = (_length(_run(name, noises)) for name in ("static", ""))
        gains.append(1 - balanced / static)
        delays.append(static / expected - 1)
    mean = fmean(values)
    cv = fmean((value - mean) ** 2 for value in values) ** 0.5 / mean
    return Level(trial.name, cv, gains, delays)


def interval_shares(draws: int, seed: int) -> list[float]:
    """How often one static partition or more is late by 0 to 1, 1 to 2, 2 to 3 and more standard deviations."""
    random = Random(f"{seed} table 4")
    counts = [0] * len(TABLE)
    for _ in range(draws):
        noises = [jitter(random, SIGMA, steps=1) for _ in range(FAST[0] + SLOW[0])]
        outcome = _run("static", noises)
        weights = [FAST[1]] * FAST[0] + [SLOW[1]] * SLOW[0]
        expected = ITERATIONS / sum(weights)
        ends = {measure.partition: in_seconds(measure.at) for measure in outcome.measures}
        misses = [(1 - expected / end) / SIGMA for end in ends.values()]  # of the mean speed
        for place, (low, high, _) in enumerate(TABLE):
            counts[place] += any(low < miss <= high for miss in misses)
    return [count / draws for count in counts]


def _run(balancer: str, noises: Sequence[Noise]) -> Outcome:
    (fast, quick), (slow, slowly) = FAST, SLOW
    weights = (round(quick),) * fast + (round(slowly),) * slow
    count = fast + slow
    job = Job(ITERATIONS, TARGET * SECOND, count, count, balancer, weights)
    places = [Site("fast", fast, quick, tuple(noises[:fast])), Site("slow", slow, slowly, tuple(noises[fast:]))]
    return play(World(places, [(0, job)]))


def _length(outcome: Outcome) -> float:
    ended = outcome.jobs[0].ended
    if ended is None:
        raise AssertionError("a job does not end")
    return in_seconds(ended)
