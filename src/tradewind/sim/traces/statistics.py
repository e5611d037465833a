"""Statistics of changing capacity, as the SlackSched paper gives them for its clusters (section 2.1)."""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from tradewind.model.units import HOUR, MINUTE, Duration, Time
from tradewind.sim.traces.servers import MINIMA, minimum_of
from tradewind.sim.traces.steps import Steps


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of the changes on some servers."""

    servers: int
    changes: int
    size: float
    """Mean number of cores that a change adds or removes."""
    gap: float
    """Mean time between two changes of a server, in minutes."""
    gap_p95: float
    """Hours."""
    within: tuple[float, float, float]
    """Fractions of changes within an hour, ten minutes and a minute of the previous one."""
    per_hour: tuple[float, float]
    """Changes per hour of a server: the median, and the 90th percentile."""
    cores: tuple[float, ...]
    """Mean cores of harvest machines, by minimum size."""
    top: tuple[float, ...]
    """Cores that the best tenth of hours of harvest machines reaches, by minimum size."""
    bottom: tuple[float, ...]
    """Cores above the minimum that the worst tenth stays below, by minimum size."""
    evictions: tuple[float, ...]
    """Evictions per day of a harvest machine, by minimum size."""
    stability: float
    """How many times the length of a task a machine must have been stable, to stay stable with 70 %."""


def figures(servers: Sequence[Steps], begin: Time, end: Time) -> Figures:
    """Measure servers over a period."""
    sizes: list[int] = []
    counts: list[int] = []
    for steps in servers:
        first, last = _between(steps, begin, end)
        sizes += [abs(steps.values[place] - steps.values[place - 1]) for place in range(first, last)]
        bounds = range(begin, end + 1, HOUR)
        places = [bisect_left(steps.times, bound, first, last) for bound in bounds]
        counts += [after - before for before, after in itertools.pairwise(places)]
    gaps = intervals(servers, begin, end)
    counts.sort()
    harvests = [
        _harvest([each for number, each in enumerate(servers) if minimum_of(number) == minimum], minimum, begin, end)
        for minimum in MINIMA
    ]
    return Figures(
        servers=len(servers),
        changes=len(sizes),
        size=fmean(sizes),
        gap=fmean(gaps) / MINUTE,
        gap_p95=gaps[int(0.95 * len(gaps))] / HOUR,
        within=tuple(bisect_right(gaps, limit) / len(gaps) for limit in (HOUR, 10 * MINUTE, MINUTE)),  # type: ignore[arg-type]
        per_hour=(counts[len(counts) // 2], counts[int(0.9 * len(counts))]),
        cores=tuple(each[0] for each in harvests),
        top=tuple(each[1] for each in harvests),
        bottom=tuple(each[2] for each in harvests),
        evictions=tuple(each[3] for each in harvests),
        stability=_stability(gaps),
    )


def _harvest(servers: Sequence[Steps], minimum: int, begin: Time, end: Time) -> tuple[float, float, float, float]:
    """Return mean, best and worst tenth of the hourly means of machines of a minimum size, and evictions per day."""
    means: list[float] = []
    held = evictions = 0
    for steps in servers:
        for hour in range(begin, end, HOUR):
            area = time = 0
            before = minimum
            for _, length, value in steps.spells(hour, hour + HOUR):
                if value >= minimum:
                    area += length * value
                    time += length
                elif before >= minimum:
                    evictions += 1
                before = value
            held += time
            if time:
                means.append(area / time)
    means.sort()
    top, bottom = means[int(0.9 * len(means))], means[int(0.1 * len(means))]
    return fmean(means), top, bottom - minimum, evictions * 24 * HOUR / held


def _between(steps: Steps, begin: Time, end: Time) -> tuple[int, int]:
    """Return the positions of the changes within a period."""
    return max(1, bisect_left(steps.times, begin)), bisect_left(steps.times, end)


def intervals(servers: Sequence[Steps], begin: Time, end: Time) -> list[Duration]:
    """Return times between two changes of a server, the first within a period, in order of length.

    The second may come later, if the trace goes on; otherwise long intervals would be missed more often than short
    ones.
    """
    found: list[Duration] = []
    for steps in servers:
        first, last = _between(steps, begin, end)
        found += [after - before for before, after in itertools.pairwise(steps.times[first : last + 1])]
    return sorted(found)


def stable_for(gaps: Sequence[Duration], length: Duration, confidence: float) -> Duration | None:
    """Return how long a machine must have been stable, to stay stable for a length with a confidence (Fig. 13)."""
    count = len(gaps)
    for elapsed in gaps:
        alive = count - bisect_right(gaps, elapsed)
        if alive and (count - bisect_right(gaps, elapsed + length)) / alive >= confidence:
            return elapsed
    return None


def _stability(gaps: Sequence[Duration], confidence: float = 0.7) -> float:
    """Return that time relative to the length, for tasks of 10 to 60 minutes: the slope of a line through them."""
    found = [(time, stable_for(gaps, time, confidence)) for time in (each * MINUTE for each in (10, 20, 30, 45, 60))]
    known = [(time, elapsed) for time, elapsed in found if elapsed is not None]
    return sum(time * elapsed for time, elapsed in known) / sum(time**2 for time, _ in known) if known else float("nan")
