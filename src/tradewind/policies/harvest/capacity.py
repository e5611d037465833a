"""Plain placement: fill machines one after the other in random order, like YARN's capacity scheduler.

There, a machine that reports gets as much work as it has room for, and machines report in any order; here, the order is
drawn at each event.
"""

import random
from collections.abc import Iterator, Sequence

from tradewind.policies.harvest.rooms import Rooms, Watch, has_room, queue
from tradewind.policies.protocol import Machine, Place, Placing, Unit, View

DEPTH = 64
_NOTHING: dict[int, tuple[int, ...]] = {}


class AnyMachine:
    """A placer by first fit over machines in random order."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(f"{seed}/capacity")
        self._watch = Watch()

    def rank(self, unit: Unit) -> int:
        """Higher priorities first."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Placing]:
        """Start every unit that there is room for."""
        self._watch.follow(view)
        for pool in view.pools():
            if pool.waiting():
                yield from self._serve(self._watch.of(view, pool))

    def _serve(self, rooms: Rooms) -> Iterator[Placing]:
        while True:
            full: set[int] = set()
            openings = list(rooms.open.values())
            self._rng.shuffle(openings)
            placed = seen = 0
            for unit in queue(rooms.pool, DEPTH):
                seen += 1
                if unit.need.index in full:
                    continue
                machine = _first_with_room(openings, unit)
                if machine is None:
                    full.add(unit.need.index)
                    continue
                placed += 1
                yield Place(unit, machine, "it has room")
                if not any(machine.free):
                    openings.remove(machine)
                    rooms.open.pop(machine.id, None)
            if not placed or seen < DEPTH:
                return


def _first_with_room(machines: Sequence[Machine], unit: Unit) -> Machine | None:
    demand, kinds = unit.need.demand, unit.kinds
    for machine in machines:
        if machine.kind in kinds and has_room(machine, demand, _NOTHING):
            return machine
    return None
