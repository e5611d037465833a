"""SCF: Scaling First, which spends its budget in proportion to the work ahead on each type, then plans the interval.

Mao and Humphrey's policy as amended in section 3.2 of Ilyushkin et al., Cluster 2019, whose five steps are the phases
below. Needs run-time estimates. Our choices and differences:
- The plan of the first step has unlimited machines, so every unfinished task runs on its fastest type, and the run
  times per type can be added up without building the plan. For running tasks we count the remaining time. Run times are
  summed over all workflows before rounding up; a type that any task wants is never rounded to zero.
- The remaining work of a run with more than 1,000 tasks is recounted whenever a 32nd of it has finished, and scaled by
  the number of remaining tasks in between, so that a decision does not have to visit the whole backlog.
- A type that costs more than the whole budget is not a candidate in the first step; otherwise its tasks would wait
  forever.
- The second step scales to the budget, up as well as down, and then spends the rest: this follows the paper's text, and
  is why SCF over-provisions. `fill_budget=False` only scales down. Without a budget nothing is scaled, and free types
  are never scaled. There are never more machines of a type than its tasks can use concurrently.
- Held machines count against the supply; missing ones are rented. Machines above the supply of their type stay until
  they are idle and unplanned at the end of their paid time. While they hold money that missing machines would need,
  these are rented one of each type in turn as far as the budget goes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind.model.units import Duration, Money
from tradewind.model.vector import fitting
from tradewind.policies.budget.planning import Planner, PlanningParameters, hopeless, planning_policy, returns
from tradewind.policies.parts.capable import with_capable
from tradewind.policies.parts.consolidation import Planned, by_priority, consolidate
from tradewind.policies.parts.fastest import fastest, payable
from tradewind.policies.protocol import Offer, Policy, Pool, Rent, Run, Scaling, View

_LARGE = 1_000
_STEPS = 32


@dataclass(frozen=True, slots=True)
class Parameters(PlanningParameters):
    """How the supply is scaled, and how the plan is followed."""

    fill_budget: bool = field(
        default=True, metadata={"help": "scale the supply up to the whole budget, as in the paper, not only down"}
    )


class Work(NamedTuple):
    """The work that would run on one type if machines were unlimited."""

    tasks: int = 0
    time: Duration = 0
    slots: int = 0
    """Number of slots it takes if all of it runs concurrently."""
    """Slot time: each task takes its share of the slots of a machine, by how many of them fit on it."""


class Scf(Planner):
    """A planner that rents in proportion to the work on each type, then plans the interval."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._fill_budget = parameters.fill_budget
        self._ahead = Ahead()

    def serve(self, view: View, pool: Pool, planned: list[Planned]) -> Iterator[Scaling]:
        """Perform the five steps for one tenant."""
        with view.phase("supply"):
            kinds = payable(view, pool)
            works = self._ahead.by_kind(view, pool, kinds)
            predicted = [
                machines(work, view.interval * kind.type.slots) for work, kind in zip(works, view.kinds, strict=True)
            ]
        with view.phase("budget"):
            prices = [view.worth(pool, kind) for kind in view.kinds]
            limits = [len(fleet.machines) + view.vacancies(fleet.kind) for fleet in pool.fleets]
            useful = [
                min(limit, -(-work.slots // kind.type.slots))
                for limit, work, kind in zip(limits, works, view.kinds, strict=True)
            ]
            target = fit(predicted, prices, useful, pool.tenant.budget, fill=self._fill_budget)
            if pool.tenant.budget is not None:  # tasks that could start now come before later ones
                groups = {kinds & {kind.index for kind in need.kinds} for need in pool.waiting()} - {frozenset()}
                target = with_capable(target, groups, prices, limits, pool.tenant.budget)
        with view.phase("allocate"):
            reasons = [
                f"{work.tasks} tasks run fastest on {kind.type.name} and ask for {asked}; the budget makes it {wanted}"
                for kind, work, asked, wanted in zip(view.kinds, works, predicted, target, strict=True)
            ]
            rents = [*missing(view, pool, target, reasons), *hopeless(view, pool, kinds)]
        yield from rents
        with view.phase("plan"):
            plan = consolidate(view, pool, by_priority(pool))
            planned += plan
        with view.phase("release"):
            surplus = returns(view, pool, plan)
        yield from surplus


class Count(NamedTuple):
    """The remaining work of a run when it was last counted."""

    pool: int
    kinds: frozenset[int]
    """Types that the budget could pay for."""
    size: int
    left: int
    works: Sequence[Work]


class Ahead:
    """The remaining work by machine type, cached per run, because a large run is not counted at each decision."""

    def __init__(self) -> None:
        self._counts: dict[int, Count] = {}

    def by_kind(self, view: View, pool: Pool, kinds: frozenset[int]) -> list[Work]:
        """Return the remaining work by the type on which each task runs or would run fastest."""
        counts = {run.id: self._count(view, pool, run, kinds) for run in pool.runs.values()}
        for number in [number for number, count in self._counts.items() if count.pool == pool.index]:
            del self._counts[number]
        self._counts |= counts
        scaled = [_scaled(counts[run.id], run.left) for run in pool.runs.values()]
        return [Work(*map(sum, zip(*works, strict=True))) for works in zip(*scaled, strict=True)] or [
            Work() for _ in view.kinds
        ]

    def _count(self, view: View, pool: Pool, run: Run, kinds: frozenset[int]) -> Count:
        """Count a run, unless it is large and has changed little since it was last counted."""
        known = self._counts.get(run.id)
        is_same = known is not None and (known.kinds, known.size) == (kinds, len(run.graph))
        if known is not None and is_same and run.left > _LARGE and (known.left - run.left) * _STEPS < known.left:
            return known
        return Count(pool.index, kinds, len(run.graph), run.left, _work_of(view, pool, run, kinds))


def _work_of(view: View, pool: Pool, run: Run, kinds: frozenset[int]) -> list[Work]:
    """Return the remaining work of a run."""
    works = [[0, 0, 0] for _ in view.kinds]
    for unit in run.graph:
        if unit.is_ended:
            continue
        kind = unit.machine.kind if unit.machine else fastest(view, pool, unit, kinds)
        if kind is not None:
            elapsed = view.now - unit.started if unit.machine else 0
            slots, fits = kind.capacity[0], fitting(kind.capacity, unit.need.demand)
            work = works[kind.index]
            work[0] += 1
            work[1] += max(0, view.estimate(unit, kind) - elapsed) * slots // fits
            work[2] += slots // fits
    return [Work(*work) for work in works]


def _scaled(count: Count, left: int) -> list[Work]:
    """Scale the count of a run to the number of tasks that are left now."""
    if left == count.left:
        return list(count.works)
    return [Work(*(-(-each * left // count.left) for each in work)) for work in count.works]


def machines(work: Work, capacity: Duration) -> int:
    """Return how many machines with a given amount of time the work takes: at least one if there is any."""
    return max(1, -(-work.time // capacity)) if work.tasks else 0


def fit(
    predicted: Sequence[int], prices: Sequence[Money], limits: Sequence[int], budget: Money | None, *, fill: bool = True
) -> list[int]:
    """Scale the supply to the budget, and spend the remainder on the predicted types in turn."""
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
    """Add one machine of each type in turn, until every type is at its limit or costs more than what is left."""
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
    """Rent the missing machines of the target, one of each type in turn if the budget cannot pay for all."""
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
