"""How many tasks of active runs stand in each state: counted in the core, seldom, and kept as long as it is true.

Counting a run takes as long as it is large. So a large run that changes all the time is counted less often: at most a
hundredth of the time goes into it.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from operator import attrgetter

from tradewind.core.work import Run, Unit
from tradewind.live.store.port import Changes

_SHARE = 100

_state_of = attrgetter("state")


class Tallies:
    """Counts units of active runs by state."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._kept: dict[int, tuple[float, dict[int, int]]] = {}
        """By run: until when a count holds although the run has changed, and the count."""
        self._changed: set[int] = set()

    def of(self, run: Run) -> dict[int, int]:
        """How many units of a run stand in each state."""
        kept = self._kept.get(run.id)
        if kept is not None and (run.id not in self._changed or self._clock() < kept[0]):
            return kept[1]
        began = self._clock()
        counts = count(run.units)
        now = self._clock()
        self._kept[run.id] = (now + _SHARE * (now - began), counts)
        self._changed.discard(run.id)
        return counts

    def saved(self, changes: Changes) -> None:
        """A batch has changed some runs."""
        self._changed |= self._kept.keys() & (
            {row.run for row in changes.units} | {row.run for row in changes.new_units}
        )
        for change in changes.runs:
            self._changed.add(change.number)
            if change.ended is not None:
                self._kept.pop(change.number, None)
                self._changed.discard(change.number)


def count(units: Iterable[Unit]) -> dict[int, int]:
    """How many of some units stand in each state."""
    return dict(Counter(map(_state_of, units)))
