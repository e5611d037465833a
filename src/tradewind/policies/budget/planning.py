"""What PLF and SCF share besides the planner: their parameters, their last step, and how they are put together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from tradewind.model.units import show_duration
from tradewind.policies.parts.consolidation import Planned, horizon
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.parts.plan import ByPlan, Plan
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Policy, Pool, Rent, Return, Scaler, Unit, View

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


class PlanningScaler(Scaler, Protocol):
    """A scaler that also makes a plan."""

    memory: Plan


def planning_policy(name: str, scaler: PlanningScaler, placement: Placement) -> Policy:
    """A scaler that plans, with the placer asked for."""
    placer = ByPlan(scaler.memory) if placement == "plan" else FirstIdle()
    return Policy(name, scaler, placer, memory=scaler.memory)


def assignments(planned: Sequence[Planned]) -> Iterator[tuple[int, int]]:
    """What a plan comes down to for its placer: numbers of units and machines."""
    return ((each.unit.id, each.machine.id) for each in planned)


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
