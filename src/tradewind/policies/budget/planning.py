"""What PLF and SCF share: their parameters, their first and last steps, and how they are put together."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tradewind.model.units import show_duration
from tradewind.policies.parts.consolidation import Planned, horizon
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.parts.plan import ByPlan, Plan
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Policy, Pool, Rent, Return, Scaling, Unit, View

Placement: TypeAlias = Literal["plan", "dynamic"]


@dataclass(frozen=True, slots=True)
class PlanningParameters:
    """How a policy that plans is followed; the defaults are the paper's."""

    placement: Placement = field(
        default="plan", metadata={"help": "follow the plan, or start work at once on the first machine with room"}
    )
    replan_on_arrival: bool = field(
        default=False, metadata={"help": "plan again at each submission instead of once an interval"}
    )


class Planner(ABC):
    """A scaler that also makes a plan, for one tenant after the other."""

    def __init__(self, parameters: PlanningParameters) -> None:
        self.on_arrival = parameters.replan_on_arrival
        self.memory = Plan()

    def scale(self, view: View) -> Iterator[Scaling]:
        """Serve the tenants in turn, then put the plan into force."""
        planned: list[Planned] = []
        for pool in view.pools():
            yield from self.serve(view, pool, planned)
        self.memory.load((each.unit.id, each.machine.id) for each in planned)

    @abstractmethod
    def serve(self, view: View, pool: Pool, planned: list[Planned]) -> Iterator[Scaling]:
        """What to rent and to return for a tenant; what it is to run where is added to the plan."""


def planning_policy(name: str, planner: Planner, placement: Placement) -> Policy:
    """A scaler that plans, with the placer asked for."""
    placer = ByPlan(planner.memory) if placement == "plan" else FirstIdle()
    return Policy(name, planner, placer, memory=planner.memory)


def returns(view: View, pool: Pool, planned: Sequence[Planned]) -> list[Return]:
    """Idle machines without a planned task that would be paid for again before the next decision."""
    needed = {each.machine.id for each in planned}
    machines = (machine for fleet in pool.fleets for machine in fleet.machines.values())
    ahead = horizon(view) - view.now
    return [
        Return(
            machine,
            f"none of {len(planned)} planned tasks runs on it, and it is paid for"
            f" {show_duration(max(0, machine.paid_until - view.now))} more",
        )
        for machine in expiring(machines, view.now, ahead)
        if machine.id not in needed
    ]


def hopeless(view: View, pool: Pool, eligible: Mapping[int, Sequence[Unit]], payable: frozenset[int]) -> Iterator[Rent]:
    """Ask in vain for a machine that the budget never pays for but a task needs, so that the refusal is on record."""
    if len(payable) == len(view.kinds):
        return
    for units in eligible.values():
        for unit in units:
            if not any(kind.index in payable for kind in unit.kinds):
                cheapest = min(unit.kinds, key=lambda kind: (view.worth(pool, kind), kind.index))
                yield Rent(pool, cheapest, 1, f"the budget pays for no machine that can run task {unit.task.id!r}")
                return
