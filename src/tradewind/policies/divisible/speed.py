"""Estimates of how fast a partition is, from its reports."""

from typing import NamedTuple

from tradewind.model.units import SECOND, Duration

_MILLION = 1_000_000
_WEIGHT = 0.5
"""Of the newest measure: three reports after a step in speed, seven eighths of it are seen."""


class Speed(NamedTuple):
    """An estimate, in millionths of an iteration per second."""

    value: int = 0
    """0: not measured yet."""
    spread: float = 0.0
    """Standard deviation relative to the value, exponentially weighted."""


def last(speed: Speed, done: int, elapsed: Duration) -> Speed:
    """The newest measure alone (eq. 8)."""
    measured = _measured(done, elapsed)
    return Speed(measured if measured is not None else speed.value, 0.0)


def weighted(speed: Speed, done: int, elapsed: Duration) -> Speed:
    """An exponentially weighted mean of the measures, and how far they scatter around it."""
    measured = _measured(done, elapsed)
    if measured is None:
        return speed
    if speed.value <= 0:
        return Speed(measured)
    value = round(speed.value + _WEIGHT * (measured - speed.value))
    if value <= 0:
        return Speed(1)
    miss = (measured - speed.value) / value
    spread = ((1 - _WEIGHT) * (speed.spread**2 + _WEIGHT * miss**2)) ** 0.5
    return Speed(value, min(spread, 10.0))


def moved(before: Speed, after: Speed) -> float:
    """By what part an estimate has changed; a first one has not."""
    return abs(after.value - before.value) / before.value if before.value > 0 else 0.0


def _measured(done: int, elapsed: Duration) -> int | None:
    """At least 1, for a partition that reports is alive; None: no time has passed."""
    return max(1, done * _MILLION * SECOND // elapsed) if elapsed > 0 else None
