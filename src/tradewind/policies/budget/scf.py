"""SCF: Scaling First, which spends its budget in proportion to the work ahead on each type, then plans on what it got.

Mao and Humphrey's policy as amended in section 3.2 of Ilyushkin et al., Cluster 2019, whose five steps are the phases
below. Needs run-time estimates. Where we had to choose, or differ:
- The plan of the first step has unlimited machines, so every unfinished task is in it on its fastest type, and the run
  times on each type add up without it being drawn. Of running tasks we count what lies ahead. Run times are added over
  all workflows before rounding up; a type that any task wants is never rounded to zero.
- A type dearer than the whole budget is not a candidate in the first step, else its tasks would wait for ever.
- The second step scales to the budget, up as well as down, and then spends the rest: this is the paper's text, and why
  SCF over-provisions. `fill_budget=False` only scales down. Without a budget nothing is scaled, and types that cost
  nothing are never scaled.
- What is held already counts against the supply; what is missing is rented. Machines above the supply of their type
  stay until they are idle and unplanned at the end of their paid time. As long as they hold money that the missing ones
  would need, these are rented one of each type in turn as far as the budget goes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind.model.units import Duration, Money
from tradewind.policies.budget.planning import Planner, PlanningParameters, hopeless, planning_policy, returns
from tradewind.policies.parts.capable import with_capable
from tradewind.policies.parts.consolidation import Planned, by_priority, consolidate, eligible_by_run
from tradewind.policies.parts.fastest import fastest, payable
from tradewind.policies.protocol import Offer, Policy, Pool, Rent, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters(PlanningParameters):
    """How the supply is scaled, and the plan followed."""

    fill_budget: bool = field(
        default=True, metadata={"help": "scale the supply up to the whole budget too, as in the paper, not only down"}
    )


class Work(NamedTuple):
    """What would run on one type if machines were unlimited."""

    tasks: int = 0
    time: Duration = 0


class Scf(Planner):
    """Rents in proportion to the work on each type, then plans the interval."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._fill_budget = parameters.fill_budget

    def serve(self, view: View, pool: Pool, planned: list[Planned]) -> Iterator[Scaling]:
        """The five steps, for one tenant."""
        with view.phase("supply"):
            kinds = payable(view, pool)
            works = work_by_kind(view, pool, kinds)
            predicted = [
                machines(work, view.interval * kind.type.slots) for work, kind in zip(works, view.kinds, strict=True)
            ]
        with view.phase("budget"):
            prices = [view.worth(pool, kind) for kind in view.kinds]
            limits = [len(fleet.machines) + view.vacancies(fleet.kind) for fleet in pool.fleets]
            target = fit(predicted, prices, limits, pool.tenant.budget, fill=self._fill_budget)
            if pool.tenant.budget is not None:  # what could start now comes before what lies ahead
                groups = {kinds & {kind.index for kind in need.kinds} for need in pool.waiting()} - {frozenset()}
                target = with_capable(target, groups, prices, limits, pool.tenant.budget)
        with view.phase("allocate"):
            eligible = eligible_by_run(pool)
            reasons = [
                f"{work.tasks} tasks run fastest on {kind.type.name} and ask for {asked}; the budget makes it {wanted}"
                for kind, work, asked, wanted in zip(view.kinds, works, predicted, target, strict=True)
            ]
            rents = [*missing(view, pool, target, reasons), *hopeless(view, pool, eligible, kinds)]
        yield from rents
        with view.phase("plan"):
            plan = consolidate(view, pool, by_priority(pool), eligible)
            planned += plan
        with view.phase("release"):
            surplus = returns(view, pool, plan)
        yield from surplus


def work_by_kind(view: View, pool: Pool, kinds: frozenset[int]) -> list[Work]:
    """What is left to do, by the type on which each task runs or would run fastest."""
    tasks = [0] * len(view.kinds)
    times = [0] * len(view.kinds)
    for run in pool.runs.values():
        for unit in run.units:
            if unit.is_ended:
                continue
            kind = unit.machine.kind if unit.machine else fastest(view, pool, unit, kinds)
            if kind is not None:
                elapsed = view.now - unit.started if unit.machine else 0
                tasks[kind.index] += 1
                times[kind.index] += max(0, view.estimate(unit, kind) - elapsed)
    return [Work(*each) for each in zip(tasks, times, strict=True)]


def machines(work: Work, capacity: Duration) -> int:
    """How many machines, each with so much time to give, the work takes: at least one if there is any."""
    return max(1, -(-work.time // capacity)) if work.tasks else 0


def fit(
    predicted: Sequence[int], prices: Sequence[Money], limits: Sequence[int], budget: Money | None, *, fill: bool = True
) -> list[int]:
    """Scale the supply to the budget, and spend what rounding leaves over on the predicted types in turn."""
    within = [min(number, limit) for number, limit in zip(predicted, limits, strict=True)]
    cost = _cost(predicted, prices)
    if budget is None or cost == 0 or (cost <= budget and not fill):
        return within
    scaled = [
        min(number * budget // cost, limit) if price else min(number, limit)
        for number, price, limit in zip(predicted, prices, limits, strict=True)
    ]
    growing = [
        limit if number and price else have
        for number, price, limit, have in zip(predicted, prices, limits, scaled, strict=True)
    ]
    return in_turn(scaled, prices, growing, budget - _cost(scaled, prices))


def in_turn(counts: Sequence[int], prices: Sequence[Money], limits: Sequence[int], budget: Money) -> list[int]:
    """Add one machine of each type in turn, until every type is at its limit or dearer than what is left."""
    counts = list(counts)
    is_growing = True
    while is_growing:
        is_growing = False
        for kind, price in enumerate(prices):
            if counts[kind] < limits[kind] and price <= budget:
                counts[kind] += 1
                budget -= price
                is_growing = True
    return counts


def missing(view: View, pool: Pool, target: Sequence[int], reasons: Sequence[str]) -> Iterator[Rent]:
    """Rent what is not held of the target yet, one machine of each type in turn if not all of it can be paid for."""
    prices = [view.worth(pool, kind) for kind in view.kinds]
    lacking = [max(0, target[fleet.kind.index] - len(fleet.machines)) for fleet in pool.fleets]
    numbers = in_turn([0] * len(lacking), prices, lacking, view.affordable(pool))
    for kind, number, because in zip(view.kinds, numbers, reasons, strict=True):
        if number:
            yield Rent(pool, kind, number, because)


def _cost(counts: Sequence[int], prices: Sequence[Money]) -> Money:
    return sum(number * price for number, price in zip(counts, prices, strict=True))


def _build(parameters: Parameters) -> Policy:
    return planning_policy("scf", Scf(parameters), parameters.placement)


OFFER = Offer(
    name="scf",
    summary="Scaling First: spends the budget in proportion to the work ahead on each type, then plans the interval",
    parameters=Parameters,
    build=_build,
)
