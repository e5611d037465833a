"""The board: which machines are reserved for which units, and when.

A track is a machine that is held, or is to be acquired at a given time. Greedy, GAIN and SCS+ plan whole jobs on it;
`ByBoard` then starts each unit on its track. Reservations are estimates: if reality differs they are moved, and only
their order binds.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain

from tradewind.model.units import Duration, Time
from tradewind.model.vector import covers, minus
from tradewind.policies.deadline.profile import Profile
from tradewind.policies.deadline.track import Reservation, Track
from tradewind.policies.protocol import Kind, Machine, Place, Pool, Unit, View


class Board:
    """The tracks of one tenant, by machine type."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.tracks: list[list[Track]] = [[] for _ in kinds]
        self.by_machine: dict[int, Track] = {}
        self.of_unit: dict[int, Track] = {}
        """The track of each unit that has not ended."""
        self.changed: set[int] = set()
        """Machines whose tracks have changed since they were last followed."""
        self._refused: dict[int, Time] = {}
        """By machine type, the time until which no machines are planned because one was refused."""
        self._runs: set[int] = set()
        """The machines present when the board was last synchronised."""
        self.delayed: set[int] = set()
        """Units whose end was found to differ from the estimate since the scaler last ran."""
        self._looks: list[tuple[Time, int]] = []
        """A heap of times at which a machine's track becomes outdated if nothing happens, with the machines."""

    def add(self, track: Track) -> Track:
        """Add the track of a machine to be acquired."""
        self.tracks[track.kind.index].append(track)
        return track

    def bind(self, track: Track, machine: Machine) -> None:
        """Assign an acquired machine to a track."""
        track.machine = machine.id
        track.opens = machine.expected
        self.by_machine[machine.id] = track
        self.write(track)

    def remove(self, track: Track) -> list[int]:
        """Remove a track, and return the units reserved on it."""
        self.tracks[track.kind.index].remove(track)
        if track.machine is not None:
            del self.by_machine[track.machine]
            self.changed.discard(track.machine)
        units = [each.unit for each in track.reserved]
        for unit in units:
            self.of_unit.pop(unit, None)
        return units

    def drop(self, units: Iterable[int]) -> None:
        """Cancel the reservations of some units."""
        self.forget_order()
        tracks: dict[int, Track] = {}
        for unit in units:
            track = self.of_unit.pop(unit, None)
            if track is not None:
                tracks[id(track)] = track
        for track in tracks.values():
            track.reserved = [each for each in track.reserved if each.unit in self.of_unit]
            if track.machine is not None:
                track.measure(track.floor)
                self.write(track)
            # A planned machine that nothing needs any more is not acquired.
            elif track.is_idle:
                self.remove(track)
            else:
                track.retime()

    def forget_order(self) -> None:
        """Stop assuming order: any reservation may be of a unit that will never come."""
        for track in self.by_machine.values():
            track.in_order = 0

    def reserve(self, track: Track, begin: Time, time: Duration, unit: Unit) -> None:
        """Reserve a track for a unit."""
        track.reserve(begin, time, unit.id, unit.need.demand)
        self.of_unit[unit.id] = track
        self.write(track)

    def write(self, track: Track) -> None:
        """Record that a track has changed."""
        if track.machine is not None:
            self.changed.add(track.machine)
            if track.reserved:
                heappush(self._looks, (track.reserved[0].begin, track.machine))

    def refuse(self, view: View, track: Track) -> list[int]:
        """Record that a machine was refused and plan no more of its type before the next decision; return its units."""
        self._refused[track.kind.index] = view.now + view.interval
        return self.remove(track)

    def was_refused(self, view: View, kind: int) -> bool:
        """Return whether a machine of a type was just refused, so that plans do without it for once."""
        return view.now <= self._refused.get(kind, -1)

    def end_of(self, unit: int) -> Time | None:
        """Return the estimated end of a unit, if it has a reservation."""
        track = self.of_unit.get(unit)
        if track is None:
            return None
        return next((each.end for each in track.reserved if each.unit == unit), None)

    def lacks(self, units: Iterable[Unit]) -> bool:
        """Return whether some unit has neither started nor a reservation."""
        return any(not u.is_ended and u.machine is None and u.id not in self.of_unit for u in units)

    def catch_up(self, view: View, pool: Pool, moved: Collection[int]) -> list[int]:
        """Synchronise the board with the machines that changed, and return units that lost their machine."""
        stranded: list[int] = []
        # A run has ended or was cancelled, so reserved units may never come.
        if not self._runs <= pool.runs.keys():
            self.forget_order()
        self._runs = set(pool.runs)
        for number in [number for number, track in self.by_machine.items() if not _is_held(pool, track, number)]:
            stranded += self.remove(self.by_machine[number])
        for fleet in pool.fleets:
            for number in fleet.machines.keys() - self.by_machine.keys():
                machine = fleet.machines[number]
                # A machine acquired outside the plan: date its request back by the lag, as if it had been planned.
                track = self.add(Track(fleet.kind, machine.expected - fleet.kind.type.boot.mean))
                self.bind(track, machine)
                for unit in machine.running.values():  # it started before this board existed
                    self.reserve(track, unit.started, view.estimate(unit, fleet.kind), unit)
        due = {*moved, *self.changed}
        # Only machines where something should have happened by now can be out of date.
        while self._looks and self._looks[0][0] < view.now:
            due.add(heappop(self._looks)[1])
        for number in sorted(due & self.by_machine.keys()):
            track = self.by_machine[number]
            held = view.machine(number)
            if held is not None:
                stranded += self._correct(view, track, held)
        return [unit for unit in stranded if view.unit(unit) is not None]

    def _correct(self, view: View, track: Track, machine: Machine) -> list[int]:
        """Drop finished reservations, move delayed ones, and return units that no longer fit on the machine."""
        now = view.now
        track.opens = max(now, machine.expected) if machine.is_booting else machine.expected
        floor = max(track.opens, now)
        can_advance = track.in_order > 0 and track.profile is None and track.capacity == machine.capacity
        # Fast path: the first unit runs as estimated, so nothing on this track moves.
        if can_advance and _is_steady(view, track):
            track.floor = floor
            self._note_paid(track, machine)
            return []
        running, later, met = self._begun(view, track, is_in_order=can_advance)
        # Reservations of units that ended or vanished were dropped in front of others.
        if len(running) + len(later) < met and (later or met < len(track.reserved)):
            self.changed.add(machine.id)  # something may have waited behind a unit that will never come
        outgrown: list[int] = []
        if track.capacity != machine.capacity:
            track.capacity = machine.capacity
            outgrown = [each.unit for each in later if not covers(track.capacity, each.demand)]
            later = [each for each in later if covers(track.capacity, each.demand)]
            for number in outgrown:
                del self.of_unit[number]
        if can_advance:
            track.in_order -= met
            after = running[-1].end if running else floor
            # Examine only as many further reservations as the delay reaches.
            while met < len(track.reserved) and track.reserved[met].begin < after:
                after += track.reserved[met].end - track.reserved[met].begin
                later.append(track.reserved[met])
                met += 1
        in_turn = _ready_first(view, later, floor)
        if in_turn is not later:
            later = in_turn
            self.changed.add(machine.id)
        kept = [*running, *_moved(track, running, later, floor)]
        self.delayed |= {each.unit for each in set(kept).difference(track.reserved[:met])}
        if can_advance:
            track.replace_first(met, kept, floor)
        else:
            track.reserved = kept
            track.in_order = len(kept) // 4 + 16  # so that the whole track is checked from time to time
            track.measure(floor)
        if track.reserved:  # nothing changes by itself before a unit should have ended, or the next one started
            begins = (each.begin for each in track.reserved[len(running) : len(running) + 1])
            heappush(self._looks, (min([*(each.end for each in running), *begins]), machine.id))
        self._note_paid(track, machine)
        return outgrown

    def _note_paid(self, track: Track, machine: Machine) -> None:
        """Record until when a machine is paid, and will be paid once all its reservations have ended."""
        track.paid_until = machine.paid_until
        track.paid_until += max(0, track.more_periods(track.opens, track.last)) * track.period
        heappush(self._looks, (machine.expected if machine.is_booting else machine.paid_until - 1, machine.id))

    def _begun(
        self, view: View, track: Track, *, is_in_order: bool
    ) -> tuple[list[Reservation], list[Reservation], int]:
        """Return running and future reservations, and how many were examined; drop finished ones.

        If units start in the order of their reservations, only those that have started are examined.
        """
        running: list[Reservation] = []
        later: list[Reservation] = []
        met = 0
        for reserved in track.reserved:
            unit = view.unit(reserved.unit)
            if unit is None or unit.is_ended:
                self.of_unit.pop(reserved.unit, None)
            elif unit.machine is None:
                if is_in_order:
                    break
                later.append(reserved)
            else:
                end = max(view.now, unit.started + view.estimate(unit, track.kind))
                running.append(Reservation(unit.started, end, reserved.unit, reserved.demand))
            met += 1
        return running, later, met


def _is_held(pool: Pool, track: Track, machine: int) -> bool:
    """Whether the machine of a track still works for a tenant."""
    return machine in pool.fleets[track.kind.index].machines


@dataclass(slots=True)
class Changes:
    """Runs that have changed since the scaler last ran."""

    touched: set[int]
    lacking: set[int] = field(default_factory=set)
    """Runs with a unit that could start but has no reservation."""
    delayed: dict[int, set[int]] = field(default_factory=dict)
    """Units whose end was found to differ from the estimate, by run."""


class ByBoard:
    """A placer that starts each unit on its track, in the order of the reservations."""

    def __init__(self) -> None:
        self.boards: dict[int, Board] = {}
        """By tenant."""
        self._freed: set[int] = set()
        """Units that have become ready since the scaler last ran."""
        self._moved: set[int] = set()
        """Machines whose tracks may be outdated: something has started or ended, or they were modified."""
        self.is_binding = True
        """Whether units run where the board has them, and not where another placer puts them."""
        self._was_scaled = False
        """Whether the scaler has run since units were last placed, and so may have modified any board."""
        self._kinds = 0
        """Number of kinds when the scaler last ran."""

    def has_new_kinds(self, view: View) -> bool:
        """Return whether machines of new types have joined since the last call; if so, clear all boards."""
        known, self._kinds = self._kinds, len(view.kinds)
        if known == self._kinds:
            return False
        self.boards.clear()
        return True

    def catch_up(self, view: View) -> Changes:
        """Synchronise all boards, and return the runs that have changed since."""
        self._was_scaled = True
        ready, self._freed = self._freed.union(unit.id for unit in view.freed()), set()
        freed = [unit for number in ready if (unit := view.unit(number)) is not None]
        changes = Changes({unit.run.id for unit in freed})
        moved, self._moved = self._moved.union(machine.id for machine in view.vacated()), set()
        for pool in view.pools():
            board = self.boards.setdefault(pool.index, Board(view.kinds))
            gone = board.catch_up(view, pool, moved)
            stranded = [unit for number in gone if (unit := view.unit(number)) is not None]
            changes.touched.update(unit.run.id for unit in stranded)
            waiting = chain(stranded, (unit for unit in freed if unit.run.id in pool.runs))
            changes.lacking.update(unit.run.id for unit in waiting if board.lacks((unit,)))
            for number in board.delayed:
                unit = view.unit(number)
                if unit is not None:
                    changes.delayed.setdefault(unit.run.id, set()).add(number)
            board.delayed.clear()
        return changes

    def rank(self, unit: Unit) -> int:
        """Rank runs with the earliest deadline first, though only the board counts."""
        return (unit.run.deadline or 0) // 1_000_000

    def insist(self, view: View) -> Iterator[Place]:
        """Start units confined to firm machines before another placer gives these to units that could wait."""
        for place in self.place(view):
            if self.binds(place.machine.pool) or all(kind.type.market.is_firm for kind in place.unit.kinds):
                yield place

    def binds(self, pool: Pool) -> bool:
        """Return whether a tenant could not rent another machine to replace one that another placer takes."""
        return pool.tenant.budget is not None or pool.tenant.machines is not None

    def place(self, view: View) -> Iterator[Place]:
        """Start units on the machines that something has changed for."""
        self._freed.update(unit.id for unit in view.freed())
        vacated = {machine.id for machine in view.vacated()}
        self._moved |= vacated
        was_scaled, self._was_scaled = self._was_scaled, False
        for pool in view.pools() if was_scaled else view.unsettled():
            board = self.boards.get(pool.index)
            if board is None:
                continue
            numbers = {track.machine for unit in view.freed() if (track := board.of_unit.get(unit.id)) is not None}
            numbers |= vacated | board.changed
            self._moved |= board.changed
            board.changed.clear()
            for number in sorted(number for number in numbers if number is not None):
                track = board.by_machine.get(number)
                if track is not None:
                    for place in _start(view, track, number):
                        self._moved.add(number)
                        yield place

    def step_back(self) -> None:
        """Let another placer take over: machines may be used by units other than those they are reserved for."""
        self.is_binding = False

    def placed(self, view: View, unit: Unit, machine: Machine) -> None:
        """Move the reservation of a unit to the machine on which it was started."""
        board = self.boards.get(machine.pool.index)
        if board is None:
            return
        track, there = board.of_unit.get(unit.id), board.by_machine.get(machine.id)
        if there is not None and track is not there:
            if track is not None and track.machine is not None:
                self._moved.add(track.machine)
            board.drop((unit.id,))
            board.reserve(there, view.now, view.estimate(unit, machine.kind), unit)
            board.delayed.add(unit.id)
        self._moved.add(machine.id)


def _is_steady(view: View, track: Track) -> bool:
    """Return whether the first unit runs and will end as estimated, so that only the paid time may have changed."""
    first = track.reserved[0] if track.reserved else None
    unit = None if first is None else view.unit(first.unit)
    if first is None or unit is None or unit.machine is None or unit.is_ended or unit.started != first.begin:
        return False
    return view.now <= first.end == unit.started + view.estimate(unit, track.kind)


def _ready_first(view: View, later: list[Reservation], floor: Time) -> list[Reservation]:
    """Let what is ready overtake what should have begun and is not ready, where it would be pushed back.

    Otherwise a task could wait for one that is reserved behind it, on the same machine or by way of others.
    """
    after, pushed = floor, 0
    while pushed < len(later) and later[pushed].begin < after:
        after += later[pushed].end - later[pushed].begin
        pushed += 1
    units = [view.unit(each.unit) for each in later[:pushed]]
    is_ready = [unit is not None and unit.is_ready for unit in units]
    first = is_ready.index(False) if False in is_ready else pushed
    if True not in is_ready[first:] or later[first].begin >= floor:
        return later
    ready = [each for each, is_one in zip(later, is_ready, strict=False) if is_one]
    others = [each for each, is_one in zip(later, is_ready, strict=False) if not is_one]
    moved = [each._replace(begin=floor, end=floor + each.end - each.begin) for each in ready]
    return [*moved, *others, *later[pushed:]]


def _moved(
    track: Track, running: Sequence[Reservation], later: Sequence[Reservation], floor: Time
) -> list[Reservation]:
    """Move reservations that cannot start as planned behind or next to what is running."""
    if track.has_profile:
        return _fitted(Profile(track.capacity), running, later, floor)
    after = running[-1].end if running else floor
    kept: list[Reservation] = []
    for place, (begin, end, unit, demand) in enumerate(later):
        if begin > after:  # the rest is on time, too
            return [*kept, *later[place:]]
        kept.append(Reservation(after, after + end - begin, unit, demand))
        after += end - begin
    return kept


def _fitted(
    profile: Profile, running: Sequence[Reservation], later: Sequence[Reservation], floor: Time
) -> list[Reservation]:
    """Move later reservations to where there is room for them."""
    for begin, end, _, demand in running:
        profile.take(begin, end, demand)
    kept: list[Reservation] = []
    for begin, end, unit, demand in later:
        start = profile.fit(max(begin, floor), end - begin, demand)
        profile.take(start, start + end - begin, demand)
        kept.append(Reservation(start, start + end - begin, unit, demand))
    return sorted(kept)


def _start(view: View, track: Track, number: int) -> Iterator[Place]:
    """Start the next unit on a machine, and units that leave room for it or end before it starts."""
    machine = view.machine(number)
    if machine is None or machine.is_booting:
        return
    left = machine.free
    limit: Time | None = None
    is_first = True
    for begin, end, unit_number, demand in track.reserved:
        if machine.free[0] <= 0:
            return
        unit = view.unit(unit_number)
        if unit is None or unit.is_ended or unit.machine is not None:
            continue
        is_harmless = limit is None or view.now + end - begin <= limit or covers(left, demand)
        if unit.is_ready and is_harmless and machine.has_room_for(unit):
            if not is_first:
                track.in_order = 0
            yield Place(unit, machine, "this machine is reserved for it")
            left = minus(left, demand)
            continue
        is_first = False
        if unit.is_ready or begin >= view.now:
            left = minus(left, demand)
            limit = begin if limit is None else limit
