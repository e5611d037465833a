"""Processes that have left their attempt: found when the kernel gives them to the worker, and killed when it ends.

A process that daemonises loses its parents and is adopted by the worker. Whose it is shows in its process group or in a
variable that everything is started with. One that has shed both belongs to whatever ran when it was first seen,
and ends with the last of these.
"""

import signal
from collections.abc import Container, Iterator

from tradewind.live.worker import processes

MARK = "TRADEWIND_ATTEMPT_KEY"
_MARK = MARK.encode()


class Strays:
    """The adopted processes of a worker."""

    def __init__(self) -> None:
        self.alive: set[str] = set()
        """Keys of attempts that run."""
        self.groups: dict[int, str] = {}
        """Which attempt began a process group."""
        self.family = processes.Family()
        self._owners: dict[int, set[str]] = {}

    def look(self, known: Container[int]) -> None:
        """Find new ones among the children that are not known."""
        for pid in self.family.now():
            if pid not in known and pid not in self._owners:
                self._owners[pid] = self._owners_of(pid)

    def kill(self) -> None:
        """Kill those whose attempts have all ended."""
        for pid, owners in self._owners.items():
            if owners.isdisjoint(self.alive):
                processes.kill(pid, signal.SIGKILL)

    def add(self, pid: int, key: str) -> None:
        """Take a child for a stray of an attempt."""
        self._owners[pid] = {key}

    def bury(self, pid: int) -> set[str]:
        """Forget one that has ended; the attempts that it belonged to."""
        return self._owners.pop(pid, set())

    def of(self, key: str) -> Iterator[int]:
        """Those that belong to an attempt, and perhaps to others."""
        return (pid for pid, owners in self._owners.items() if key in owners)

    def left(self, key: str) -> bool:
        """Whether an attempt that has ended has one that is not yet dead."""
        return any(key in owners and owners.isdisjoint(self.alive) for owners in self._owners.values())

    def _owners_of(self, pid: int) -> set[str]:
        key = self.groups.get(processes.group(pid)) or processes.variable(pid, _MARK)
        candidates = self.alive.union(self.groups.values())  # some may just be ending
        return {key} if key in candidates else candidates
