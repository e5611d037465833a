"""Rent machines for units that no present machine can take, and return idle ones.

The cloud manager of Krämer's paper on the Steep workflow system: a required set with waiting units gets machines of the
first type, in the order of configuration, that offers it and is not at its limit (sections 4.1 and 5.1). The paper
rents one machine of a type at a time and leaves the right number open (section 7.3); `one_at_a_time` does the same.
Otherwise we rent as many as the waiting work justifies: enough to finish it within `target_drain`, minus those that are
idle, starting, or about to be free.

Called on arrivals and once per interval; the paper also calls it when a machine has found nothing to do. 20 seconds is
a reasonable interval (section 4).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from tradewind.model.units import MINUTE, SECOND, Duration
from tradewind.model.vector import fitting
from tradewind.policies.parts.returning import expiring
from tradewind.policies.parts.room import Room
from tradewind.policies.protocol import Fleet, Kind, Need, Pool, Rent, Return, Scaling, Unit, View

SAMPLE = 64
"""Number of waiting units sampled to estimate the run time of the others."""


@dataclass(frozen=True, slots=True)
class Renting:
    """How machines are rented and returned; times are in seconds."""

    target_drain: float = field(default=600.0, metadata={"help": "target time to finish waiting work, in seconds"})
    default_runtime: float = field(
        default=60.0, metadata={"help": "assumed run time of a unit without an estimate, in seconds"}
    )
    one_at_a_time: bool = field(
        default=False, metadata={"help": "as in the paper: start only one machine of a type at a time"}
    )
    idle_timeout: float = field(
        default=600.0, metadata={"help": "seconds after which an idle machine is returned; 0: never"}
    )

    def __post_init__(self) -> None:
        if self.target_drain <= 0 or self.default_runtime <= 0:
            raise ValueError("target_drain and default_runtime must be greater than 0")
        if self.idle_timeout < 0:
            raise ValueError("idle_timeout must not be negative")


class OnDemand:
    """A scaler that rents machines for waiting required sets."""

    on_arrival = True

    def __init__(self, renting: Renting) -> None:
        self._drain: Duration = round(renting.target_drain * SECOND)
        self._default: Duration = round(renting.default_runtime * SECOND)
        self._one_at_a_time = renting.one_at_a_time
        self._idle_timeout: Duration = round(renting.idle_timeout * SECOND)

    def scale(self, view: View) -> Iterator[Scaling]:
        """Serve the tenants in turn: return machines that have been idle too long, then rent what is missing."""
        for pool in view.pools():
            needs = [need for need in pool.waiting() if pool.first(need) is not None]
            needs.sort(key=lambda need: (len(need.kinds), need.index))  # sets with few options first
            if self._idle_timeout:
                yield from self._idle_too_long(view, pool, needs)
            yield from self._one_each(view, pool, needs) if self._one_at_a_time else self._enough(view, pool, needs)

    def _idle_too_long(self, view: View, pool: Pool, needs: list[Need]) -> Iterator[Return]:
        wanted = {kind.index for need in needs for kind in need.kinds}
        for fleet in pool.fleets:
            if fleet.kind.index in wanted:
                continue
            for machine in list(expiring(fleet.machines.values(), view.now, view.interval)):
                if view.now - machine.idle_since >= self._idle_timeout:
                    minutes = (view.now - machine.idle_since) / MINUTE
                    yield Return(machine, f"idle for {minutes:.0f} minutes, and its paid time ends")

    def _one_each(self, view: View, pool: Pool, needs: list[Need]) -> Iterator[Rent]:
        """Rent one machine for each set without an idle machine, unless one of that type is starting."""
        idle = {fleet.kind.index: _room(fleet) for fleet in pool.fleets}
        starting = {fleet.kind.index for fleet in pool.fleets if any(m.is_booting for m in fleet.machines.values())}
        for need in needs:
            missing = pool.remaining(need)
            for kind in need.kinds:
                missing -= idle[kind.index].take(need.demand, missing)
            if missing <= 0:
                continue
            for kind in need.kinds:
                if _obtainable(view, pool, kind) > 0:
                    if kind.index not in starting:
                        starting.add(kind.index)
                        yield Rent(pool, kind, 1, f"{pool.remaining(need)} units need {need.requirement}")
                    break

    def _enough(self, view: View, pool: Pool, needs: list[Need]) -> Iterator[Rent]:
        """Rent as many machines for each set as finish the waiting units in time."""
        if not needs:
            return
        supply = {fleet.kind.index: self._supply(view, fleet) for fleet in pool.fleets}
        for need in needs:
            remaining = pool.remaining(need)
            work = remaining * self._mean_time(view, pool, need)
            wanted = max(1, min(remaining, -(-work // self._drain)))
            missing = _take(supply, need, wanted)
            for kind in need.kinds:
                if missing <= 0:
                    break
                number = min(ceil(Fraction(missing) / _places(kind, need)), _obtainable(view, pool, kind))
                if number > 0:
                    yield Rent(
                        pool,
                        kind,
                        number,
                        f"{remaining} units need {need.requirement}: {wanted} machines finish them in time",
                    )
                    missing -= number * _places(kind, need)
                    supply[kind.index] += max(Fraction(0), -missing / _places(kind, need))

    def _mean_time(self, view: View, pool: Pool, need: Need) -> Duration:
        """Return the expected run time of a waiting unit on the type that would be rented first."""
        units = pool.some(need, SAMPLE)
        times = [view.estimate(unit, need.kinds[0]) or self._default for unit in units]
        return sum(times) // len(times) if times else self._default

    def _supply(self, view: View, fleet: Fleet) -> Fraction:
        """Return how many machines' worth of room there is, or will be within the target time."""

        def is_held_up(unit: Unit) -> bool:
            elapsed = view.now - unit.started
            left = (view.estimate(unit, fleet.kind) or self._default) - elapsed
            return (left if left >= 0 else elapsed) > self._drain  # assume that an overdue unit takes as long again

        running = (unit for machine in fleet.machines.values() for unit in machine.running.values())
        held_up = sum((Fraction(1, _places(fleet.kind, unit.need)) for unit in running if is_held_up(unit)), Fraction())
        return len(fleet.machines) - held_up


def _room(fleet: Fleet) -> Room:
    """Return the free room on machines that are up."""
    room = Room()
    for machine in fleet.machines.values():
        if not machine.is_booting:
            room.add(machine.free)
    return room


def _take(supply: dict[int, Fraction], need: Need, wanted: int) -> Fraction:
    """Reserve room for units of a need, and return for how many there is none."""
    missing = Fraction(wanted)
    for kind in need.kinds:
        places = _places(kind, need)
        taken = min(missing, supply[kind.index] * places)
        supply[kind.index] -= taken / places
        missing -= taken
    return missing


def _places(kind: Kind, need: Need) -> int:
    """Return how many units of a need fit on an empty machine of a kind that offers it."""
    return fitting(kind.capacity, need.demand)


def _obtainable(view: View, pool: Pool, kind: Kind) -> int:
    """Return how many more machines of a kind limits and budget allow."""
    price = view.worth(pool, kind)
    return min(view.vacancies(kind), view.affordable(pool) // price) if price else view.vacancies(kind)
