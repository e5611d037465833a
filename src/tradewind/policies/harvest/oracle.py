"""The oracle: starts a task only where it will not be preempted, because it knows the future (SlackSched, 4.1).

A task starts on a machine if, while it runs, the machine never has less capacity than is in use then and now. The
paper's oracle waits for machines that do not shrink at all (`strict`: not below their current size); ours tolerates
harmless shrinks. Among several machines it takes the one with the least to spare, which leaves the stable ones to
longer tasks. Only a simulation has a known future.
"""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from tradewind.model.errors import TradewindError
from tradewind.model.units import Duration, Time
from tradewind.policies.harvest.rooms import Rooms, Watch, has_room, queue
from tradewind.policies.protocol import Machine, Place, Unit, View

DEPTH = 256
CPUS = "cpus"
FAR = 7


class Future(Protocol):
    """The future of machines."""

    def least_ahead(self, machine: int, begin: Time, length: Duration) -> int:
        """Return the fewest cores that a machine will have in a period."""


@runtime_checkable
class Clairvoyant(Protocol):
    """A policy that wants to know the future."""

    def foresee(self, future: Future | None) -> None:
        """Receive the future; None: nothing changes."""


class Oracle:
    """A placer with full knowledge of future capacity."""

    def __init__(self, *, is_strict: bool = False) -> None:
        self._is_strict = is_strict
        self._future: Future | None = None
        self._is_told = False
        self._watch = Watch()

    def foresee(self, future: Future | None) -> None:
        """Receive the future of machines."""
        self._future = future
        self._is_told = True

    def rank(self, unit: Unit) -> int:
        """Higher priorities first."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        """Start tasks that will not be preempted."""
        if not self._is_told:
            raise TradewindError("the oracle only works in a simulation; use slacksched")
        self._watch.follow(view)
        for pool in view.pools():
            if pool.waiting():
                yield from self._serve(view, self._watch.of(view, pool))

    def _serve(self, view: View, rooms: Rooms) -> Iterator[Place]:
        full: set[int] = set()
        for unit in queue(rooms.pool, DEPTH):
            if unit.need.index in full:
                continue
            fitting = [
                machine
                for machine in rooms.open.values()
                if machine.kind in unit.kinds and has_room(machine, unit.need.demand, {})
            ]
            if not fitting:
                full.add(unit.need.index)
                continue
            machine = self._safest(view, unit, fitting)
            if machine is not None:
                yield Place(unit, machine, "it will not be preempted there")

    def _safest(self, view: View, unit: Unit, machines: list[Machine]) -> Machine | None:
        """Return the machine with the least to spare on which a unit is safe."""
        best: tuple[int, int, Machine] | None = None
        wanted = dict(unit.need.requirement.amounts).get(CPUS, 0)
        for machine in machines:
            if self._future is None or machine.kind.type.market.is_firm:
                return machine
            length = view.estimate(unit, machine.kind)
            used = sum(dict(each.need.requirement.amounts).get(CPUS, 0) for each in machine.running.values())
            least = self._future.least_ahead(machine.id, view.now, length)
            if least < used + wanted or (self._is_strict and least < self._future.least_ahead(machine.id, view.now, 1)):
                continue
            spare = self._future.least_ahead(machine.id, view.now, FAR * length) - used - wanted
            if best is None or (spare, machine.id) < best[:2]:
                best = (spare, machine.id, machine)
        return None if best is None else best[2]
