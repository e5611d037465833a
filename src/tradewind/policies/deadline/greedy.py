"""Greedy: run each task on the cheapest machine that ends it on time, considering only the task itself.

After Yu, Buyya and Tham (e-Science 2005) as extended in Algorithm 4 of the SCS paper: deadlines in proportion to the
fastest times, then the cheapest of the live machines, then the cheapest type of which a new machine is on time.
"""

from collections.abc import Sequence

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.board import ByBoard
from tradewind.policies.deadline.rivals import Rival, RivalParameters, Target
from tradewind.policies.deadline.shape import Shape
from tradewind.policies.deadline.windows import spread
from tradewind.policies.protocol import Offer, Policy


class Greedy(Rival):
    """A rival that uses the cheapest machine that is on time."""

    def targets(self, shape: Shape, begin: Time, deadline: Time) -> list[Target]:
        """Return any type, cheapest first, within a window in proportion to the fastest times."""
        windows = spread(shape.fastest, shape.parents, max(deadline - begin, shape.tightest))
        if shape.given is None:
            by_price = sorted(range(len(self._prices)), key=lambda kind: (self._prices[kind], kind))
            return [Target(by_price, begin + window.end) for window in windows]
        rows = zip(shape.times, shape.given, windows, strict=True)
        return [Target(self._by_price(times, work), begin + window.end) for times, work, window in rows]

    def _by_price(self, times: Sequence[Duration], work: Sequence[Duration]) -> Sequence[int]:
        """Sort machine types by the price of a task's share of a machine."""
        slots = [taken / time if time else 1.0 for time, taken in zip(times, work, strict=True)]
        return sorted(range(len(slots)), key=lambda kind: (self._prices[kind] * slots[kind], kind))


def _build(parameters: RivalParameters) -> Policy:
    placer = ByBoard()
    return Policy("greedy", Greedy(parameters, placer), placer, looks_ahead=True)


OFFER = Offer(
    name="greedy",
    summary="deadlines: each task on the cheapest machine that ends it on time (needs run-time estimates)",
    parameters=RivalParameters,
    build=_build,
)
