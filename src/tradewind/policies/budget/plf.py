"""PLF: Planning First, which rents machines for the tasks that are eligible now and then plans all it can on them.

Mao and Humphrey's *Scheduling First* as amended in section 3.1 of Ilyushkin et al., Cluster 2019, whose six steps are
the phases below. Needs run-time estimates. Where we had to choose, or differ:
- Shares of the budget go by priority plus one, so that priority 0 gets something too. What rounding leaves over is
  spent in the third step.
- A task whose fastest type has a free slot on a machine held already (idle or booting) takes that, at no cost: the
  machine's cost has been deducted in the first step. Otherwise each interval would rent a second machine for every task
  that waits for a booting one, and the plan would have machines without tasks, which the paper rules out.
- A type that is at its limit, or dearer than the whole budget, is not a candidate: the fastest of the others is. The
  paper's system is never that small; without this such tasks would wait for ever.
- In the third step workflows are gone through again in order of priority, each until its next task does not fit.
- Workflows are planned in random order, drawn from the policy's seed, the time and the tenant: nothing to remember.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tradewind.model.units import Money
from tradewind.policies.budget.planning import Planner, PlanningParameters, hopeless, planning_policy, returns
from tradewind.policies.parts.consolidation import Planned, by_priority, consolidate, eligible_by_run
from tradewind.policies.parts.fastest import fastest, payable
from tradewind.policies.protocol import Fleet, Kind, Offer, Policy, Pool, Rent, Run, Scaling, Unit, View


@dataclass(frozen=True, slots=True)
class Parameters(PlanningParameters):
    """How the plan is made and followed."""

    seed: int = field(default=0, metadata={"help": "draws the order in which workflows are planned"})


class Plf(Planner):
    """Rents for eligible tasks by priority, then plans the interval."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._seed = parameters.seed

    def serve(self, view: View, pool: Pool, planned: list[Planned]) -> Iterator[Scaling]:
        """The six steps, for one tenant."""
        with view.phase("budget"):
            runs = by_priority(pool)
            eligible = eligible_by_run(pool)
            budget = view.affordable(pool)
            shares = distribute(budget, runs)
        with view.phase("supply"):
            supply = Supply(view, pool)
            for run in runs:
                budget -= shares[run.id] - supply.choose(eligible.get(run.id, ()), shares[run.id])
        with view.phase("consolidate"):
            for run in runs:
                budget = supply.choose(eligible.get(run.id, ()), budget)
        with view.phase("allocate"):
            rents = [*supply.rents(), *hopeless(view, pool, eligible, supply.payable)]
        yield from rents
        with view.phase("plan"):
            order = shuffled(runs, f"{self._seed}/{view.now}/{pool.index}")
            plan = consolidate(view, pool, order, eligible, supply.types)
            planned += plan
        with view.phase("release"):
            surplus = returns(view, pool, plan)
        yield from surplus


def distribute(budget: Money, runs: Sequence[Run]) -> Mapping[int, Money]:
    """Each run's share of the budget, by number, in proportion to its priority plus one."""
    weights = {run.id: 1 + max(0, run.priority) for run in runs}
    total = sum(weights.values())
    return {run: budget * weight // total for run, weight in weights.items()}


def shuffled(runs: Sequence[Run], seed: str) -> list[Run]:
    """The runs in an order drawn from the seed."""
    order = list(runs)
    random.Random(seed).shuffle(order)
    return order


def free_slots(fleet: Fleet) -> int:
    """How many more units the idle and booting machines of a fleet could run at once."""
    return fleet.kind.type.slots * sum(not machine.running for machine in fleet.machines.values())


class Supply:
    """The types chosen for eligible tasks so far, and the machines to rent for them."""

    def __init__(self, view: View, pool: Pool) -> None:
        self._view = view
        self._pool = pool
        self._free = [free_slots(fleet) for fleet in pool.fleets]
        self._rentable = [view.vacancies(kind) for kind in view.kinds]
        self.payable = payable(view, pool)
        self._candidates = {kind for kind in self.payable if self._free[kind] or self._rentable[kind] > 0}
        self._rented = [0] * len(view.kinds)
        self.types: dict[int, Kind] = {}
        """By number of the unit."""

    def choose(self, units: Sequence[Unit], budget: Money) -> Money:
        """Give each unit its fastest type until one does not fit the budget; what is left of it."""
        for unit in units:
            if unit.id in self.types:
                continue
            kind = fastest(self._view, self._pool, unit, self._candidates)
            if kind is None:
                continue
            cost = 0 if self._free[kind.index] else self._view.worth(self._pool, kind)
            if cost > budget:
                break
            budget -= cost
            self._take(unit, kind)
        return budget

    def rents(self) -> Iterator[Rent]:
        """What to rent, and for how many tasks."""
        tasks = [0] * len(self._rented)
        for kind in self.types.values():
            tasks[kind.index] += 1
        for kind in self._view.kinds:
            number = self._rented[kind.index]
            if number:
                yield Rent(
                    self._pool, kind, number, f"{tasks[kind.index]} eligible tasks run fastest on {kind.type.name}"
                )

    def _take(self, unit: Unit, kind: Kind) -> None:
        """One slot of a kind is the unit's, on a machine to be rented if none is free."""
        index = kind.index
        if not self._free[index]:
            self._rented[index] += 1
            self._rentable[index] -= 1
            self._free[index] += kind.type.slots
        self._free[index] -= 1
        self.types[unit.id] = kind
        if not self._free[index] and self._rentable[index] <= 0:
            self._candidates.discard(index)


def _build(parameters: Parameters) -> Policy:
    return planning_policy("plf", Plf(parameters), parameters.placement)


OFFER = Offer(
    name="plf",
    summary="Planning First: rents the fastest types for eligible tasks by priority, then plans the interval",
    parameters=Parameters,
    build=_build,
)
