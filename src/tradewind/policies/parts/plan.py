"""Plans, and the placer that follows them: a unit starts on its planned machine when both are ready.

This is how PLF and SCF place units (sections 3.1 and 3.2 of the PFA paper). Units outside the plan wait for the next
one, as do units planned on a machine that is gone. The paper does not say what happens if a unit is late while the next
one on the same machine is ready. We start the latter; otherwise one late unit would leave the machine idle. The times
of a plan are not kept: they were estimates, and only the order binds.

A plan contains only numbers, so that it can be saved and loaded. An event costs O(log n) in the units planned on a
machine.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from tradewind.policies.protocol import Machine, Place, Pool, Unit, View


class Plan:
    """Which unit runs on which machine, and in which order; made by a scaler, followed by a placer."""

    __slots__ = ("_ready", "_where", "changed")

    def __init__(self, assignments: Iterable[Sequence[int]] = ()) -> None:
        self._where: dict[int, tuple[int, int]] = {}
        self._ready: dict[int, list[tuple[int, int]]] = {}
        self.changed = False
        """Whether it has been replaced since it was last followed."""
        self.load(assignments)

    def load(self, assignments: Iterable[Sequence[int]]) -> None:
        """Replace the plan by numbers of units and their machines, earliest first."""
        self._where = {unit: (place, machine) for place, (unit, machine) in enumerate(assignments)}
        self._ready = {}
        self.changed = True

    def save(self) -> list[list[int]]:
        """Return the numbers of units and their machines, earliest first."""
        return [[unit, machine] for unit, (_, machine) in self._where.items()]

    def take_in(self, unit: Unit) -> int | None:
        """Record that a unit is ready, and return the number of its planned machine, if any."""
        planned = self._where.get(unit.id)
        if planned is None:
            return None
        place, machine = planned
        heappush(self._ready.setdefault(machine, []), (place, unit.id))
        return machine

    def take_in_all(self, view: View) -> list[int]:
        """Record all planned units that are ready, and return their planned machines."""
        self.changed = False
        self._ready = {}
        for number in self._where:
            unit = view.unit(number)
            if unit is not None and unit.is_ready:
                self.take_in(unit)
        return list(self._ready)

    def ready_on(self, machine: int) -> list[tuple[int, int]]:
        """Return a heap of positions and numbers of ready units on a machine; some may have started or ended since."""
        return self._ready.get(machine, [])


class ByPlan:
    """A placer that starts each unit on its planned machine when both are ready."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def rank(self, unit: Unit) -> int:
        """Rank higher priorities first, though only the plan counts."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        """Start planned units on the machines that something has changed for."""
        plan = self._plan
        if plan.changed:
            machines = plan.take_in_all(view)
        else:
            machines = [number for unit in view.freed() if (number := plan.take_in(unit)) is not None]
            machines += [machine.id for machine in view.vacated()]
        for number in machines:
            ready = plan.ready_on(number)
            if ready:
                yield from _fill(view, number, ready)

    def step_back(self) -> None:
        """Let another placer take over; the plan still determines which machines are rented."""

    def insist(self, view: View) -> Iterator[Place]:  # noqa: ARG002  # whatever there is
        """Yield nothing: the plan is remade each interval, whatever another placer does."""
        return iter(())

    def binds(self, pool: Pool) -> bool:  # noqa: ARG002  # the same for every tenant
        """No plan is that important."""
        return False

    def placed(self, view: View, unit: Unit, machine: Machine) -> None:
        """Do nothing: the next plan starts from the facts."""


def _fill(view: View, number: int, ready: list[tuple[int, int]]) -> Iterator[Place]:
    """Start ready units on one machine in the order of the plan, until the next one has no room."""
    machine = view.machine(number)
    if machine is None:
        return  # its units wait for the next plan
    while ready:
        unit = view.unit(ready[0][1])
        if unit is not None and unit.is_ready:
            if not machine.has_room_for(unit):
                return
            yield Place(unit, machine, "next in the plan of this machine")
        heappop(ready)
