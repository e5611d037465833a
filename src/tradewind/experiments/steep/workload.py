"""The chains of the experiments."""

import random

from tradewind.experiments.steep.settings import SETS, Reading, Trial
from tradewind.model.requirement import Requirement
from tradewind.model.units import Duration
from tradewind.model.workflow import Task, Workflow

_REQUIREMENTS = {name: Requirement(frozenset((name,))) for name in SETS}


def chains(trial: Trial, reading: Reading, seed: int) -> Workflow:
    """Return a workflow of independent chains; the same seed gives the same chains."""
    rng = random.Random(f"steep {seed} {trial.chains} {reading.name}")
    names = _required_sets(trial.chains, reading, rng)
    mean = trial.mean * reading.scale
    tasks = tuple(
        Task(f"chain {place}", name, _REQUIREMENTS[name], _run_time(mean, reading.spread, rng))
        for place, name in enumerate(names)
    )
    return Workflow(f"{trial.chains} chains", tasks, ((),) * len(tasks))


def warm_up() -> Workflow:
    """Return a chain of zero length, for which the initial agents are rented."""
    return Workflow("warm-up", (Task("warm-up", "warm-up", _REQUIREMENTS["R1"], 0),), ((),))


def _required_sets(count: int, reading: Reading, rng: random.Random) -> list[str]:
    if reading.is_drawn:
        return rng.choices(SETS, reading.shares, k=count)
    names: list[str] = []
    total = sum(reading.shares)
    given = 0
    for name, share in zip(SETS, reading.shares, strict=True):
        given += share
        names += [name] * (count * given // total - len(names))
    rng.shuffle(names)
    return names


def _run_time(mean: float, spread: float, rng: random.Random) -> Duration:
    if spread > 1:
        return round(rng.expovariate(1 / mean))
    return round(mean * rng.uniform(1 - spread, 1 + spread))
