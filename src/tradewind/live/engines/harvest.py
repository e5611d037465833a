"""Harvest machines: workers on this host that offer only the cores nobody else uses.

Their work runs at the lowest priority, so that the owner's load never waits for it, and so do the sessions it runs in,
for Linux may share processor time by session first; workers, which have to kill it in time, have sessions of their own.
What counts as the owner's is all processor time but that of such work. A machine shrinks as soon as others want its
cores, and grows when they have left them alone for a while. What is killed on a shrink is the policy's business; the
core says so, and the attempt is ended at once. Machines of other markets pass through untouched.
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Protocol

from tradewind.live.port import Down, Engine, Expected, Listener, Order, Report, Resized, Up
from tradewind.live.worker.processes import children, lower_session
from tradewind.model.machine import MachineType, Market

LOWEST = 19
"""The nice value of harvested work."""
CPUS = "cpus"


class Others(Protocol):
    """Measures what others use of this host."""

    def cores(self) -> float:
        """How many cores were in use by others since the last call."""


class LocalMachines(Engine, Protocol):
    """An engine whose machines are processes on this host."""

    def process_of(self, machine: int) -> int:
        """The process of a machine that is up; 0 if there is none."""


class HostLoad:
    """What is used on this host but by low-priority work: that is ours, or of somebody who minds as little."""

    def __init__(self) -> None:
        import psutil  # noqa: PLC0415 - slow, and not for every run

        self._times = psutil.cpu_times
        self._count = psutil.cpu_count() or 1
        self._last = self._times()

    def cores(self) -> float:
        """How many cores were in use by others since the last call."""
        now, before = self._times(), self._last
        self._last = now
        total = sum(now[:8]) - sum(before[:8])  # guests are counted among users already
        idle = now.idle - before.idle + getattr(now, "iowait", 0.0) - getattr(before, "iowait", 0.0)
        nice = getattr(now, "nice", 0.0) - getattr(before, "nice", 0.0)
        if total <= 0:
            return 0.0
        return max(0.0, total - idle - nice) / total * self._count


class Hysteresis:
    """Turns a trembling measurement into a size: down at once, up only after a calm."""

    def __init__(self, most: int, calm: int, slack: float = 0.2) -> None:
        """`most`: all there is. `calm`: for how many looks there must be more. `slack`: use that counts as none."""
        self.size = most
        self.most = most
        self._calm = calm
        self._slack = slack
        self._better = 0
        self._least = most

    def look(self, used: float) -> int:
        """The size, after others were seen to use so many of its cores; below zero if there are others besides."""
        free = max(0, self.most - ceil(max(0.0, used - self._slack)))
        if free < self.size:
            self.size = free
            self._better = 0
        elif free == self.size:
            self._better = 0
        else:
            self._least = free if not self._better else min(self._least, free)
            self._better += 1
            if self._better >= self._calm:
                self.size, self._better = self._least, 0
        return self.size


class HarvestEngine:
    """An engine whose machines of the harvest market grow and shrink with what others leave."""

    def __init__(
        self,
        listener: Listener,
        make: Callable[[Listener], LocalMachines],
        *,
        others: Others | None = None,
        cores: int | None = None,
        every: float = 0.25,
        calm: float = 5.0,
    ) -> None:
        """`cores`: of this host. `every`: seconds between looks. `calm`: for how many others must leave cores alone."""
        self._listener = listener
        self._others = others or HostLoad()
        self._cores = cores or os.cpu_count() or 1
        self._every = every
        self._calm = max(1, round(calm / every))
        self._held: dict[int, tuple[MachineType, Hysteresis]] = {}
        """Harvest machines and their sizes; they share what is left in the order in which they came."""
        self._lowered: set[int] = set()
        """Processes of workers that are known to run at the lowest priority."""
        self._engine = make(self._hear)
        self.ends_with_us, self.ahead = self._engine.ends_with_us, self._engine.ahead
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def acquire(self, machine: int, type: MachineType) -> None:
        """Bring a machine up; one that is harvested begins with what is left now."""
        self._harvest(machine, type)
        self._engine.acquire(machine, type)

    def _harvest(self, machine: int, type: MachineType) -> bool:
        """Begin to size a machine, if it is harvested; whether it is."""
        if type.market is not Market.HARVEST or type.trace:
            return False
        most = dict(type.amounts).get(CPUS, type.slots)
        sizing = Hysteresis(most, self._calm)
        taken = sum(other.size for _, other in self._held.values())
        sizing.look(self._others.cores() + taken + most - self._cores)
        self._held[machine] = (type, sizing)
        if self._timer is None:
            self._timer = self._loop.call_later(self._every, self._look)
        return True

    def welcome(self, name: str, machine: int) -> None:
        """Give a machine that joined its number."""
        self._engine.welcome(name, machine)

    def release(self, machine: int) -> None:
        """Let a machine go."""
        self._held.pop(machine, None)
        self._engine.release(machine)

    def start(self, orders: Sequence[Order]) -> None:
        """Begin attempts."""
        self._engine.start(orders)

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """End an attempt."""
        self._engine.kill(unit, attempt, machine, at_once=at_once)

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        """Compare; machines of an earlier life are sized from now on."""
        found = self._passed(self._engine.check(expected))
        gone = {report.machine for report in found if isinstance(report, Down)}
        for machine, each in expected.items():
            if machine not in self._held and machine not in gone and self._harvest(machine, each.type):
                found.append(self._report(machine))
        return found

    def confirm(self, ends: Sequence[tuple[int, int, int]]) -> None:
        """Stop reporting ends."""
        self._engine.confirm(ends)

    def detach(self) -> None:
        """Let go of everything."""
        self._stop()
        self._engine.detach()

    def close(self) -> None:
        """End everything that is left."""
        self._stop()
        self._engine.close()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._held.clear()

    def _hear(self, reports: Sequence[Report]) -> None:
        self._listener(self._passed(reports))

    def _passed(self, reports: Sequence[Report]) -> list[Report]:
        passed: list[Report] = []
        for report in reports:
            if isinstance(report, Up) and report.machine in self._held:
                lower_priority(self._engine.process_of(report.machine))
                passed.append(self._report(report.machine))
            elif isinstance(report, Down):
                self._held.pop(report.machine, None)
            passed.append(report)
        return passed

    def _look(self) -> None:
        used = self._others.cores()
        changed: list[Report] = []
        for machine, (_, sizing) in self._held.items():
            before = sizing.size
            if sizing.look(used + sizing.most - self._cores) != before:
                changed.append(self._report(machine))
            used += sizing.size
        self._lower()
        self._timer = self._loop.call_later(self._every, self._look) if self._held else None
        if changed:
            self._listener(changed)

    def _lower(self) -> None:
        """See to sessions that workers began and were not allowed to lower at once."""
        begun = {pid for machine in self._held for pid in children(self._engine.process_of(machine))}
        self._lowered = {pid for pid in begun if pid in self._lowered or lower_session(pid, LOWEST)}

    def _report(self, machine: int) -> Resized:
        type, sizing = self._held[machine]
        amounts = tuple((name, min(count, sizing.size) if name == CPUS else count) for name, count in type.amounts)
        return Resized(machine, amounts)


def with_harvest(listener: Listener, types: Sequence[MachineType], make: Callable[[Listener], LocalMachines]) -> Engine:
    """An engine as it is made, or one that harvests if any machine type says so."""
    if any(type.market is Market.HARVEST and not type.trace for type in types):
        return HarvestEngine(listener, make)
    return make(listener)


def lower_priority(pid: int) -> None:
    """Let a process, with all its threads and whatever it starts later, run only when nobody else wants to."""
    with suppress(OSError):
        for thread in (Path("/proc") / str(pid) / "task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), LOWEST)
        return
    import psutil  # noqa: PLC0415 - where there is no /proc

    with suppress(psutil.Error):
        psutil.Process(pid).nice(LOWEST)
