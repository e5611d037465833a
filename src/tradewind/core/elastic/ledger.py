"""Where the iterations of an elastic unit are: not yet assigned, held by a share, or delivered.

At every instant `unassigned + held by shares + delivered` is the number of all iterations, and each iteration is in one
place. Only iterations whose results were delivered count as done; what a share holds when it ends or is lost goes back.
"""

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any

from tradewind.core.elastic import ranges
from tradewind.model.elastic import Range

MANY = 64
"""Ranges that a share may hold at once; one with more waits until it has delivered some."""


class Ledger:
    """The iterations of one elastic unit."""

    __slots__ = ("_cursor", "_returned", "delivered", "iterations", "unassigned")

    def __init__(self, iterations: int) -> None:
        self.iterations = iterations
        self.unassigned = iterations
        self.delivered = 0
        self._cursor = 0
        """The first iteration that was never assigned."""
        self._returned: list[Range] = []
        """A heap of ranges that came back."""

    def assign(self, held: list[Range], count: int) -> int:
        """Move up to `count` iterations to what a share holds, and return how many were moved."""
        moved = 0
        count = min(count, self.unassigned)
        while moved < count and len(held) < MANY:
            taken = self._take(count - moved)
            ranges.append(held, taken)
            moved += taken[1] - taken[0]
        self.unassigned -= moved
        return moved

    def take_back(self, given: Iterable[Range]) -> int:
        """Return ranges to the pool, and say how many iterations they are."""
        count = 0
        for each in given:
            heappush(self._returned, each)
            count += each[1] - each[0]
        self.unassigned += count
        return count

    def saved(self) -> list[Any]:
        """Return where the iterations are that no share holds, as plain values."""
        return [self.delivered, self._cursor, self._returned]

    def restore(self, saved: list[Any]) -> None:
        """Go on from what was saved, as if everything else were held."""
        self.delivered, self._cursor = saved[:2]
        self._returned = [(begin, end) for begin, end in saved[2]]
        self.unassigned = self.iterations - self._cursor + ranges.size(self._returned)

    def _take(self, most: int) -> Range:
        """Take a range out of the pool; what came back goes first."""
        if not self._returned:
            begin = self._cursor
            self._cursor = min(self.iterations, begin + most)
            return begin, self._cursor
        begin, end = heappop(self._returned)
        if end - begin > most:
            heappush(self._returned, (begin + most, end))
            end = begin + most
        return begin, end
