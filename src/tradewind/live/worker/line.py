"""The line of a worker: orders for which there is no room yet, and reports that can wait while there is work in line.

As long as enough orders are in line, nothing is lost if the engine hears of several ends at once: it then answers with
as many orders. Orders whose turn does not come are given back, for another machine may be free. Those whose turn comes
next are prepared while nothing else is to be done.
"""

from collections import deque
from typing import Any, Generic, Protocol, TypeVar

from tradewind.live.worker.wire import PackedOrder

ENOUGH = 4
"""Orders in line above which reports wait for each other."""

LONGEST_HOLD = 0.005
"""Seconds that a report waits at the most."""

PATIENCE = 0.5
"""Seconds after which an order is given back."""

NEAR = 4
"""How many of the first in line are prepared."""


class Waiting(Protocol):
    """An attempt that has not begun."""

    order: PackedOrder

    def prepare(self) -> None:
        """Do what can be done before its turn."""

    def forsake(self) -> None:
        """Leave no trace: its turn does not come."""


Waiter = TypeVar("Waiter", bound=Waiting)


class Line(Generic[Waiter]):
    """What waits in a worker."""

    def __init__(self) -> None:
        self.news: list[tuple[Any, ...]] = []
        """What the engine has not been told."""
        self._waiting: deque[tuple[float, Waiter]] = deque()
        self._prepared = 0
        """How many of the first are."""
        self._tell_by: float | None = None
        """When the news must be told, if they may wait."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def join(self, attempt: Waiter, now: float) -> None:
        """An attempt has to wait."""
        self._waiting.append((now, attempt))

    def attempts(self) -> set[tuple[int, int]]:
        """Units and attempts that wait."""
        return {(each.order.unit, each.order.attempt) for _, each in self._waiting}

    def leave(self, unit: int, attempt: int) -> None:
        """One is no longer wanted."""
        for index, (_, each) in enumerate(self._waiting):
            if (each.order.unit, each.order.attempt) == (unit, attempt):
                each.forsake()
                del self._waiting[index]
                if index < self._prepared:
                    self._prepared -= 1
                return

    def clear(self) -> None:
        """None is wanted any more."""
        for _, each in self._waiting:
            each.forsake()
        self._waiting.clear()
        self._prepared = 0

    def next(self, running: int) -> Waiter | None:
        """The attempt that can begin while so many run."""
        waiting = self._waiting
        if not waiting or running >= waiting[0][1].order.most:
            return None
        self._prepared = max(0, self._prepared - 1)
        return waiting.popleft()[1]

    def could_prepare(self) -> bool:
        """Whether one whose turn is near could be prepared."""
        return self._prepared < min(NEAR, len(self._waiting))

    def prepare(self) -> None:
        """Prepare one."""
        self._waiting[self._prepared][1].prepare()
        self._prepared += 1

    def give_back(self, now: float) -> None:
        """Give back all if the first has waited for too long: those behind it can only wait for longer."""
        if self._waiting and now >= self._waiting[0][0] + PATIENCE:
            self.news += [("back", each.order.unit, each.order.attempt) for _, each in self._waiting]
            self.clear()

    def is_silent(self, now: float) -> bool:
        """Whether nothing need be told yet."""
        if not self.news:
            return True
        if len(self._waiting) <= ENOUGH or self.news[-1][0] != "done":
            return False
        if self._tell_by is None:
            self._tell_by = now + LONGEST_HOLD
        return now < self._tell_by

    def told(self) -> list[tuple[Any, ...]]:
        """The news, which are told now."""
        news, self.news = self.news, []
        self._tell_by = None
        return news

    def due(self) -> float | None:
        """When something must be told or given back."""
        if self.news and self._tell_by is not None:
            return self._tell_by
        return self._waiting[0][0] + PATIENCE if self._waiting else None
