"""Time axes for runs of seconds or days, and step curves thinned to a visible resolution."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tradewind.core.series import Curves
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND, Duration, Time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY = 1_000
"""Curves with more steps than this are averaged over bins."""
BINS = 480

_UNITS = (
    ("seconds", SECOND, (1, 2, 5, 10, 15, 20, 30)),
    ("minutes", MINUTE, (1, 2, 5, 10, 15, 20, 30)),
    ("hours", HOUR, (1, 2, 3, 4, 6, 12)),
    ("days", DAY, (1, 2, 5, 7, 14, 28)),
)
_TICKS = 10


@dataclass(frozen=True, slots=True)
class TimeScale:
    """A unit of time that suits a span, and the distance of its tick marks."""

    name: str
    unit: Duration
    step: int

    def __call__(self, time: float) -> float:
        """Return a time in this unit."""
        return time / self.unit

    def apply(self, axes: "Axes", begin: Time, end: Time) -> None:
        """Set the tick marks of an axis whose values are in this unit."""
        from matplotlib.ticker import MultipleLocator  # noqa: PLC0415  # an extra

        axes.set_xlim(self(begin), self(max(end, begin + 1)))
        axes.xaxis.set_major_locator(MultipleLocator(self.step))


def time_scale(span: Duration) -> TimeScale:
    """Return the largest unit of which a span has at least three, with at most ten marks."""
    for name, unit, steps in reversed(_UNITS):
        if span >= 3 * unit or unit == SECOND:
            count = span / unit
            step = next((step for step in steps if count / step <= _TICKS), 0)
            return TimeScale(name, unit, step or -(-int(count) // _TICKS))
    raise AssertionError("seconds suit any span")


@dataclass(frozen=True, slots=True)
class Stairs:
    """A step curve: one more edge than values."""

    edges: list[Time]
    values: list[float]

    @property
    def top(self) -> float:
        """Return its highest step."""
        return max(self.values, default=0.0)

    def thinned(self) -> "Stairs":
        """Return the curve, averaged over equal bins if it has too many steps to distinguish."""
        if len(self.values) <= MANY:
            return self
        begin, end = self.edges[0], self.edges[-1]
        edges = [begin + (end - begin) * index // BINS for index in range(BINS + 1)]
        return Stairs(edges, averages(self, edges))


def stairs(at: Sequence[Time], values: Sequence[float], begin: Time, end: Time) -> Stairs:
    """Return a step function from `begin` to `end`; zero before its first step."""
    edges: list[Time] = [begin]
    found: list[float] = [0.0]
    for time, value in zip(at, values, strict=True):
        if time >= end:
            break
        if time <= edges[-1]:
            found[-1] = value
        else:
            edges.append(time)
            found.append(value)
    return Stairs([*edges, max(end, edges[-1] + 1)], found)


def averages(curve: Stairs, edges: Sequence[Time]) -> list[float]:
    """Return the mean height of a curve between each edge and the next."""
    found = []
    place = 0
    for low, high in pairwise(edges):
        area = 0.0
        while place < len(curve.values) and curve.edges[place + 1] <= low:
            place += 1
        step = place
        while step < len(curve.values) and curve.edges[step] < high:
            area += curve.values[step] * (min(high, curve.edges[step + 1]) - max(low, curve.edges[step]))
            step += 1
        found.append(area / (high - low) if high > low else 0.0)
    return found


def held_and_busy(all_curves: Sequence[Curves], end: Time) -> tuple[Stairs, Stairs]:
    """Return how many machines all tenants together hold, and how many of them are busy."""
    changes: dict[Time, list[int]] = {}
    for curves in all_curves:
        before = (0, 0)
        for at, supply, busy in zip(curves.at, curves.supply, curves.busy, strict=True):
            now = (sum(supply), sum(busy))
            row = changes.setdefault(at, [0, 0])
            row[0] += now[0] - before[0]
            row[1] += now[1] - before[1]
            before = now
    times = sorted(changes)
    levels: tuple[list[float], list[float]] = ([], [])
    held = busy_now = 0
    for time in times:
        held += changes[time][0]
        busy_now += changes[time][1]
        levels[0].append(held)
        levels[1].append(busy_now)
    return stairs(times, levels[0], 0, end), stairs(times, levels[1], 0, end)
