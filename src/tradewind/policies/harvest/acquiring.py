"""Choose which machines to hold: a target size, and an acquirer that trades unstable machines (SlackSched, 3.2).

*Size.* A fixed number of machines; or as many as keep the fraction of cores in use between two bounds, checked once per
epoch; or the decision of another policy's scaler, with its budgets and deadlines. If there are not enough machines for
all tenants, each tenant with work holds its share by weight, and the others none.

*Acquirer* (algorithm 2). Each epoch, the machines that changed most recently are drained, after the same number of new
ones has been requested, so that none of these lands on a server just left. Draining never kills tasks: nothing more is
started there, and the machine is returned when it is empty.

*Mixed work.* The paper has one machine type. If there are several, work that no held machine can take comes first: one
machine is rented for each such need, and while there is no money or room for it, idle machines that nothing waits for
are drained.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil

from tradewind.model.machine import NO_LIMIT
from tradewind.model.units import HOUR, Duration, Money, Time
from tradewind.policies.protocol import Drain, Machine, Need, Pool, Rent, Scaler, Scaling, View

_SCATTER, _RANGE = 2_654_435_761, 2**32
"""Multiples of one modulo the other are practically random."""


@dataclass(frozen=True, slots=True)
class Targets:
    """The machines to hold."""

    machines: int = 64
    """Number of machines, or the initial number."""
    bounds: tuple[float, float] | None = None
    """Bounds on the fraction of cores in use; None: a fixed number."""
    epoch: Duration = HOUR
    replaced: float = 0.0
    """Fraction of the machines that is traded each epoch; 0: none."""
    cores: str = "cpus"


class Acquirer:
    """A scaler that holds a target number of machines, and looks for more stable ones."""

    on_arrival = True

    def __init__(self, targets: Targets, other: Scaler | None = None) -> None:
        self._targets = targets
        self._other = other
        self._wanted: dict[int, int] = {}
        """By pool: the number of machines to hold."""
        self._seen: dict[int, tuple[int, int, int, Money]] = {}
        """By pool: machines held, allowed and available, and money left, when their number was last adjusted."""
        self._epoch: dict[int, Time] = {}
        """By pool: the start of the last epoch."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """Rent missing machines; once per epoch, resize and trade."""
        if self._other is not None:
            yield from self._other.scale(view)
        pools = [pool for pool in view.pools() if pool.runs or pool.index in self._epoch]  # pools that ever had work
        most = self._shares(view, pools)
        for pool in pools:
            begun = self._epoch.setdefault(pool.index, view.now)
            is_due = view.now - begun >= self._targets.epoch
            if is_due:
                self._epoch[pool.index] = view.now
            if self._other is None:
                yield from self._keep_size(view, pool, most.get(pool.index, NO_LIMIT), is_due=is_due)
            if is_due and self._targets.replaced:
                yield from self._trade(view, pool)

    def _wanted_by(self, pool: Pool) -> int:
        return self._wanted.get(pool.index, self._targets.machines)

    def _shares(self, view: View, pools: Sequence[Pool]) -> dict[int, int]:
        """Return the maximum number of machines by pool; nothing if there are enough for all."""
        there_are = sum(kind.type.limit for kind in view.kinds)
        if len(pools) < 2 or sum(map(self._wanted_by, pools)) <= there_are:
            return {}
        weight = sum(pool.tenant.weight for pool in pools if pool.runs)
        if not weight:
            return {}
        return {pool.index: max(1, int(there_are * pool.tenant.weight / weight)) if pool.runs else 0 for pool in pools}

    def _keep_size(self, view: View, pool: Pool, most: int, *, is_due: bool) -> Iterator[Scaling]:
        starved = _starved(view, pool)
        if not is_due and not starved and self._sight(view, pool, most) == self._seen.get(pool.index):
            return
        held = _held(pool)
        if is_due and self._targets.bounds is not None:
            self._wanted[pool.index] = self._resized(pool, held, self._wanted_by(pool))
        wanted = min(most, self._wanted_by(pool))
        if starved:
            yield from islice(_rent_for(view, pool, starved), max(0, wanted - len(held)))
            if left := [need for need in _starved(view, pool) if any(map(view.vacancies, need.kinds))]:
                yield from _make_way(pool, left[0])
                return
            held = _held(pool)
        if len(held) < wanted:
            yield from _rent(view, pool, wanted - len(held), f"{wanted} machines should be held")
        elif len(held) > wanted:
            for machine in self._spare(held, len(held) - wanted):
                yield Drain(machine, f"{wanted} machines are enough")
        self._seen[pool.index] = self._sight(view, pool, most)

    @staticmethod
    def _sight(view: View, pool: Pool, most: int) -> tuple[int, int, int, Money]:
        held = sum(len(fleet.machines) for fleet in pool.fleets)
        return held, most, sum(map(view.vacancies, view.kinds)), view.affordable(pool)

    def _resized(self, pool: Pool, held: Sequence[Machine], wanted: int) -> int:
        """Return how many machines bring the use of cores back to the middle of its bounds, if it is outside."""
        if self._targets.bounds is None:
            return wanted
        low, high = self._targets.bounds
        up = [machine for machine in held if machine.is_up]
        place = _place(pool, self._targets.cores)
        have = sum(machine.capacity[place] for machine in up)
        if not have:
            return wanted
        used = sum(machine.capacity[place] - machine.free[place] for machine in up)
        used += sum(unit.need.demand[place] for unit in pool.eligible())
        middle = (low + high) / 2
        if used > high * have:
            return len(held) + ceil((used / middle - have) / (have / len(up)))
        number = len(held)
        for machine in self._spare(up, len(up) - 1) if used < low * have else ():
            have -= machine.capacity[place]
            if used > middle * have:
                break
            number -= 1
        return number

    def _spare(self, machines: Sequence[Machine], number: int) -> list[Machine]:
        """Choose machines to return: the least stable if stability is considered, otherwise any, as in section 4.4."""
        if self._targets.replaced:
            return _worst(machines, number)
        return sorted(machines, key=lambda machine: (machine.id * _SCATTER % _RANGE, machine.id))[:number]

    def _trade(self, view: View, pool: Pool) -> Iterator[Scaling]:
        held = [machine for machine in _held(pool) if machine.is_up and not machine.kind.type.market.is_firm]
        worst = _worst(held, int(len(held) * self._targets.replaced))
        if worst:
            yield from _rent(view, pool, len(worst), "others may be more stable")
        for machine in worst:
            yield Drain(machine, "it has changed most recently")


def _held(pool: Pool) -> list[Machine]:
    """Return machines on which tasks can be started, now or once they are up."""
    return [machine for fleet in pool.fleets for machine in fleet.machines.values() if _is_held(machine)]


def _is_held(machine: Machine) -> bool:
    return machine.is_up or machine.is_booting


def _worst(machines: Sequence[Machine], number: int) -> list[Machine]:
    """Return the machines that changed most recently; new ones count as most recent."""
    return sorted(machines, key=lambda machine: (-machine.changed, -machine.id))[:number]


def _starved(view: View, pool: Pool) -> list[Need]:
    """Waiting needs that some machine types could serve, but no machine held."""
    if len(view.kinds) == 1:
        return []
    there = {fleet.kind.index for fleet in pool.fleets if any(map(_is_held, fleet.machines.values()))}
    return [
        need
        for need in pool.waiting()
        if 0 < len(need.kinds) < len(view.kinds) and there.isdisjoint(kind.index for kind in need.kinds)
    ]


def _rent_for(view: View, pool: Pool, starved: Sequence[Need]) -> Iterator[Rent]:
    """Rent the cheapest machine for each need that another one rented here does not serve."""
    rented: set[int] = set()
    for need in starved:
        kinds = [kind for kind in need.kinds if view.vacancies(kind) > 0]
        if kinds and rented.isdisjoint(kind.index for kind in need.kinds):
            cheapest = min(kinds, key=lambda kind: (kind.type.price, kind.index))
            rented.add(cheapest.index)
            yield Rent(pool, cheapest, 1, f"work waits for {need.requirement}")


def _make_way(pool: Pool, starved: Need) -> Iterator[Drain]:
    """Drain an idle machine that no waiting work can use."""
    wanted = {kind.index for need in pool.waiting() for kind in need.kinds}
    for machine in _held(pool):
        if machine.is_idle and machine.kind.index not in wanted:
            yield Drain(machine, f"work waits for {starved.requirement}")
            return


def _rent(view: View, pool: Pool, number: int, because: str) -> Iterator[Rent]:
    """Rent kinds in turn, as far as available."""
    left = number
    kinds = sorted(view.kinds, key=lambda kind: (len(pool.fleets[kind.index].machines), kind.index))
    for place, kind in enumerate(kinds):
        count = min(ceil(left / (len(kinds) - place)), view.vacancies(kind))
        if count > 0:
            yield Rent(pool, kind, count, because)
            left -= count


def _place(pool: Pool, name: str) -> int:
    """Return the position of an amount in the vectors of a pool's machines."""
    names = sorted({each for fleet in pool.fleets for each, _ in fleet.kind.type.amounts})
    return 1 + names.index(name) if name in names else 0
