"""Throughput history: the smoothed number of tasks that a machine of each type completes per interval.

Section 3.3.1 of the PFA paper, equations 5 to 9 and 13 to 17. Equation 14 is missing in the text. We use the mean
throughput, rounded up, as the depth, as equation 16 does with exponential smoothing.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

from tradewind.model.units import Duration, Time


@dataclass(slots=True)
class Seen:
    """The counters of one type when they were last read."""

    completed: int = 0
    machine_time: Duration = 0


@dataclass(slots=True)
class History:
    """The history of one tenant, as plain data that can be stored."""

    kinds: int
    at: Time | None = None
    seen: list[Seen] = field(default_factory=list)
    throughputs: deque[tuple[float, ...]] = field(default_factory=deque)
    """By interval, newest last; each entry has one value per type."""
    ratios: tuple[float, ...] = ()
    depth: int | None = None

    def __post_init__(self) -> None:
        self.seen = self.seen or [Seen() for _ in range(self.kinds)]
        self.ratios = self.ratios or equal_share(self.kinds)

    def widen(self, kinds: int) -> None:
        """Machines of more types have joined, of which nothing is known yet."""
        new = kinds - self.kinds
        self.seen += [Seen() for _ in range(new)]
        self.throughputs = deque((*row, *[0.0] * new) for row in self.throughputs)
        self.ratios = equal_share(kinds)
        self.kinds = kinds


class Histories:
    """The histories of all tenants."""

    def __init__(self) -> None:
        self._by_tenant: dict[str, History] = {}

    def of(self, tenant: str, kinds: int) -> History:
        """Return a tenant's history; a new one if there is none, or if types other than joined ones have changed."""
        history = self._by_tenant.get(tenant)
        if history is not None and history.at is not None and history.kinds < kinds:
            history.widen(kinds)
        if history is None or history.kinds != kinds:
            history = self._by_tenant[tenant] = History(kinds)
        return history

    def save(self) -> dict[str, Any]:
        """Return plain values without the counters, which restart with the machines."""
        return {
            tenant: [history.kinds, [list(row) for row in history.throughputs], list(history.ratios), history.depth]
            for tenant, history in self._by_tenant.items()
        }

    def load(self, saved: dict[str, Any]) -> None:
        """Restore saved histories."""
        for tenant, (kinds, rows, ratios, depth) in saved.items():
            throughputs = deque(tuple(row) for row in rows)
            self._by_tenant[tenant] = History(kinds, throughputs=throughputs, ratios=tuple(ratios), depth=depth)


def equal_share(kinds: int) -> tuple[float, ...]:
    """Return the same share for each type."""
    return (1 / kinds,) * kinds


def close_interval(history: History, now: Time, counters: Sequence[tuple[int, Duration]]) -> tuple[float, ...]:
    """Return the throughput of each type since the last call (equation 5): mean tasks completed per machine held."""
    elapsed = now - history.at if history.at is not None else 0
    throughput = []
    for seen, (completed, machine_time) in zip(history.seen, counters, strict=True):
        machines = (machine_time - seen.machine_time) / elapsed if elapsed else 0.0
        throughput.append((completed - seen.completed) / machines if machines > 0 else 0.0)
        seen.completed, seen.machine_time = completed, machine_time
    history.at = now
    return tuple(throughput)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the history predicts for the next interval."""

    ratios: tuple[float, ...]
    """The proportion in which to hold types (rho)."""
    depth: int | None
    """Number of waves of tasks that finish in an interval (zeta); None: no limit."""
    throughput: float
    """Tasks that one machine completes in an interval; 0 if unknown."""


def moving_average(history: History, throughput: tuple[float, ...], past: int) -> Outlook:
    """Smooth over this interval and the `past` ones before it, skipping those in which nothing was completed."""
    history.throughputs.append(throughput)
    while len(history.throughputs) > past + 1:
        history.throughputs.popleft()
    fruitful = [row for row in history.throughputs if sum(row) > 0]
    if not fruitful:
        return Outlook(equal_share(history.kinds), None, 0.0)
    mean = sum(map(sum, fruitful)) / (len(fruitful) * history.kinds)
    shares = [tuple(value / sum(row) for value in row) for row in fruitful]
    ratios = tuple(sum(share) / len(shares) for share in zip(*shares, strict=True))
    if not all(ratios):  # some type is untried: give all an equal chance
        ratios = equal_share(history.kinds)
    return Outlook(ratios, ceil(mean), mean)


def exponential_average(history: History, throughput: tuple[float, ...], alpha: float) -> Outlook:
    """Smooth exponentially; the closer alpha is to one, the smoother."""
    total = sum(throughput)
    if all(throughput):
        instant = (value / total for value in throughput)
        history.ratios = tuple(
            alpha * old + (1 - alpha) * new for old, new in zip(history.ratios, instant, strict=True)
        )
    else:
        history.ratios = equal_share(history.kinds)
    mean = total / history.kinds
    if total > 0:
        old = mean if history.depth is None else history.depth  # start from the first finite value
        history.depth = ceil(alpha * old + (1 - alpha) * mean)
    else:
        history.depth = None
    return Outlook(history.ratios, history.depth, mean)


Smoothing = Literal["ma", "ewma"]
