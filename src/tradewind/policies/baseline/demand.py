"""Demand: rent room for each ready or running task, cheapest type first, within the budget."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tradewind.model.vector import Vector, fitting
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.parts.returning import expiring
from tradewind.policies.parts.room import Room, room_in
from tradewind.policies.protocol import Kind, Offer, Policy, Pool, Rent, Return, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """No parameters."""


class Demand:
    """A scaler that follows the number of active tasks, without memory or look-ahead."""

    on_arrival = False

    def scale(self, view: View) -> Iterator[Scaling]:
        """Return machines beyond the demand, then rent what is missing."""
        for pool in view.pools():
            yield from self._follow(view, pool)

    def _follow(self, view: View, pool: Pool) -> Iterator[Scaling]:
        waiting = Counter((frozenset(kind.index for kind in u.kinds), u.need.demand) for u in pool.eligible())
        choosy = sorted(waiting, key=lambda group: (len(group[0]), sorted(group[0]), [-want for want in group[1]]))
        by_price = {group: _by_price(view, pool, *group) for group in choosy}
        rooms = [room_in(fleet) for fleet in pool.fleets]
        missing = {group: _served(rooms, by_price[group], group[1], waiting[group]) for group in choosy}
        yield from self._return_idle(view, pool, rooms)
        rented = [Room() for _ in view.kinds]
        for group, left in missing.items():
            yield from self._rent(view, pool, by_price[group], group[1], left, rented)

    def _return_idle(self, view: View, pool: Pool, rooms: Sequence[Room]) -> Iterator[Scaling]:
        """Return idle machines that no waiting task could use."""
        for fleet in pool.fleets:
            for machine in expiring(fleet.machines.values(), view.now, view.interval):
                if rooms[fleet.kind.index].remove(machine.free):
                    yield Return(machine, "no waiting task can use it")

    def _rent(
        self, view: View, pool: Pool, kinds: Sequence[Kind], demand: Vector, missing: int, rented: Sequence[Room]
    ) -> Iterator[Scaling]:
        """Rent for a number of tasks, using spare room on machines rented for others."""
        missing = _served(rented, kinds, demand, missing)
        for kind in kinds:
            if missing <= 0:
                return
            wanted = -(-missing // fitting(kind.capacity, demand))
            number = min(wanted, view.vacancies(kind), _affordable(view, pool, kind))
            if number > 0:
                yield Rent(pool, kind, number, f"{missing} tasks are waiting for a machine")
                rented[kind.index].add(kind.capacity, number)
                missing = _served(rented, (kind,), demand, missing)


def _by_price(view: View, pool: Pool, able: Collection[int], demand: Vector) -> list[Kind]:
    """Sort kinds by the price of a task's share of a machine."""
    kinds = (kind for kind in view.kinds if kind.index in able)
    return sorted(kinds, key=lambda kind: (view.worth(pool, kind) / fitting(kind.capacity, demand), kind.index))


def _served(rooms: Sequence[Room], kinds: Sequence[Kind], demand: Vector, units: int) -> int:
    """Give units the available room, and return how many are left without."""
    for kind in kinds:
        units -= rooms[kind.index].take(demand, units)
    return units


def _affordable(view: View, pool: Pool, kind: Kind) -> int:
    price = view.worth(pool, kind)
    return view.affordable(pool) // price if price else view.vacancies(kind)


OFFER = Offer(
    name="demand",
    summary="room for each ready task, cheapest type first, within the budget",
    parameters=Parameters,
    build=lambda _: Policy("demand", Demand(), FirstIdle()),
)
