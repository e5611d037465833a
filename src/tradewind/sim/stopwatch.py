"""Measures how long decisions take, and the steps they consist of, in real time."""

from collections import defaultdict
from statistics import fmean
from time import perf_counter

from tradewind.core.summary import percentile


class Stopwatch:
    """Collects the durations of named phases, in seconds."""

    def __init__(self) -> None:
        self.laps: dict[str, list[float]] = defaultdict(list)

    def phase(self, name: str) -> "_Phase":
        """Measure what happens inside."""
        return _Phase(self.laps[name])

    def milliseconds(self, name: str) -> dict[str, float]:
        """Mean, 95th percentile and maximum of a phase."""
        laps = sorted(1000 * lap for lap in self.laps[name])
        if not laps:
            return {"mean": 0.0, "p95": 0.0, "max": 0.0}
        return {"mean": fmean(laps), "p95": percentile(laps, 0.95), "max": laps[-1]}


class _Phase:
    """Adds the time spent inside to some laps."""

    __slots__ = ("_begin", "_laps")

    def __init__(self, laps: list[float]) -> None:
        self._laps = laps
        self._begin = 0.0

    def __enter__(self) -> None:
        self._begin = perf_counter()

    def __exit__(self, *_error: object) -> None:
        self._laps.append(perf_counter() - self._begin)
