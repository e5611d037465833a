"""Iterations that came back to a job, during one transaction: read by the page, written once at its end.

Almost every report takes a range out of the pool or puts one back, and many reports share a transaction, so asking the
store each time would be most of what a report costs.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

from tradewind.core.divisible.records import Range
from tradewind.live.divisible import statements as sql
from tradewind.live.store.sql import Session

_PAGE = 64


class Free:
    """The ranges that came back to one job, first ones first."""

    def __init__(self, session: Session, job: int) -> None:
        self._session = session
        self._job = job
        self._seen: list[Range] = []
        """Read and not taken, in the order of a heap; all that is not read comes after `_until`."""
        self._until = -1
        self._is_all = False
        """Whether everything was read."""
        self._new: dict[int, int] = {}
        self._taken: set[int] = set()
        """Where ranges began that the store has and nobody else may get."""

    def take(self) -> Range | None:
        """Remove the first one."""
        self._read()
        if not self._seen:
            return None
        begin, end = heappop(self._seen)
        if self._new.pop(begin, None) is None:
            self._taken.add(begin)
        return begin, end

    def put(self, ranges: Iterable[Range]) -> None:
        """Add some."""
        for begin, end in ranges:
            self._new[begin] = end
            heappush(self._seen, (begin, end))

    def write(self) -> None:
        """Let the store have all that has changed."""
        gone = [begin for begin in self._taken if begin not in self._new]
        for begin in gone:
            self._session.change(sql.DROP_FREE, job=self._job, first=begin)
        if self._new:
            self._session.write(sql.FREE, [(self._job, begin, end) for begin, end in sorted(self._new.items())])
        self._new.clear()
        self._taken.clear()

    def _read(self) -> None:
        """Know what the first one is: read on unless one that was read comes before all that was not."""
        while not self._is_all and (not self._seen or self._seen[0][0] > self._until):
            rows = self._session.fetch(sql.FREE_AFTER, job=self._job, after=self._until, limit=_PAGE)
            self._is_all = len(rows) < _PAGE
            self._until = rows[-1][0] if rows else self._until
            for begin, end in rows:
                heappush(self._seen, (begin, end))
