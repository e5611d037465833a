"""Means: which machines a tenant may still plan to acquire under limits, quota and budget, as admission will see it.

Planned machines count as held, because their money and capacity cannot be promised twice.
"""

from collections.abc import Sequence
from operator import mul

from tradewind.model.units import Money
from tradewind.policies.deadline.board import Board
from tradewind.policies.protocol import Pool, View


class Means:
    """What may be added to the plans of a tenant."""

    def __init__(self, view: View, pool: Pool, board: Board) -> None:
        planned = [sum(track.machine is None for track in tracks) for tracks in board.tracks]
        self.rooms = [
            0 if board.was_refused(view, kind.index) else view.vacancies(kind) - count
            for kind, count in zip(view.kinds, planned, strict=True)
        ]
        """By machine type, within the limits."""
        self._worths = [view.worth(pool, kind) for kind in view.kinds]
        self._money: Money | None = None
        if pool.tenant.budget is not None:
            self._money = view.affordable(pool) - self._worth(planned)
        self._machines: int | None = None
        if pool.tenant.machines is not None:
            held = sum(len(fleet.machines) for fleet in pool.fleets)
            self._machines = pool.tenant.machines - held - sum(planned)

    @property
    def are_shared(self) -> bool:
        """Return whether machines of one type leave less for others."""
        return self._money is not None or self._machines is not None

    def allow(self, kind: int, opened: Sequence[int] = ()) -> bool:
        """Return whether another machine of a type may be planned in addition to tentative ones, counted by type."""
        if self.rooms[kind] <= (opened[kind] if opened else 0):
            return False
        if self._machines is not None and sum(opened) >= self._machines:
            return False
        return self._money is None or self._worth(opened) + self._worths[kind] <= self._money

    def _worth(self, counts: Sequence[int]) -> Money:
        return sum(map(mul, counts, self._worths))
