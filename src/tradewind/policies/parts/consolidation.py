"""Consolidation: which unit runs on which machine, and when, until the end of the interval.

The planner of PLF and SCF: section 3.1 of the PFA paper, fifth step, and section 3.2, fourth step. It starts from what
runs now and from the machines held, booting ones with the time at which they are expected. Units with a type go to idle
machines of that type, else to the one of that type that is free earliest; then, workflow by workflow, all that are
eligible or whose parents are all planned go where they can start earliest, as long as that is before the end of the
interval.

What the paper leaves open:
- Among machines that allow the same start we take the one that is free the latest (it then stands idle the shortest),
  of those an idle one, and of those the first acquired. Gaps before a planned unit are not filled afterwards.
- Within a workflow, units come in the order in which they can start.
- A unit whose type is taken until the end of the interval is planned like those without a type.
- What runs longer than estimated is taken to end now, and a machine later than expected to be up now.
- A machine with several slots is as many lanes; what units share besides slots is left to the placer, which waits for
  it. A unit that waits to be tried again after a failure is not planned before it is ready.

Cost: O((units planned + their edges) log machines), plus one look at each eligible unit and each machine.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from tradewind.model.units import Time
from tradewind.policies.protocol import Fleet, Kind, Machine, Pool, Run, Unit, View

NO_TYPES: Mapping[int, Kind] = MappingProxyType({})

_Lane: TypeAlias = tuple[Time, bool, int]
"""When a slot is free, whether its machine is idle now, and the machine's number below zero: the best is the last."""


class Planned(NamedTuple):
    """A unit's place in the plan."""

    unit: Unit
    machine: Machine
    start: Time
    end: Time


def horizon(view: View) -> Time:
    """The end of the interval, when the scaler is asked again."""
    return view.now + view.interval - view.now % view.interval


def eligible_by_run(pool: Pool) -> dict[int, list[Unit]]:
    """Units that wait for nothing but a machine, by the number of their run, in order."""
    found: dict[int, list[Unit]] = {}
    for unit in pool.eligible():
        found.setdefault(unit.run.id, []).append(unit)
    for units in found.values():
        units.sort(key=lambda unit: unit.id)
    return found


def by_priority(pool: Pool) -> list[Run]:
    """Runs with higher priority first, then in order of submission."""
    return sorted(pool.runs.values(), key=lambda run: (-run.priority, run.id))


def consolidate(
    view: View,
    pool: Pool,
    runs: Iterable[Run],
    eligible: Mapping[int, Sequence[Unit]],
    types: Mapping[int, Kind] = NO_TYPES,
) -> list[Planned]:
    """Plan the runs in the order given, first the units with a type, until no unit can start within the interval."""
    draft = _Draft(view, pool)
    runs = tuple(runs)
    for run in runs:
        rest = [unit for unit in eligible.get(run.id, ()) if not draft.add_typed(unit, types)]
        draft.frontier.setdefault(run.id, []).extend((view.now, unit.id, unit) for unit in rest)
    for run in runs:
        if draft.is_full:
            break
        draft.fill(run)
    return draft.planned


class _Draft:
    """A plan in the making."""

    def __init__(self, view: View, pool: Pool) -> None:
        self._view = view
        self._horizon = horizon(view)
        self._machines: dict[int, Machine] = {}
        self._missing: dict[int, int] = {}
        self._ready: dict[int, Time] = {}
        self.frontier: dict[int, list[tuple[Time, int, Unit]]] = {}
        """By run, units not planned whose parents have all ended or are planned, with the time when these will end."""
        self.planned: list[Planned] = []
        self._lanes = [sorted(self._lanes_of(fleet)) for fleet in pool.fleets]
        """By kind, slots that are free before the end of the interval."""

    @property
    def is_full(self) -> bool:
        """Whether nothing more can start within the interval."""
        return not any(self._lanes)

    def add_typed(self, unit: Unit, types: Mapping[int, Kind]) -> bool:
        """Plan an eligible unit on a machine of its type; whether it has a type and there was room."""
        kind = types.get(unit.id)
        return kind is not None and self._add(unit, self._view.now, (kind,))

    def fill(self, run: Run) -> None:
        """Plan what can start of a run, in order of time."""
        frontier = self.frontier.get(run.id, [])
        heapify(frontier)
        while frontier and not self.is_full:
            ready, _, unit = heappop(frontier)
            self._add(unit, ready, unit.kinds)

    def _lanes_of(self, fleet: Fleet) -> Iterator[_Lane]:
        """The slots of a fleet, after what runs there now."""
        now = self._view.now
        for machine in fleet.machines.values():
            self._machines[machine.id] = machine
            for unit in machine.running.values():
                end = max(now, unit.started + self._view.estimate(unit, fleet.kind))
                self._reach(unit, end)
                if end < self._horizon:
                    yield end, False, -machine.id
            free = max(now, machine.expected) if machine.is_booting else now
            if free < self._horizon:
                lane = (free, machine.is_idle, -machine.id)
                yield from (lane for _ in range(fleet.kind.type.slots - len(machine.running)))

    def _add(self, unit: Unit, ready: Time, kinds: Iterable[Kind]) -> bool:
        """Plan a unit where it can start earliest; whether there is a slot for it at all."""
        best: tuple[Time, Time, int, int] | None = None
        place = 0
        for kind in kinds:
            lanes = self._lanes[kind.index]
            if lanes:
                index = _last_free(lanes, ready)
                free, _, number = lanes[index]
                start = max(free, ready)
                found = (start, start - free, -number, kind.index)
                if best is None or found < best:
                    best, place = found, index
        if best is None:
            return False
        start, _, machine_id, kind_index = best
        machine = self._machines[machine_id]
        lanes = self._lanes[kind_index]
        del lanes[place]
        end = start + self._view.estimate(unit, machine.kind)
        if end < self._horizon:
            insort(lanes, (end, False, -machine_id))
        self.planned.append(Planned(unit, machine, start, end))
        self._reach(unit, end)
        return True

    def _reach(self, unit: Unit, end: Time) -> None:
        """A unit ends then in the plan, which may leave its children nothing to wait for within the interval."""
        if end >= self._horizon:
            return
        missing = self._missing
        for child in unit.children:
            number = child.id
            left = missing[number] = missing.get(number, child.waits) - 1
            ready = self._ready[number] = max(self._ready.get(number, end), end)
            if left == 0 and not child.is_ended:
                heappush(self.frontier.setdefault(child.run.id, []), (ready, number, child))


def _last_free(lanes: Sequence[_Lane], ready: Time) -> int:
    """Of the slots that are free by then the one free the latest; if there are none, one that is free the earliest."""
    return bisect_right(lanes, (max(ready, lanes[0][0]), True, 0)) - 1
