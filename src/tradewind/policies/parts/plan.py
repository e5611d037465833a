"""Plans, and the placer that follows them: a unit starts on its planned machine once both are ready.

This is how work is placed under PLF and SCF (sections 3.1 and 3.2 of the PFA paper): what is not in the plan waits for
the next one, and so does what was planned on a machine that has gone. The paper does not say what happens when a unit
is late and the one planned behind it on the same machine is ready: we start the latter, for otherwise one late unit
would leave the machine idle. The times of a plan are not kept: they were estimates, and only the order binds.

A plan is numbers only, so that it can be saved and loaded. An event costs O(log n) in the units planned on a machine.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

from tradewind.policies.protocol import Place, Unit, View


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
        """Numbers of units and their machines, earliest first."""
        return [[unit, machine] for unit, (_, machine) in self._where.items()]

    def take_in(self, unit: Unit) -> int | None:
        """Note that a unit is ready; the number of the machine it is planned on, if any."""
        planned = self._where.get(unit.id)
        if planned is None:
            return None
        place, machine = planned
        heappush(self._ready.setdefault(machine, []), (place, unit.id))
        return machine

    def take_in_all(self, view: View) -> list[int]:
        """Note all planned units that are ready; the machines they are planned on."""
        self.changed = False
        self._ready = {}
        for number in self._where:
            unit = view.unit(number)
            if unit is not None and unit.is_ready:
                self.take_in(unit)
        return list(self._ready)

    def ready_on(self, machine: int) -> list[tuple[int, int]]:
        """A heap of places and numbers of ready units planned on a machine; some may have started or ended since."""
        return self._ready.get(machine, [])


class ByPlan:
    """Starts each unit where the plan has it, as soon as it is ready and the machine has room."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def rank(self, unit: Unit) -> int:
        """Higher priorities first, though only the plan counts."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        """Start what the plan allows on the machines that something has changed for."""
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


def _fill(view: View, number: int, ready: list[tuple[int, int]]) -> Iterator[Place]:
    """Start ready units on one machine, earliest in the plan first, until the next one has no room."""
    machine = view.machine(number)
    if machine is None:
        return  # what was planned on it waits for the next plan
    while ready:
        unit = view.unit(ready[0][1])
        if unit is not None and unit.is_ready:
            if not machine.has_room_for(unit):
                return
            yield Place(unit, machine, "it comes next in the plan of this machine")
        heappop(ready)
