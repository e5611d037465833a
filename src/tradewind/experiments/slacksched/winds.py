"""Wind power that drives capacity (section 4.5): measured, if the data are next to the checkout, or synthetic.

The paper uses a trace of Belgian wind power, scaled to its maximum. Ours are periods of offshore wind from the same
country, hourly and interpolated to quarters of an hour, each scaled to its own maximum. Only windy periods are used: if
power is low most of the time, there is nothing to harvest.
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
"""Mean power of a period, as a fraction of its maximum, from which it counts as windy."""


def is_measured() -> bool:
    """Return whether measured wind data are available."""
    return MEASURED.is_file()


def power_for(length: Duration, seed: int) -> Steps:
    """Return power in thousandths of the maximum for a length of time; the same seed gives the same period."""
    if not is_measured():
        return wind(length, seed)
    return random.Random(f"{seed}/spell").choice(_spells(length))


@lru_cache(maxsize=2)
def _spells(length: Duration) -> list[Steps]:
    """Return all windy periods of a length, each starting half a length after the previous one."""
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
