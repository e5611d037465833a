"""Capacity that follows power (SlackSched, section 4.5): if power is short, harvest machines shrink first.

The cluster runs fully at the maximum power of the series. Missing power is taken from the free cores of servers, one
server after the other in a fixed order, down to the minimum of the harvest machine there; beyond that, regular machines
are assumed to be moved away. When power returns, cores are given back in the opposite order.
"""

import random
from collections.abc import Sequence
from math import exp, sqrt

from tradewind.model.units import MINUTE, Duration, Time
from tradewind.sim.traces.servers import minimum_of
from tradewind.sim.traces.steps import Steps, steps_from

TICK = 15 * MINUTE
WHOLE = 1_000
"""Power is counted in thousandths of its maximum."""


def powered(servers: Sequence[Steps], power: Steps, cores: int, seed: int | str) -> list[Steps]:
    """Return the free cores of servers that run on a power series, in thousandths of its maximum."""
    order = list(range(len(servers)))
    random.Random(f"{seed}/power").shuffle(order)
    end = max(steps.times[-1] for steps in servers)
    dark: list[list[tuple[Time, int]]] = [[(0, 0)] for _ in servers]
    for at in [0, *(time for time in power.times if 0 < time <= end)]:
        lacking = (WHOLE - power.at(at)) * cores * len(servers) // WHOLE
        for number in order:
            taken = min(lacking, max(0, servers[number].at(at) - minimum_of(number)))
            lacking -= taken
            if dark[number][-1][1] != taken:
                dark[number].append((at, taken))
    return [_less(steps, steps_from(dark[number]), minimum_of(number)) for number, steps in enumerate(servers)]


def _less(steps: Steps, dark: Steps, least: int) -> Steps:
    points = []
    for at in sorted({*steps.times, *dark.times}):
        free = steps.at(at)
        points.append((at, max(min(free, least), free - dark.at(at))))
    return steps_from(points)


def wind(length: Duration, seed: int | str, mean: float = 0.8, drift: Duration = 240 * MINUTE) -> Steps:
    """Generate a windy period, in thousandths of the maximum: every quarter of an hour, drifting around a mean."""
    rng = random.Random(f"{seed}/wind")
    alike = exp(-TICK / drift)
    level = 0.0
    points = []
    for at in range(0, length, TICK):
        level = alike * level + sqrt(1 - alike * alike) * rng.gauss(0, 1)
        points.append((at, round(WHOLE * min(1.0, max(0.05, mean + 0.15 * level)))))
    return steps_from(points)
