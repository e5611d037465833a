"""Measures how long decisions take, and the steps they consist of, in real time."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean
from time import perf_counter

from tradewind.core.summary import percentile


class Stopwatch:
    """Collects the durations of named phases, in seconds."""

    def __init__(self) -> None:
        self.laps: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what happens inside."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.laps[name].append(perf_counter() - begin)

    def milliseconds(self, name: str) -> dict[str, float]:
        """Mean, 95th percentile and maximum of a phase."""
        laps = sorted(1000 * lap for lap in self.laps[name])
        if not laps:
            return {"mean": 0.0, "p95": 0.0, "max": 0.0}
        return {"mean": fmean(laps), "p95": percentile(laps, 0.95), "max": laps[-1]}
