"""Demand: one slot for each eligible or running task, cheapest type first, as far as the budget goes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Kind, Machine, Offer, Policy, Pool, Rent, Return, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """None."""


class Demand:
    """Follows the number of active tasks, with no memory and no look ahead."""

    on_arrival = False

    def scale(self, view: View) -> Iterator[Scaling]:
        """Return what stands idle beyond the demand, then rent what is missing."""
        for pool in view.pools():
            yield from self._follow(view, pool)

    def _follow(self, view: View, pool: Pool) -> Iterator[Scaling]:
        waiting: dict[frozenset[int], int] = {}
        for unit in pool.eligible():
            able = frozenset(kind.index for kind in unit.kinds)
            waiting[able] = waiting.get(able, 0) + 1
        by_price = sorted(view.kinds, key=lambda kind: (view.worth(pool, kind) / kind.type.slots, kind.index))
        free = [sum(_free_slots(machine) for machine in fleet.machines.values()) for fleet in pool.fleets]
        missing: dict[frozenset[int], int] = {}
        for able in sorted(waiting, key=lambda able: (len(able), sorted(able))):  # the choosy first
            left = waiting[able]
            for kind in (kind for kind in by_price if kind.index in able):
                taken = min(left, free[kind.index])
                free[kind.index] -= taken
                left -= taken
            missing[able] = left
        yield from self._return_idle(view, pool, free)
        spare = [0] * len(view.kinds)
        for able, left in missing.items():
            yield from self._rent(view, pool, [kind for kind in by_price if kind.index in able], left, spare)

    def _return_idle(self, view: View, pool: Pool, free: list[int]) -> Iterator[Scaling]:
        """Give back machines that nothing waits for, or nothing that they could run."""
        for fleet in pool.fleets:
            slots = fleet.kind.type.slots
            for machine in expiring(fleet.machines.values(), view.now, view.interval):
                if free[fleet.kind.index] >= slots:
                    free[fleet.kind.index] -= slots
                    yield Return(machine, "nothing waits that it could run")

    def _rent(self, view: View, pool: Pool, kinds: Sequence[Kind], missing: int, spare: list[int]) -> Iterator[Scaling]:
        """Rent for so many tasks, using slots that were rented for others and are not needed by them."""
        for kind in kinds:
            taken = min(missing, spare[kind.index])
            spare[kind.index] -= taken
            missing -= taken
        for kind in kinds:
            if missing <= 0:
                return
            number = min(-(-missing // kind.type.slots), view.vacancies(kind), _affordable(view, pool, kind))
            if number > 0:
                yield Rent(pool, kind, number, f"{missing} tasks wait for a machine")
                missing -= number * kind.type.slots
                spare[kind.index] += max(0, -missing)


def _free_slots(machine: Machine) -> int:
    return machine.kind.type.slots - len(machine.running)


def _affordable(view: View, pool: Pool, kind: Kind) -> int:
    price = view.worth(pool, kind)
    return view.affordable(pool) // price if price else view.vacancies(kind)


OFFER = Offer(
    name="demand",
    summary="one slot per eligible task, cheapest type first, within the budget",
    parameters=Parameters,
    build=lambda _: Policy("demand", Demand(), FirstIdle()),
)
