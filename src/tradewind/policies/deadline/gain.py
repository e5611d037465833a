"""GAIN: plan each job on its cheapest types, upgraded by gain until it is on time, regardless of other jobs.

After Sakellariou and Zhao (CoreGRID 2005) as extended in Algorithm 4 of the SCS paper: start from the cheapest plan,
and move the task with the largest (makespan saved)/(extra cost) to a faster type until the job meets its deadline.
"""

from tradewind.model.units import Time
from tradewind.policies.deadline.board import ByBoard
from tradewind.policies.deadline.demand import cheapest_plan
from tradewind.policies.deadline.rivals import Rival, RivalParameters, Target
from tradewind.policies.deadline.shape import Shape, makespan
from tradewind.policies.deadline.windows import spread
from tradewind.policies.protocol import Offer, Policy


class Gain(Rival):
    """A rival that uses the cheapest plan of each job by itself."""

    def targets(self, shape: Shape, begin: Time, deadline: Time) -> list[Target]:
        """Return one type for each task, within a window in proportion to the times there."""
        available = deadline - begin
        times, choice = cheapest_plan(shape, self._prices, available)
        windows = spread(times, shape.parents, max(available, makespan(times, shape.parents)))
        return [Target((kind,), begin + window.end) for kind, window in zip(choice, windows, strict=True)]


def _build(parameters: RivalParameters) -> Policy:
    placer = ByBoard()
    return Policy("gain", Gain(parameters, placer), placer, looks_ahead=True)


OFFER = Offer(
    name="gain",
    summary="deadlines: each job on its cheapest types, upgraded until it is on time (needs run-time estimates)",
    parameters=RivalParameters,
    build=_build,
)
