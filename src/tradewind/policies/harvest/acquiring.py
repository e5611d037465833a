"""Which machines to hold: a target size, and the acquirer that trades unstable machines for others (SlackSched, 3.2).

*Size.* A fixed number of machines, or as many as keep the share of cores in use between two bounds, checked once an
epoch, or whatever the scaler of another policy wants, with its budgets and deadlines. Where there are not enough for
all tenants, each that has work holds its share by weight, and the others none.

*Acquirer* (algorithm 2). Each epoch the machines that changed most recently are drained, after as many new ones have
been asked for, so that none of these lands on a server just left. Draining never kills work: nothing more is started
there, and the machine goes when it is empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from tradewind.model.machine import NO_LIMIT
from tradewind.model.units import HOUR, Duration, Time
from tradewind.policies.protocol import Drain, Machine, Pool, Rent, Scaler, Scaling, View

_SCATTER, _RANGE = 2_654_435_761, 2**32
"""Multiples of the one, as rests of the other, are as good as random."""


@dataclass(frozen=True, slots=True)
class Targets:
    """What to hold."""

    machines: int = 64
    """How many, or how many to begin with."""
    bounds: tuple[float, float] | None = None
    """Between which shares the cores in use are kept; None: the number stays."""
    epoch: Duration = HOUR
    replaced: float = 0.0
    """Share of the machines that is traded each epoch; 0: none."""
    cores: str = "cpus"


class Acquirer:
    """Holds as many machines as wanted, and looks for more stable ones."""

    on_arrival = True

    def __init__(self, targets: Targets, other: Scaler | None = None) -> None:
        self._targets = targets
        self._other = other
        self._wanted: dict[int, int] = {}
        """By pool: how many machines to hold."""
        self._seen: dict[int, tuple[int, int, int]] = {}
        """By pool: how many machines there were, might be and could be had when their number was last seen to."""
        self._epoch: dict[int, Time] = {}
        """By pool: when the last epoch began."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """Rent what is missing; once an epoch, resize and trade."""
        if self._other is not None:
            yield from self._other.scale(view)
        pools = [pool for pool in view.pools() if pool.runs or pool.index in self._epoch]  # that ever had work
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
        """By pool: how many machines it may hold at most; nothing if there are enough for all."""
        there_are = sum(kind.type.limit for kind in view.kinds)
        if len(pools) < 2 or sum(map(self._wanted_by, pools)) <= there_are:
            return {}
        weight = sum(pool.tenant.weight for pool in pools if pool.runs)
        if not weight:
            return {}
        return {pool.index: max(1, int(there_are * pool.tenant.weight / weight)) if pool.runs else 0 for pool in pools}

    def _keep_size(self, view: View, pool: Pool, most: int, *, is_due: bool) -> Iterator[Scaling]:
        if not is_due and self._sight(view, pool, most) == self._seen.get(pool.index):
            return
        held = _held(pool)
        if is_due and self._targets.bounds is not None:
            self._wanted[pool.index] = self._resized(pool, held, self._wanted_by(pool))
        wanted = min(most, self._wanted_by(pool))
        if len(held) < wanted:
            yield from _rent(view, pool, wanted - len(held), f"{wanted} machines are to be held")
        elif len(held) > wanted:
            for machine in self._spare(held, len(held) - wanted):
                yield Drain(machine, f"{wanted} machines are enough")
        self._seen[pool.index] = self._sight(view, pool, most)

    @staticmethod
    def _sight(view: View, pool: Pool, most: int) -> tuple[int, int, int]:
        return sum(len(fleet.machines) for fleet in pool.fleets), most, sum(map(view.vacancies, view.kinds))

    def _resized(self, pool: Pool, held: Sequence[Machine], wanted: int) -> int:
        """How many machines bring the use of cores back to the middle of its bounds, if it is outside."""
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
        """Which to give up: the least stable where stability is looked at, else any, as in section 4.4."""
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
    """Machines on which work can be started, or could once they are up."""
    return [
        machine for fleet in pool.fleets for machine in fleet.machines.values() if machine.is_up or machine.is_booting
    ]


def _worst(machines: Sequence[Machine], number: int) -> list[Machine]:
    """Those that changed most recently; new ones are as recent as they can be."""
    return sorted(machines, key=lambda machine: (-machine.changed, -machine.id))[:number]


def _rent(view: View, pool: Pool, number: int, because: str) -> Iterator[Rent]:
    """Rent kinds in turn, as far as there are any to be had."""
    left = number
    kinds = sorted(view.kinds, key=lambda kind: (len(pool.fleets[kind.index].machines), kind.index))
    for place, kind in enumerate(kinds):
        count = min(ceil(left / (len(kinds) - place)), view.vacancies(kind))
        if count > 0:
            yield Rent(pool, kind, count, because)
            left -= count


def _place(pool: Pool, name: str) -> int:
    """Where an amount stands in the vectors of a pool's machines."""
    names = sorted({each for fleet in pool.fleets for each, _ in fleet.kind.type.amounts})
    return 1 + names.index(name) if name in names else 0
