"""Load vectors: how many machines of a type the known work keeps busy (definition 7 of the SCS paper).

A task of time t with the window [T0, T1] adds t/(T1-T0) from T0 to T1. Vectors are stored as changes at breakpoints, a
pair for each task, not as arrays of minutes.
"""

from collections.abc import Mapping
from math import ceil

from tradewind.model.units import Duration, Time

_ALMOST = 1e-6
"""Rounding errors of the sums are smaller than this."""


class LoadVector:
    """The load on machines of one type over time."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: dict[Time, float] = {}

    def add(self, begin: Time, end: Time, density: float) -> None:
        """Add a task that needs a fraction of a machine from one time to another."""
        if end <= begin:
            end = begin + 1
        changes = self._changes
        changes[begin] = changes.get(begin, 0.0) + density
        changes[end] = changes.get(end, 0.0) - density

    def remove(self, begin: Time, end: Time, density: float) -> None:
        """Remove a task that was added."""
        self.add(begin, end, -density)

    @property
    def changes(self) -> Mapping[Time, float]:
        """Return the changes of the load by time."""
        return self._changes

    def peak(self, begin: Time, end: Time) -> float:
        """Return the largest load in a period, excluding its end."""
        level = most = 0.0
        for at in sorted(self._changes):
            if at >= end:
                break
            if at > begin:
                most = max(most, level)
            level += self._changes[at]
        return max(most, level)

    def machines(self, begin: Time, end: Time, slots: int = 1) -> int:
        """Return how many machines are needed in a period, excluding its end."""
        return enough(self.peak(begin, end), slots)


def enough(load: float, slots: int) -> int:
    """Return how many machines carry a load."""
    return ceil(load / slots - _ALMOST)


def density(time: Duration, begin: Time, end: Time) -> float:
    """Return the fraction of a machine that a task needs in its window; above 1 it cannot be on time."""
    return time / (end - begin) if end > begin else float("inf") if time else 0.0
