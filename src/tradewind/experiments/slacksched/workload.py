"""The jobs of the experiments."""

import random

from tradewind.experiments.slacksched.settings import CORES, WARM_UP, Jobs
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Submission
from tradewind.model.units import MINUTE, Duration, Time
from tradewind.model.workflow import Checkpoint, Task, Workflow

_NEEDS = {cores: Requirement(amounts=amounts(cpus=cores)) for cores in range(1, CORES + 1)}
EVERY_MINUTE = Checkpoint(MINUTE)
SHORTEST = MINUTE


def jobs(work: Jobs, seed: int, interruptible: float = 0.0) -> list[Submission]:
    """Return jobs that arrive after the warm-up, preceded by a job of zero length for which machines are rented."""
    rng = random.Random(f"slacksched/{seed}")
    at: Time = WARM_UP
    found = [Submission(0, Workflow("warm-up", (Task("warm-up", "warm-up", _NEEDS[1], 0),), ((),)))]
    for number in range(work.count):
        at += round(rng.expovariate(1 / (work.spacing / _rate(work, at - WARM_UP))))
        checkpoint = EVERY_MINUTE if rng.random() < interruptible else None
        tasks = tuple(
            Task(f"t{place}", "task", _NEEDS[rng.choice(work.cores)], run_time(work, rng), checkpoint=checkpoint)
            for place in range(rng.randint(*work.tasks))
        )
        found.append(Submission(at, Workflow(f"job{number}", tasks, ((),) * len(tasks))))
    return found


def run_time(work: Jobs, rng: random.Random) -> Duration:
    """Draw a run time between a minute and the longest."""
    longest = work.longest
    if work.distribution == "gaussian":
        time = rng.gauss(longest / 2, longest / 8)
    elif work.distribution == "pareto":  # bounded, with a shape of 0.5
        low, high, shape = SHORTEST * 5, longest, 0.5
        share = rng.random()
        time = low * (1 - share * (1 - (low / high) ** shape)) ** (-1 / shape)
    else:
        time = rng.uniform(SHORTEST, longest)
    return round(min(longest, max(SHORTEST, time)))


def _rate(work: Jobs, at: Time) -> float:
    """Return the arrival rate at a time, as a multiple of the base rate."""
    return 1.0 if work.swing is None else (1.0, 4.0)[at // work.swing % 2]
