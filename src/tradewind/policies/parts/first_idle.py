"""The dynamic placer: tasks start immediately, by priority and age, on the first machine with room.

This is the placement of the PFA paper (section 3.3.5): no run times, no plan.
"""

from collections.abc import Iterator
from functools import partial

from tradewind.policies.protocol import Place, Unit, View

_place = partial(tuple.__new__, Place)  # faster than naming the fields, on the hottest path


class FirstIdle:
    """A placer by workflow priority, then submission order, on the first machine with room."""

    def rank(self, unit: Unit) -> int:
        """Higher priorities first."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        """Start units while there is room for any."""
        for pool in view.unsettled():
            best_match = pool.best_match
            while (match := best_match()) is not None:
                yield _place((*match, "first ready unit on the first machine with room"))
