"""The line of a worker: orders for which there is no room yet, and reports that can wait while there is work in line.

As long as enough orders are in line, nothing is lost if the engine hears of several ends at once: it then answers with
as many orders. Orders whose turn does not come are given back, for another machine may be free.
"""

from collections import deque
from typing import Any

from tradewind.live.worker.wire import PackedOrder

ENOUGH = 4
"""Orders in line above which reports wait for each other."""

LONGEST_HOLD = 0.005
"""Seconds that a report waits at the most."""

PATIENCE = 0.5
"""Seconds after which an order is given back."""


class Line:
    """What waits in a worker."""

    def __init__(self) -> None:
        self.news: list[tuple[Any, ...]] = []
        """What the engine has not been told."""
        self._orders: deque[tuple[float, PackedOrder]] = deque()
        self._tell_by: float | None = None
        """When the news must be told, if they may wait."""

    def __bool__(self) -> bool:
        return bool(self._orders)

    def join(self, order: PackedOrder, now: float) -> None:
        """An order has to wait."""
        self._orders.append((now, order))

    def leave(self, unit: int, attempt: int) -> None:
        """An order is no longer wanted."""
        self._orders = deque(each for each in self._orders if each[1][1:3] != (unit, attempt))

    def clear(self) -> None:
        """No order is wanted any more."""
        self._orders.clear()

    def next(self, running: int) -> PackedOrder | None:
        """The order that can begin while so many attempts run."""
        orders = self._orders
        return orders.popleft()[1] if orders and running < orders[0][1].most else None

    def give_back(self, now: float) -> None:
        """Give back all orders if the first has waited for too long: those behind it can only wait for longer."""
        if self._orders and now >= self._orders[0][0] + PATIENCE:
            self.news += [("back", order.unit, order.attempt) for _, order in self._orders]
            self._orders.clear()

    def is_silent(self, now: float) -> bool:
        """Whether nothing need be told yet."""
        if not self.news:
            return True
        if len(self._orders) <= ENOUGH or self.news[-1][0] != "done":
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
        return self._orders[0][0] + PATIENCE if self._orders else None
