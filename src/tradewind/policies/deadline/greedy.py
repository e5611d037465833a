"""Greedy: each task on the cheapest machine that ends it in time, whatever it would cost elsewhere.

After Yu, Buyya and Tham (e-Science 2005) as extended in Algorithm 4 of the SCS paper: deadlines in proportion to the
fastest times, then the cheapest of the live machines, then the cheapest type of which a new one is in time.
"""

from tradewind.model.units import Time
from tradewind.policies.deadline.board import ByBoard
from tradewind.policies.deadline.rivals import Rival, RivalParameters, Target
from tradewind.policies.deadline.shape import Shape
from tradewind.policies.deadline.windows import spread
from tradewind.policies.protocol import Offer, Policy


class Greedy(Rival):
    """The cheapest machine that is in time."""

    def targets(self, shape: Shape, begin: Time, deadline: Time) -> list[Target]:
        """Any type, cheapest first, within a window in proportion to the fastest times."""
        by_price = sorted(range(len(self._prices)), key=lambda kind: (self._prices[kind], kind))
        windows = spread(shape.fastest, shape.parents, max(deadline - begin, shape.tightest))
        return [Target(by_price, begin + window.end) for window in windows]


def _build(parameters: RivalParameters) -> Policy:
    placer = ByBoard()
    return Policy("greedy", Greedy(parameters, placer), placer)


OFFER = Offer(
    name="greedy",
    summary="deadlines: each task on the cheapest machine that ends it in time (needs run-time estimates)",
    parameters=RivalParameters,
    build=_build,
)
