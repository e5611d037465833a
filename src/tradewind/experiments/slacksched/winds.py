"""Wind power that drives capacity (section 4.5): measured, where the data are beside the checkout, or made up.

The paper takes a trace of Belgian wind and lets its most be full power. Ours are spells of the same country's offshore
wind, hourly and interpolated to quarters of an hour, each scaled to its own most. Only windy spells are taken: where
power is short most of the time, nothing is left to harvest.
"""

import random
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from tradewind.model.units import HOUR, Duration
from tradewind.sim.traces.files import read_power
from tradewind.sim.traces.power import TICK, WHOLE, wind
from tradewind.sim.traces.steps import Steps, steps_from

MEASURED = Path(__file__).parents[4].parent / "shared" / "data" / "power" / "belgium_wind_hourly_2016.csv.gz"
COLUMN = "offshore_mw"
WINDY = 0.7
"""Mean power of a spell, as a share of its most, from which on it counts as windy."""


def is_measured() -> bool:
    """Whether measured wind is to be had."""
    return MEASURED.is_file()


def power_for(length: Duration, seed: int) -> Steps:
    """Power in thousandths of the most, for so long; the same seed gives the same spell."""
    if not is_measured():
        return wind(length, seed)
    return random.Random(f"{seed}/spell").choice(_spells(length))


@lru_cache(maxsize=2)
def _spells(length: Duration) -> list[Steps]:
    """All windy spells of a length, which follow each other by half of it."""
    series = read_power(MEASURED, COLUMN, HOUR)
    hours = length // HOUR + 1
    found = []
    for first in range(0, series.times[-1] // HOUR - hours, max(1, hours // 2)):
        levels = [series.at((first + hour) * HOUR) for hour in range(hours)]
        if sum(levels) >= WINDY * max(levels) * len(levels) and max(levels) > 0:
            found.append(_spell(levels))
    return found


def _spell(levels: list[int]) -> Steps:
    most, quarters = max(levels), HOUR // TICK
    points = []
    for hour, (one, two) in enumerate(pairwise(levels)):
        for quarter in range(quarters):
            level = one + (two - one) * quarter / quarters
            points.append((hour * HOUR + quarter * TICK, round(WHOLE * level / most)))
    return steps_from(points)
