"""PLF: Planning First, which rents machines for the tasks that are ready now, then plans as many as possible on them.

Mao and Humphrey's *Scheduling First* as amended in section 3.1 of Ilyushkin et al., Cluster 2019, whose six steps are
the phases below. Needs run-time estimates. Our choices and differences:
- Shares of the budget are proportional to priority plus one, so that priority 0 gets a share, too. The remainder from
  rounding is spent in the third step.
- If the fastest type of a task has a free slot on a machine that is already held (idle or booting), the task takes it
  at no cost: the machine was deducted in the first step. Otherwise each interval would rent a second machine for every
  task that waits for a booting one, and the plan would have machines without tasks, which the paper rules out.
- A type that is at its limit, or costs more than the whole budget, is not a candidate; the fastest of the others is.
  The paper's system is never that small; without this rule such tasks would wait forever.
- The third step visits workflows again in order of priority, each until its next task does not fit.
- Workflows are planned in a random order, drawn from the policy's seed, the time and the tenant, so that there is no
  state to save.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tradewind.model.units import Money
from tradewind.policies.budget.planning import Planner, PlanningParameters, hopeless, planning_policy, returns
from tradewind.policies.parts.consolidation import Planned, by_priority, consolidate
from tradewind.policies.parts.fastest import fastest, payable
from tradewind.policies.parts.room import Room
from tradewind.policies.protocol import Fleet, Kind, Need, Offer, Policy, Pool, Rent, Run, Scaling, Unit, View


@dataclass(frozen=True, slots=True)
class Parameters(PlanningParameters):
    """How the plan is made and followed."""

    seed: int = field(default=0, metadata={"help": "seed for the order in which workflows are planned"})


class Plf(Planner):
    """A planner that rents for ready tasks by priority, then plans the interval."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._seed = parameters.seed

    def serve(self, view: View, pool: Pool, planned: list[Planned]) -> Iterator[Scaling]:
        """Perform the six steps for one tenant."""
        with view.phase("budget"):
            runs = by_priority(pool)
            budget = view.affordable(pool)
            shares = distribute(budget, runs)
        with view.phase("supply"):
            supply = Supply(view, pool)
            for run in runs:
                budget -= shares[run.id] - supply.choose(run, shares[run.id])
        with view.phase("consolidate"):
            for run in runs:
                budget = supply.choose(run, budget)
        with view.phase("allocate"):
            rents = [*supply.rents(), *hopeless(view, pool, supply.payable)]
        yield from rents
        with view.phase("plan"):
            order = shuffled(runs, f"{self._seed}/{view.now}/{pool.index}")
            plan = consolidate(view, pool, order, supply.types)
            planned += plan
        with view.phase("release"):
            surplus = returns(view, pool, plan)
        yield from surplus


def distribute(budget: Money, runs: Sequence[Run]) -> Mapping[int, Money]:
    """Return each run's share of the budget, by number, in proportion to its priority plus one."""
    weights = {run.id: 1 + max(0, run.priority) for run in runs}
    total = sum(weights.values())
    return {run: budget * weight // total for run, weight in weights.items()}


def shuffled(runs: Sequence[Run], seed: str) -> list[Run]:
    """Return the runs in a random order drawn from the seed."""
    order = list(runs)
    random.Random(seed).shuffle(order)
    return order


def idle_room(fleet: Fleet) -> Room:
    """Return the free room on idle and booting machines of a fleet."""
    room = Room()
    for machine in fleet.machines.values():
        if not machine.running:
            room.add(machine.free)
    return room


class Supply:
    """The types chosen for ready tasks so far, and the machines to rent for them."""

    def __init__(self, view: View, pool: Pool) -> None:
        self._view = view
        self._pool = pool
        self._free = [idle_room(fleet) for fleet in pool.fleets]
        self._rentable = [view.vacancies(kind) for kind in view.kinds]
        self.payable = payable(view, pool)
        self._candidates = {kind for kind in self.payable if self._free[kind] or self._rentable[kind] > 0}
        self._rented = [0] * len(view.kinds)
        self.types: dict[int, Kind] = {}
        """By number of the unit."""

    def choose(self, run: Run, budget: Money) -> Money:
        """Give each ready unit of a run its fastest type until one exceeds the budget; return what is left."""
        for unit in self._pool.eligible_of(run, lambda need: bool(self._able(need))):
            if unit.id in self.types:
                continue
            kind = fastest(self._view, self._pool, unit, self._able(unit.need))
            if kind is None:
                continue
            cost = 0 if self._free[kind.index].has(unit.need.demand) else self._view.worth(self._pool, kind)
            if cost > budget:
                break
            budget -= cost
            self._take(unit, kind)
        return budget

    def _able(self, need: Need) -> list[int]:
        """Return the kinds that can still provide a machine for a need; this set only shrinks."""
        demand, able = need.demand, self._candidates.intersection(kind.index for kind in need.kinds)
        return [kind for kind in able if self._rentable[kind] > 0 or self._free[kind].has(demand)]

    def rents(self) -> Iterator[Rent]:
        """Yield the machines to rent, with the number of tasks for each."""
        tasks = [0] * len(self._rented)
        for kind in self.types.values():
            tasks[kind.index] += 1
        for kind in self._view.kinds:
            number = self._rented[kind.index]
            if number:
                yield Rent(self._pool, kind, number, f"{tasks[kind.index]} ready tasks run fastest on {kind.type.name}")

    def _take(self, unit: Unit, kind: Kind) -> None:
        """Reserve room for a unit on a machine of a kind, renting one if necessary."""
        index = kind.index
        if not self._free[index].take(unit.need.demand, 1):
            self._rented[index] += 1
            self._rentable[index] -= 1
            self._free[index].add(kind.capacity)
            self._free[index].take(unit.need.demand, 1)
        self.types[unit.id] = kind
        if not self._free[index] and self._rentable[index] <= 0:
            self._candidates.discard(index)


def _build(parameters: Parameters) -> Policy:
    return planning_policy("plf", Plf(parameters), parameters.placement)


OFFER = Offer(
    name="plf",
    summary="Planning First: rents the fastest types for ready tasks by priority, then plans the interval",
    parameters=Parameters,
    build=_build,
)
