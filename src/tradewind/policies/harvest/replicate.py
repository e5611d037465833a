"""Run several concurrent attempts of each task on different machines: the first to finish counts (appendix B.1).

A task takes part in plain placement as often as attempts of it are wanted. A lost attempt is replaced when there is
room. Tasks that save their progress run as a single attempt, because all attempts would write to the same place.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from tradewind.model.vector import covers
from tradewind.policies.harvest.capacity import DEPTH, AnyMachine
from tradewind.policies.harvest.rooms import Rooms, queue
from tradewind.policies.protocol import Copy, Machine, Place, Placing, Pool, Unit, View


class Replicas(AnyMachine):
    """A placer by first fit over machines in random order, several times for each task."""

    def __init__(self, replicas: int, seed: int = 0) -> None:
        super().__init__(seed)
        self._replicas = replicas
        self._thin: dict[int, dict[int, Unit]] = {}
        """By pool: units that run with fewer attempts than wanted, longest first."""

    def place(self, view: View) -> Iterator[Placing]:
        """Start every attempt that there is room for."""
        self._watch.follow(view)
        for unit in view.thinned():
            if unit.machine is not None:
                self._thin.setdefault(unit.machine.pool.index, {})[unit.id] = unit
        for pool in view.pools():
            if pool.waiting() or self._thin.get(pool.index):
                yield from self._serve(self._watch.of(view, pool))

    def _serve(self, rooms: Rooms) -> Iterator[Placing]:
        pool = rooms.pool
        while True:
            full: set[int] = set()
            openings = [machine for machine in rooms.open.values() if machine.is_up]
            self._rng.shuffle(openings)
            ready = queue(pool, DEPTH)
            waiting = sorted([*self._runs_thin(pool), *ready], key=lambda unit: (-unit.run.priority, unit.id))
            placed = False
            for unit in waiting:
                for place in self._attempts(unit, openings, full):
                    placed = True
                    yield place
                    if not any(place.machine.free):
                        openings.remove(place.machine)
                        rooms.open.pop(place.machine.id, None)
                self._note(pool, unit)
            if not placed or len(ready) < DEPTH:
                return

    def _attempts(self, unit: Unit, openings: Sequence[Machine], full: set[int]) -> Iterator[Placing]:
        """Yield as many attempts of a unit as are missing and fit."""
        running = _running(unit)
        while running < self._wanted(unit) and unit.need.index not in full:
            roomy = [m for m in openings if m.kind in unit.kinds and covers(m.free, unit.need.demand)]
            machine = next((m for m in roomy if unit.id not in m.running), None)
            if machine is None:
                if not roomy:
                    full.add(unit.need.index)
                return
            yield (Copy if running else Place)(unit, machine, "it has room")
            before, running = running, _running(unit)
            if running == before:
                return  # the attempt was not admitted

    def _note(self, pool: Pool, unit: Unit) -> None:
        thin = self._thin.setdefault(pool.index, {})
        if 0 < _running(unit) < self._wanted(unit):
            thin.setdefault(unit.id, unit)
        else:
            thin.pop(unit.id, None)

    def _runs_thin(self, pool: Pool) -> list[Unit]:
        """Return units that run with fewer attempts than wanted, dropping those that no longer run."""
        thin = self._thin.get(pool.index, {})
        some = list(islice(thin.values(), DEPTH))
        for unit in some:
            if not _running(unit):
                del thin[unit.id]
        return [unit for unit in some if _running(unit)]

    def _wanted(self, unit: Unit) -> int:
        return 1 if unit.task.checkpoint is not None else self._replicas


def _running(unit: Unit) -> int:
    """Return the number of running attempts of a unit."""
    return 0 if unit.machine is None else 1 + len(unit.copies)
