"""PFA: the Performance-Feedback Autoscaler.

Rents machines within a budget per interval without knowing run times. The proportion of the types follows from how many
tasks their machines have completed recently; the number of machines follows from tokens walked through the graph.
Implements section 3.3 of Ilyushkin et al., Cluster 2019, step by step; tasks are placed immediately by `FirstIdle`.
Beyond the paper, if only some types can run a task, the target always includes one of them. The tokens stop when there
is more work than the budget and the limits have machines for: more would not change the target (`benchmarks backlog`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from tradewind.model.units import Money
from tradewind.policies.budget.profile import inflate, most_machines, scale_down, supply
from tradewind.policies.budget.throughput import (
    Histories,
    Outlook,
    Smoothing,
    close_interval,
    exponential_average,
    moving_average,
)
from tradewind.policies.parts.capable import with_capable
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.parts.returning import expiring
from tradewind.policies.parts.tokens import Enough, Waves, token_waves
from tradewind.policies.protocol import Fleet, Machine, Offer, Policy, Pool, Rent, Return, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """How the throughput history is smoothed."""

    smoothing: Smoothing = field(default="ma", metadata={"help": "ma: moving average; ewma: exponentially weighted"})
    m: int = field(default=10, metadata={"help": "number of intervals in the moving average"})
    alpha: float = field(default=0.7, metadata={"help": "exponential smoothing factor, from 0 (none) to below 1"})

    def __post_init__(self) -> None:
        if self.m < 0:
            raise ValueError("m must not be negative")
        if not 0 <= self.alpha < 1:
            raise ValueError("alpha must be at least 0 and below 1")


class Pfa:
    """A scaler that follows demand within the budget, in the proportion in which types have proved useful."""

    on_arrival = False

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.memory = Histories()

    def scale(self, view: View) -> Iterator[Scaling]:
        """Serve the tenants in turn."""
        for pool in view.pools():
            demand, target, because = self._target(view, pool)
            yield from _move_towards(view, pool, target, because)
            if demand and not any(target):  # requested anyway, so that the refusal is logged
                cheapest = min(view.kinds, key=lambda kind: view.worth(pool, kind))
                yield Rent(pool, cheapest, 1, "the budget cannot pay for any machine")

    def _target(self, view: View, pool: Pool) -> tuple[int, list[int], str]:
        """Return the demand, the target number of machines of each type, and the reason."""
        with view.phase("profile"):
            outlook = self._outlook(view, pool)
            prices = [view.worth(pool, kind) for kind in view.kinds]
            limits = [len(pool.fleets[k.index].machines) + view.vacancies(k) for k in view.kinds]
            budget = _budget(pool, prices, limits)
            profile = supply(budget, prices, outlook.ratios, limits)
        with view.phase("tokens"):
            most = most_machines(budget, prices, limits)
            waves = token_waves(pool.active(), outlook.depth, _enough(most, outlook))
        with view.phase("fit"):
            demand = _demand(waves, outlook)
            if sum(profile) >= demand:
                target = scale_down(profile, demand)
            else:
                target = inflate(profile, demand, budget, prices, limits)
            groups = {frozenset(kind.index for kind in need.kinds) for need in pool.waiting()}
            target = with_capable(target, groups, prices, limits, budget)
        least = "at least " if waves.is_cut else ""
        because = (
            f"{least}{demand} machines for {least}{waves.tasks} tasks ahead;"
            f" the budget pays for {sum(profile)} in proportion"
        )
        return demand, target, because

    def _outlook(self, view: View, pool: Pool) -> Outlook:
        history = self.memory.of(pool.tenant.name, len(view.kinds))
        counters = [(fleet.completed, fleet.machine_time(view.now)) for fleet in pool.fleets]
        throughput = close_interval(history, view.now, counters)
        if self._parameters.smoothing == "ma":
            return moving_average(history, throughput, self._parameters.m)
        return exponential_average(history, throughput, self._parameters.alpha)


def _demand(waves: Waves, outlook: Outlook) -> int:
    """Return how many machines would finish the work ahead within the interval (equations 15 and 17).

    Never more than there are tasks: idle machines lower the throughput, which would ask for ever more of them.
    """
    if outlook.throughput <= 0:
        return waves.widest
    return min(waves.tasks, ceil(waves.tasks / outlook.throughput))


def _enough(most: int, outlook: Outlook) -> Enough:
    """Return how much work asks for a number of machines."""
    if outlook.throughput <= 0:
        return Enough(width=most)
    return Enough(tasks=max(most, ceil(most * outlook.throughput)))


def _budget(pool: Pool, prices: list[Money], limits: list[int]) -> Money:
    """Return the tenant's budget; without one, the price of all available machines."""
    if pool.tenant.budget is not None:
        return pool.tenant.budget
    return sum(price * limit for price, limit in zip(prices, limits, strict=True))


def _move_towards(view: View, pool: Pool, target: list[int], because: str) -> Iterator[Scaling]:
    """Return idle machines above the target, then rent missing ones, cheapest type first."""
    with view.phase("move"):
        surplus = [machine for fleet in pool.fleets for machine in _surplus(view, fleet, target[fleet.kind.index])]
    for machine in surplus:
        yield Return(machine, because)
    for kind in sorted(view.kinds, key=lambda kind: (view.worth(pool, kind), kind.index)):
        missing = target[kind.index] - len(pool.fleets[kind.index].machines)
        if missing > 0:
            price = view.worth(pool, kind)
            number = min(missing, view.affordable(pool) // price if price else missing)
            if number > 0:
                yield Rent(pool, kind, number, because)


def _surplus(view: View, fleet: Fleet, wanted: int) -> list[Machine]:
    """Return idle machines beyond the wanted number whose paid time is about to end."""
    beyond = len(fleet.machines) - wanted
    return list(expiring(fleet.machines.values(), view.now, view.interval))[:beyond] if beyond > 0 else []


def _build(parameters: Parameters) -> Policy:
    scaler = Pfa(parameters)
    return Policy("pfa", scaler, FirstIdle(), memory=scaler.memory, looks_ahead=True)


OFFER = Offer(
    name="pfa",
    summary="performance feedback within a budget per interval, without run-time estimates",
    parameters=Parameters,
    build=_build,
)
