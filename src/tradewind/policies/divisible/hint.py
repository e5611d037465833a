"""The scaling hint at work: it measures the load, goes through its steps, and makes machines follow.

Steps alternate: in one the load is measured, and at its end the hint may fall; the next one gives machines time to
follow. The hint grows as soon as work waits. The rules are in `scaling`.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from tradewind.model.machine import NO_LIMIT
from tradewind.model.units import Duration, Time
from tradewind.model.vector import fitting
from tradewind.policies.divisible import scaling
from tradewind.policies.divisible.scaling import Load, Need, Reach
from tradewind.policies.divisible.urgency import Board
from tradewind.policies.parts.returning import expiring
from tradewind.policies.protocol import Drain, Fleet, Kind, Machine, Pool, Rent, Return, Scaling, View


class Hint:
    """How many slots are wanted in all; saved with the core."""

    def __init__(self, board: Board, step: Duration, slots: int = 1, *, is_original: bool = False) -> None:
        """`slots`: how many are wanted before anything is measured."""
        self.need = Need(slots)
        self._board = board
        self._step = step
        self._is_original = is_original
        self._looked: Time | None = None
        self._since: Time = 0
        """When the present step began."""
        self._is_settling = False
        self._area = 0
        """Units that ran and waited, times their time, in the present step."""
        self._active: dict[int, int] = {}
        """Units that run and wait, by tenant."""

    def measure(self, view: View) -> None:
        """Add up the load since the last look."""
        before = sum(self._active.values())
        if self._looked is None:
            self._since = self._looked = view.now
        self._area += before * (view.now - self._looked)
        self._looked = view.now
        self._count(view)

    def _count(self, view: View) -> None:
        self._active = {pool.index: running(pool) + waiting(pool) for pool in view.pools()}

    def reach(self, view: View, pool: Pool) -> tuple[int, int]:
        """Slots that a tenant can have, and those of them that cost nothing and are not in use.

        A tenant can have what other tenants leave, but no less than its part by weight.
        """
        kinds = [kind for kind in view.kinds if kind.serves(pool.tenant.name)]
        total = sum(_achievable(view, kind) for kind in kinds)
        free = sum(_achievable(view, kind) for kind in kinds if kind.type.price == 0)
        others = {each.index: self._active.get(each.index, 0) for each in view.pools() if each.index != pool.index}
        weights = sum(each.tenant.weight for each in view.pools() if others.get(each.index))
        part = int(total * pool.tenant.weight / (weights + pool.tenant.weight))
        in_use = sum(running(each) + waiting(each) for each in view.pools())
        return max(1, part, total - sum(others.values())), max(0, free - in_use)

    def follow(self, view: View) -> Iterator[Scaling]:
        """Go on to the next step if it is time, then rent and return machines so that there are as many as wanted."""
        self._count(view)
        self._decide(view)
        spread = self._spread(view)
        parts = self._parts(view.pools(), sum(spread))
        left = dict(zip(view.kinds, spread, strict=True))
        wanted: list[tuple[Pool, Fleet, int]] = []
        for pool in view.pools():
            hints = self._for_pool(pool, parts[pool.index], left)
            wanted += [(pool, fleet, _machines(fleet.kind, pool, hints[fleet.kind])) for fleet in pool.fleets]
        for _, fleet, count in wanted:
            yield from self._return(view, fleet, count)
        for pool, fleet, count in wanted:
            missing = count - len(fleet.machines)
            if not fleet.kind.type.joins:
                missing = min(missing, view.vacancies(fleet.kind))
            if missing > 0 and self._active[pool.index]:
                yield Rent(pool, fleet.kind, missing, f"{self.need.slots} slots are wanted in all")
        if len(self._active) > 1:
            yield from _make_way(view, [(fleet, count) for _, fleet, count in wanted])

    def _decide(self, view: View) -> None:
        busy = sum(map(running, view.pools()))
        queued = sum(map(waiting, view.pools()))
        is_over = view.now - self._since >= self._step
        achievable = sum(_achievable(view, kind) for kind in view.kinds)
        if is_over and not self._is_settling:
            slots = sum(self._spread(view))
            mean = self._area / max(1, view.now - self._since)
            load = Load(mean, busy, queued, self._board.dispatched, self._board.created, slots, achievable)
            self.need = (scaling.original if self._is_original else scaling.ours)(self.need, load)
        elif not self._is_original and queued > 0 and busy + queued > self.need.slots:
            self.need = scaling.grown(self.need, busy + queued, achievable)
        if is_over:
            self._since = view.now
            self._is_settling = not self._is_settling
            self._area = self._board.dispatched = self._board.created = 0

    def _spread(self, view: View) -> list[int]:
        """Slots of each kind, as the hint stands."""
        usable = {kind.index for pool in view.pools() for kind in _usable(pool)}
        reaches = [Reach(_achievable(view, kind) * (kind.index in usable), kind.rating) for kind in view.kinds]
        return (scaling.spread_original if self._is_original else scaling.spread)(self.need.slots, reaches)

    def _parts(self, pools: Sequence[Pool], left: int) -> dict[int, int]:
        """Slots for each tenant: what it uses and waits for, by weight if that is too much; the first has the rest."""
        parts = dict.fromkeys(self._active, 0)
        wanting = [pool for pool in pools if self._active[pool.index]]
        if sum(self._active.values()) <= left:
            parts = dict(self._active)
            left -= sum(parts.values())
        while left > 0 and (short := [each for each in wanting if parts[each.index] < self._active[each.index]]):
            poorest = min(short, key=lambda each: (parts[each.index] / each.tenant.weight, each.index))
            parts[poorest.index] += 1
            left -= 1
        if wanting:
            parts[min(pool.index for pool in wanting)] += left
        return parts

    def _for_pool(self, pool: Pool, slots: int, left: dict[Kind, int]) -> dict[Kind, int]:
        """Slots of each kind for a tenant, taken from what is left; at least one for each need that waits."""
        usable = set(_usable(pool))
        reaches = [Reach(count if kind in usable else 0, kind.rating) for kind, count in left.items()]
        hints = dict(zip(left, scaling.spread(slots, reaches), strict=True))
        for kind, count in hints.items():
            left[kind] -= count
        for need in pool.waiting():
            able = [kind for kind in need.kinds if kind.serves(pool.tenant.name)]
            if able and pool.first(need) is not None and not any(hints[kind] for kind in able):
                hints[able[0]] = 1
        return hints

    def _return(self, view: View, fleet: Fleet, count: int) -> Iterator[Scaling]:
        """Return idle machines beyond what is wanted, the newest first; paid ones when their paid time ends.

        Of a kind that joins, any machine will do: its owner hears how many are wanted.
        """
        spare = len(fleet.machines) - count
        if spare <= 0:
            return
        if fleet.kind.type.joins:
            for machine in list(fleet.machines.values())[:spare]:
                yield Return(machine, f"{self.need.slots} slots are wanted in all")
            return
        idle = [machine for machine in fleet.machines.values() if machine.is_idle]
        if fleet.kind.type.price:
            idle = list(expiring(idle, view.now, view.interval))
        for machine in sorted(idle, key=lambda machine: -machine.id)[:spare]:
            yield Return(machine, f"{self.need.slots} slots are wanted in all")

    # What is remembered

    def save(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "slots": self.need.slots,
            "rate": self.need.rate,
            "since": self._since,
            "is_settling": self._is_settling,
            "area": self._area,
            "looked": self._looked,
            "created": self._board.created,
            "dispatched": self._board.dispatched,
        }

    def load(self, saved: Any) -> None:
        """Remember what was saved."""
        self.need = Need(int(saved["slots"]), float(saved["rate"]))
        self._since, self._is_settling = int(saved["since"]), bool(saved["is_settling"])
        self._area, self._looked = int(saved["area"]), saved["looked"]
        self._board.created, self._board.dispatched = int(saved["created"]), int(saved["dispatched"])


def _make_way(view: View, wanted: Sequence[tuple[Fleet, int]]) -> Iterator[Scaling]:
    """Drain machines of tenants with more than their part, where others wait for machines of that kind."""
    for kind in view.kinds:
        if kind.type.joins:
            continue  # these are lent when they are idle
        fleets = [(fleet, count) for fleet, count in wanted if fleet.kind is kind]
        short = sum(max(0, count - len(fleet.machines)) for fleet, count in fleets) - max(0, view.vacancies(kind))
        short -= sum(not (each.is_up or each.is_booting) for fleet, _ in fleets for each in fleet.machines.values())
        for fleet, count in fleets:
            up = [machine for machine in fleet.machines.values() if machine.is_up]
            for machine in sorted(up, key=lambda machine: -machine.id)[: max(0, min(short, len(up) - count))]:
                yield Drain(machine, "another tenant has less than its part")
                short -= 1


def running(pool: Pool) -> int:
    """How many units of a tenant run."""
    return sum(len(machine.running) for machine in _machines_of(pool))


def waiting(pool: Pool) -> int:
    """How many units of a tenant wait for nothing but a machine."""
    return sum(pool.remaining(need) for need in pool.waiting() if pool.first(need) is not None)


def _machines_of(pool: Pool) -> Iterator[Machine]:
    for fleet in pool.fleets:
        yield from fleet.machines.values()


def _usable(pool: Pool) -> Iterator[Kind]:
    """Kinds that something which waits could run on, or that are held."""
    for need in pool.waiting():
        yield from (kind for kind in need.kinds if kind.serves(pool.tenant.name))
    for fleet in pool.fleets:
        if fleet.machines:
            yield fleet.kind


def _achievable(view: View, kind: Kind) -> int:
    """Slots of a kind that there can be, as far as tenants can pay for them."""
    held = sum(len(pool.fleets[kind.index].machines) for pool in view.pools())
    if kind.type.joins:
        return (kind.type.limit if kind.type.limit < NO_LIMIT else held) * kind.capacity[0]
    more = max(0, view.vacancies(kind))
    if kind.type.price:
        more = min(more, sum(view.affordable(pool) // max(1, view.worth(pool, kind)) for pool in view.pools()))
    return (held + more) * kind.capacity[0]


def _machines(kind: Kind, pool: Pool, slots: int) -> int:
    """Machines of a kind that have so many slots, for what waits for them."""
    fits = [fitting(kind.capacity, need.demand) for need in pool.waiting() if kind in need.kinds]
    return ceil(slots / max(1, min(fits, default=kind.capacity[0])))
