"""Demand: one slot for each eligible or running task, cheapest type first, as far as the budget goes."""

from collections.abc import Iterator
from dataclasses import dataclass

from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Kind, Offer, Policy, Pool, Rent, Return, Scaling, View


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
        lacking: dict[frozenset[int], int] = {}
        active = 0
        for unit in pool.active():
            active += 1
            if unit.is_ready:
                able = frozenset(kind.index for kind in unit.kinds)
                lacking[able] = lacking.get(able, 0) + 1
        surplus = sum(f.kind.type.slots * len(f.machines) for f in pool.fleets) - active
        machines = (machine for fleet in pool.fleets for machine in fleet.machines.values())
        for machine in expiring(machines, view.now, view.interval):
            if surplus >= machine.kind.type.slots:
                surplus -= machine.kind.type.slots
                yield Return(machine, f"{active} active tasks leave it idle")
        by_price = sorted(view.kinds, key=lambda kind: (view.worth(pool, kind) / kind.type.slots, kind.index))
        idle = {fleet.kind.index: self._free_slots(pool, fleet.kind) for fleet in pool.fleets}
        for able in sorted(lacking, key=lambda able: (len(able), sorted(able))):  # the choosy first
            missing = lacking[able]
            for kind in (kind for kind in by_price if kind.index in able):
                taken = min(missing, idle[kind.index])
                idle[kind.index] -= taken
                missing -= taken
            for kind in (kind for kind in by_price if kind.index in able):
                number = min(-(-missing // kind.type.slots), view.vacancies(kind), _affordable(view, pool, kind))
                if number > 0:
                    yield Rent(pool, kind, number, f"{missing} tasks wait for a machine")
                    missing -= number * kind.type.slots
                    idle[kind.index] += max(0, -missing)
                if missing <= 0:
                    break

    @staticmethod
    def _free_slots(pool: Pool, kind: Kind) -> int:
        machines = pool.fleets[kind.index].machines.values()
        return sum(kind.type.slots - len(machine.running) for machine in machines)


def _affordable(view: View, pool: Pool, kind: Kind) -> int:
    price = view.worth(pool, kind)
    return view.affordable(pool) // price if price else view.vacancies(kind)


OFFER = Offer(
    name="demand",
    summary="one slot per eligible task, cheapest type first, within the budget",
    parameters=Parameters,
    build=lambda _: Policy("demand", Demand(), FirstIdle()),
)
