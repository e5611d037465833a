"""Room: the free capacity on machines of one kind, counted as admission counts it.

Machines with the same free capacity are counted together, so a query costs O(distinct capacities), not O(machines).
"""

from collections import Counter

from tradewind.model.vector import Vector, fitting, minus
from tradewind.policies.protocol import Fleet


def room_in(fleet: Fleet) -> "Room":
    """Return the free capacity on the machines of a fleet, including booting ones."""
    room = Room()
    for machine in fleet.machines.values():
        if machine.is_up or machine.is_booting:
            room.add(machine.free)
    return room


class Room:
    """The free capacity on some machines."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: Counter[Vector] = Counter()

    def __bool__(self) -> bool:
        return bool(self._left)

    def add(self, free: Vector, machines: int = 1) -> None:
        """Add machines with the given free capacity each."""
        if free[0] > 0 and machines > 0:
            self._left[free] += machines

    def remove(self, free: Vector) -> bool:
        """Remove a machine with exactly this free capacity, and return whether there was one."""
        if free not in self._left:
            return False
        self._change(free, -1)
        return True

    def has(self, demand: Vector) -> bool:
        """Return whether there is room for a unit."""
        return any(fitting(free, demand) > 0 for free in self._left)

    def take(self, demand: Vector, most: int) -> int:
        """Take room for some units, on fuller machines first, and return for how many there was any."""
        missing = most
        for free in sorted(self._left):
            fits = min(missing, fitting(free, demand))
            if fits <= 0:
                continue
            filled = min(self._left[free], missing // fits)
            self._put(free, demand, fits, filled)
            missing -= fits * filled
            if missing and free in self._left:  # fewer units than fit on one machine
                self._put(free, demand, missing, 1)
                missing = 0
            if not missing:
                break
        return most - missing

    def _put(self, free: Vector, demand: Vector, units: int, machines: int) -> None:
        """Put units on each of some machines."""
        self._change(free, -machines)
        self.add(minus(free, tuple(units * want for want in demand)), machines)

    def _change(self, free: Vector, by: int) -> None:
        self._left[free] += by
        if self._left[free] <= 0:
            del self._left[free]
