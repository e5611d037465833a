"""Spot machines played from a trace: as many as it says can be had; the newest are taken back when it says fewer."""

import asyncio
import csv
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tradewind.live.port import Down, Engine, Listener, Order, Report
from tradewind.model.errors import TradewindError
from tradewind.model.machine import MachineType, Market

TAKEN_BACK = "the provider has taken it back"
NONE_LEFT = "no spot machine is to be had"


class SpotTrace:
    """How many machines can be had, as a step function of seconds from the start."""

    def __init__(self, points: Sequence[tuple[float, int]]) -> None:
        if not points:
            raise TradewindError("a spot trace needs at least one row")
        self._times = [at for at, _ in points]
        self._counts = [count for _, count in points]

    def at(self, time: float) -> int:
        """How many at a time; the first row holds before, the last one for ever."""
        return self._counts[max(0, bisect_right(self._times, time) - 1)]

    def changes(self) -> Sequence[float]:
        """When the number changes."""
        return self._times


def read_spot_trace(path: Path) -> SpotTrace:
    """Read a CSV file with the columns `t_s` and `machines`, in order of time."""
    points: list[tuple[float, int]] = []
    with path.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            try:
                points.append((float(row["t_s"]), int(row["machines"])))
            except (KeyError, TypeError, ValueError):
                raise TradewindError(f"{path}:{line}: a row needs t_s and machines, both numbers") from None
            if len(points) > 1 and points[-1][0] <= points[-2][0]:
                raise TradewindError(f"{path}:{line}: t_s must grow")
    return SpotTrace(points)


class SpotEngine:
    """An engine whose spot machines come and go as a trace says; others pass through untouched."""

    def __init__(self, listener: Listener, make: Callable[[Listener], Engine], trace: SpotTrace) -> None:
        self._listener = listener
        self._trace = trace
        self._held: list[int] = []
        """Spot machines, the oldest first."""
        self._engine = make(self._hear)
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._timers = [self._loop.call_later(at, self._take_back) for at in trace.changes() if at > 0]

    def acquire(self, machine: int, type: MachineType) -> None:
        """Bring a machine up, unless none is to be had."""
        if type.market is Market.SPOT:
            if len(self._held) >= self._trace.at(self._loop.time() - self._begun):
                self._loop.call_soon(self._listener, [Down(machine, NONE_LEFT)])
                return
            self._held.append(machine)
        self._engine.acquire(machine, type)

    def release(self, machine: int) -> None:
        """Let a machine go."""
        if machine in self._held:
            self._held.remove(machine)
        self._engine.release(machine)

    def start(self, orders: Sequence[Order]) -> None:
        """Begin attempts."""
        self._engine.start(orders)

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """End an attempt."""
        self._engine.kill(unit, attempt, machine, at_once=at_once)

    def check(self, held: Mapping[int, Sequence[tuple[int, int]]], awaited: Collection[int]) -> None:
        """See to it that nothing is waited for in vain."""
        self._engine.check(held, awaited)

    def close(self) -> None:
        """End everything that is left."""
        for timer in self._timers:
            timer.cancel()
        self._engine.close()

    def _hear(self, reports: Sequence[Report]) -> None:
        for report in reports:
            if isinstance(report, Down) and report.machine in self._held:
                self._held.remove(report.machine)
        self._listener(reports)

    def _take_back(self) -> None:
        allowed = self._trace.at(self._loop.time() - self._begun)
        while len(self._held) > allowed:
            machine = self._held.pop()
            self._engine.release(machine)
            self._listener([Down(machine, TAKEN_BACK)])
