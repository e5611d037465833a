"""Consolidation: plan which unit runs on which machine, and when, until the end of the interval.

The planner of PLF and SCF: section 3.1 of the PFA paper, fifth step, and section 3.2, fourth step. It starts from the
running units and the held machines, including booting ones with their expected times. Units with an assigned type go to
idle machines of that type, otherwise to the one of that type that is free earliest. Then, workflow by workflow, all
units that are ready or whose parents are all planned go where they can start earliest, if that is within the interval.

Where the paper leaves a choice:
- Among machines that allow the same start, we take the one that is free latest (it is then idle for the shortest time),
  then an idle one, then the first acquired. Gaps before a planned unit are not filled afterwards.
- Within a workflow, units are planned in the order in which they can start.
- A unit whose type is busy until the end of the interval is planned like those without a type.
- A unit that runs longer than estimated is assumed to end now, and an overdue machine to be up now.
- A machine with several slots runs as many units concurrently as its slots and amounts allow (`openings`).
- A unit that waits for a retry is not planned before it is ready.

Cost: O((units planned + their edges) log n), plus one visit to each machine. Units that cannot start within the
interval cost nothing.
"""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from types import MappingProxyType
from typing import NamedTuple

from tradewind.model.units import Time
from tradewind.model.vector import Vector
from tradewind.policies.deadline.profile import Profile
from tradewind.policies.parts.openings import Lane, Lanes, Opening, Openings, Shared
from tradewind.policies.protocol import Fleet, Kind, Machine, Need, Pool, Run, Unit, View

NO_TYPES: Mapping[int, Kind] = MappingProxyType({})


class Planned(NamedTuple):
    """A unit's place in the plan."""

    unit: Unit
    machine: Machine
    start: Time
    end: Time


def horizon(view: View) -> Time:
    """Return the end of the interval, when the scaler is called again."""
    return view.now + view.interval - view.now % view.interval


def by_priority(pool: Pool) -> list[Run]:
    """Return runs by priority, then in order of submission."""
    return sorted(pool.runs.values(), key=lambda run: (-run.priority, run.id))


def consolidate(view: View, pool: Pool, runs: Iterable[Run], types: Mapping[int, Kind] = NO_TYPES) -> list[Planned]:
    """Plan the runs in the given order, units with a type first, until no unit can start within the interval."""
    draft = _Draft(view, pool)
    runs = tuple(runs)
    if types:
        typed: dict[int, list[int]] = {}
        for number in sorted(types):
            unit = view.unit(number)
            if unit is not None:
                typed.setdefault(unit.run.id, []).append(number)
        for run in runs:
            draft.add_typed(typed.get(run.id, ()), types)
    for run in runs:
        if draft.is_full:
            break
        draft.fill(run)
    return draft.planned


class _Draft:
    """A plan under construction."""

    def __init__(self, view: View, pool: Pool) -> None:
        self._view = view
        self._pool = pool
        self._horizon = horizon(view)
        self._machines: dict[int, Machine] = {}
        self._missing: dict[int, int] = {}
        self._ready: dict[int, Time] = {}
        self._typed: set[int] = set()
        """Ready units that have been planned on machines of their types."""
        self._frontier: dict[int, list[tuple[Time, int, Unit]]] = {}
        """By run, unplanned units that wait only for planned ones, with the time when these will end: heaps."""
        self.planned: list[Planned] = []
        self._slot: Vector = (1, *(0 for _ in view.kinds[0].capacity[1:]))
        self._openings = [self._openings_of(fleet) for fleet in pool.fleets]
        """By kind."""

    @property
    def is_full(self) -> bool:
        """Return whether nothing more can start within the interval."""
        return not any(openings.has(self._slot) for openings in self._openings)

    def add_typed(self, units: Iterable[int], types: Mapping[int, Kind]) -> None:
        """Plan ready units on machines of their types, as far as there is room."""
        for number in units:
            unit = self._view.unit(number)
            if unit is not None and self._add(unit, self._view.now, (types[number],)):
                self._typed.add(number)

    def fill(self, run: Run) -> None:
        """Plan the units of a run that can start, in order of time."""
        now = self._view.now
        frontier = self._frontier.setdefault(run.id, [])
        eligible = (unit for unit in self._pool.eligible_of(run, self._has_room) if unit.id not in self._typed)
        following = next(eligible, None)
        while not self.is_full:
            if following is not None and (not frontier or (now, following.id) < frontier[0][:2]):
                self._add(following, now, following.kinds)
                following = next(eligible, None)
            elif frontier:
                ready, _, unit = heappop(frontier)
                self._add(unit, ready, unit.kinds)
            else:
                break

    def _has_room(self, need: Need) -> bool:
        """Return whether a unit of a need can start within the interval; once false, this stays false."""
        return any(self._openings[kind.index].has(need.demand) for kind in need.kinds)

    def _openings_of(self, fleet: Fleet) -> Openings:
        """Return the free slots on the machines of a fleet, given what runs there now."""
        now, capacity = self._view.now, fleet.kind.capacity
        is_shared = capacity[0] > 1 and len(capacity) > 1
        lanes: list[Lane] = []
        profiles: dict[int, Profile] = {}
        for machine in fleet.machines.values():
            self._machines[machine.id] = machine
            up = max(now, machine.expected) if machine.is_booting else now
            running = machine.running.values()
            ends = [max(now, unit.started + self._view.estimate(unit, fleet.kind)) for unit in running]
            for unit, end in zip(running, ends, strict=True):
                self._reach(unit, end)
            if is_shared:
                profile = profiles[machine.id] = Profile(machine.capacity)
                profile.take(0, up, machine.capacity)
                for unit, end in zip(running, ends, strict=True):
                    profile.take(now, end, unit.need.demand)
            else:
                lanes += [(end, False, -machine.id) for end in ends]
                lanes += [(up, machine.is_idle, -machine.id)] * (capacity[0] - len(ends))
        return Shared(profiles, now, self._horizon) if is_shared else Lanes(lanes, self._horizon)

    def _add(self, unit: Unit, ready: Time, kinds: Iterable[Kind]) -> bool:
        """Plan a unit where it can start earliest, and return whether there was room."""
        demand = unit.need.demand
        best: tuple[Opening, int] | None = None
        for kind in kinds:
            found = self._openings[kind.index].find(ready, demand)
            if found is not None and (best is None or (found, kind.index) < best):
                best = (found, kind.index)
        if best is None:
            return False
        opening, kind_index = best
        machine = self._machines[opening.machine]
        end = opening.start + self._view.estimate(unit, machine.kind)
        self._openings[kind_index].take(opening, end, demand)
        self.planned.append(Planned(unit, machine, opening.start, end))
        self._reach(unit, end)
        return True

    def _reach(self, unit: Unit, end: Time) -> None:
        """Record the planned end of a unit, which may make its children plannable within the interval."""
        if end >= self._horizon:
            return
        missing = self._missing
        for child in unit.children:
            number = child.id
            left = missing[number] = missing.get(number, child.waits) - 1
            ready = self._ready[number] = max(self._ready.get(number, end), end)
            if left == 0 and not child.is_ended:
                heappush(self._frontier.setdefault(child.run.id, []), (ready, number, child))
