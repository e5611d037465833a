"""The common base of PLF and SCF: parameters, first and last steps, and how they are built."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tradewind.model.units import show_duration
from tradewind.policies.parts.consolidation import Planned, horizon
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.parts.plan import ByPlan, Plan
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Policy, Pool, Rent, Return, Scaling, View

Placement: TypeAlias = Literal["plan", "dynamic"]


@dataclass(frozen=True, slots=True)
class PlanningParameters:
    """How the plan of a policy is followed; the defaults are the paper's."""

    placement: Placement = field(
        default="plan",
        metadata={"help": "plan: follow the plan; dynamic: start tasks immediately on the first machine with room"},
    )
    replan_on_arrival: bool = field(
        default=False, metadata={"help": "also plan at each submission, not only once per interval"}
    )


class Planner(ABC):
    """A scaler that also makes a plan, for one tenant after the other."""

    def __init__(self, parameters: PlanningParameters) -> None:
        self.on_arrival = parameters.replan_on_arrival
        self.memory = Plan()

    def scale(self, view: View) -> Iterator[Scaling]:
        """Serve the tenants in turn, then activate the plan."""
        planned: list[Planned] = []
        for pool in view.pools():
            yield from self.serve(view, pool, planned)
        self.memory.load((each.unit.id, each.machine.id) for each in planned)

    @abstractmethod
    def serve(self, view: View, pool: Pool, planned: list[Planned]) -> Iterator[Scaling]:
        """Yield what to rent and return for a tenant, and add its tasks to the plan."""


def planning_policy(name: str, planner: Planner, placement: Placement) -> Policy:
    """Return a policy of a scaler that plans and the requested placer."""
    placer = ByPlan(planner.memory) if placement == "plan" else FirstIdle()
    return Policy(name, planner, placer, memory=planner.memory, looks_ahead=True)


def returns(view: View, pool: Pool, planned: Sequence[Planned]) -> list[Return]:
    """Return idle machines without a planned task that would be charged again before the next decision."""
    needed = {each.machine.id for each in planned}
    machines = (machine for fleet in pool.fleets for machine in fleet.machines.values())
    ahead = horizon(view) - view.now
    return [
        Return(
            machine,
            f"none of {len(planned)} planned tasks runs on it, and its paid time ends in"
            f" {show_duration(max(0, machine.paid_until - view.now))}",
        )
        for machine in expiring(machines, view.now, ahead)
        if machine.id not in needed
    ]


def hopeless(view: View, pool: Pool, payable: frozenset[int]) -> Iterator[Rent]:
    """Request machines that tasks need but the budget can never pay for, so that the refusal is logged."""
    if len(payable) == len(view.kinds):
        return
    for need in sorted(pool.waiting(), key=lambda need: need.index):
        if not any(kind.index in payable for kind in need.kinds):
            unit = pool.first(need)
            if unit is not None:
                cheapest = min(need.kinds, key=lambda kind: (view.worth(pool, kind), kind.index))
                yield Rent(
                    pool, cheapest, 1, f"the budget cannot pay for any machine that can run task {unit.task.id!r}"
                )
                return
