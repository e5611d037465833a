"""How long tasks really run in the simulated cloud, and what policies are told beforehand.

Real run times are the declared ones, times a log-normal factor if the scenario is noisy. The factor depends on the
seed, the unit and the type only, so that it is the same under every policy, whatever order things happen in.
"""

import random
from collections.abc import Callable
from math import exp, log, sqrt

from tradewind.core.estimates import Learned
from tradewind.core.machines import Kind
from tradewind.core.work import Unit, declared_time
from tradewind.model.scenario import Estimates, Noise
from tradewind.model.units import Duration

RunTimes = Callable[[Unit, Kind], Duration]


def real_times(noise: Noise, seed: int) -> RunTimes:
    """The run times of the simulated cloud."""
    return _noisy(noise.deviation, f"{seed}/noise") if noise.deviation else declared_time


def estimated_times(estimates: Estimates, real: RunTimes, seed: int) -> RunTimes:
    """What policies are told: real times, declared ones, these with an error of their own, or learned ones."""
    if estimates.kind == "exact":
        return real
    if estimates.kind == "noisy":
        return _noisy(estimates.deviation, f"{seed}/estimates")
    if estimates.kind == "biased":
        return _biased(estimates.deviation, f"{seed}/estimates")
    if estimates.kind == "learned":
        return Learned(estimates.quantile)
    return declared_time


def _biased(most: float, salt: str) -> RunTimes:
    """Too long by up to a share, or too short where it is below zero."""

    def times(unit: Unit, kind: Kind) -> Duration:
        return max(1, round(declared_time(unit, kind) * (1 + most * random.Random(f"{salt}/{unit.id}").random())))

    return times


def _noisy(deviation: float, salt: str) -> RunTimes:
    spread = sqrt(log(1 + deviation**2))

    def times(unit: Unit, kind: Kind) -> Duration:
        normal = random.Random(f"{salt}/{unit.id}/{kind.index}").gauss(0, 1)
        return round(declared_time(unit, kind) * exp(spread * normal - spread**2 / 2))

    return times
