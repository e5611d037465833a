"""The board: which slots of which machines are reserved for which units, and when.

A track is a machine that is held, or one that is to be acquired at a given time. Greedy, GAIN and SCS+ plan whole jobs
on it; `ByBoard` then starts each unit on its track. Reservations are estimates: where reality strays, they are moved,
and only their order binds.
"""

from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.track import Reservation, Track
from tradewind.policies.protocol import Kind, Machine, Place, Pool, Run, Unit, View


class Board:
    """The tracks of one tenant, by machine type."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self.tracks: list[list[Track]] = [[] for _ in kinds]
        self.by_machine: dict[int, Track] = {}
        self.of_unit: dict[int, Track] = {}
        """Where each unit that has not ended is to run."""
        self.changed: set[int] = set()
        """Machines whose tracks have been written on since they were last followed."""
        self._looks: list[tuple[Time, int]] = []
        """A heap of times after which a machine's track is out of date if nothing has happened, and machines."""

    def add(self, track: Track) -> Track:
        """A machine is to be acquired."""
        self.tracks[track.kind.index].append(track)
        return track

    def bind(self, track: Track, machine: Machine) -> None:
        """A machine has been acquired for a track."""
        track.machine = machine.id
        track.opens = machine.expected
        self.by_machine[machine.id] = track
        self.write(track)

    def remove(self, track: Track) -> list[int]:
        """A track is gone; the units that were to run there."""
        self.tracks[track.kind.index].remove(track)
        if track.machine is not None:
            del self.by_machine[track.machine]
            self.changed.discard(track.machine)
        units = [reserved.unit for lane in track.lanes for reserved in lane]
        for unit in units:
            self.of_unit.pop(unit, None)
        return units

    def drop(self, unit: int) -> None:
        """A unit is no longer meant for any machine."""
        track = self.of_unit.pop(unit, None)
        if track is not None:
            track.lanes = [[each for each in lane if each.unit != unit] for lane in track.lanes]
            if track.machine is not None:
                track.measure(track.floor)
                self.write(track)
            elif track.is_idle:
                self.remove(track)
            else:
                track.retime()

    def reserve(self, track: Track, lane: int, begin: Time, time: Duration, unit: int) -> None:
        """A slot of a track is meant for a unit."""
        track.reserve(lane, begin, time, unit)
        self.of_unit[unit] = track
        self.write(track)

    def write(self, track: Track) -> None:
        """A track has been written on."""
        if track.machine is not None:
            self.changed.add(track.machine)
            for lane in track.lanes:
                if lane:
                    heappush(self._looks, (lane[0].begin, track.machine))

    def room(self, view: View, kind: Kind) -> int:
        """How many more machines of a kind may be planned."""
        return view.vacancies(kind) - sum(track.machine is None for track in self.tracks[kind.index])

    def end_of(self, unit: int) -> Time | None:
        """When a unit is thought to end, if a slot is reserved for it."""
        track = self.of_unit.get(unit)
        if track is None:
            return None
        return next((each.end for lane in track.lanes for each in lane if each.unit == unit), None)

    def lacks(self, run: Run) -> bool:
        """Whether something of a run has not started, and no slot is reserved for it."""
        return any(not u.is_ended and u.machine is None and u.id not in self.of_unit for u in run.units)

    def catch_up(self, view: View, pool: Pool, moved: Collection[int]) -> list[int]:
        """Bring the board in line with the facts, given where something began or ended; units whose machine is gone."""
        stranded: list[int] = []
        for number in [number for number in self.by_machine if view.machine(number) is None]:
            stranded += self.remove(self.by_machine[number])
        for fleet in pool.fleets:
            for number in fleet.machines.keys() - self.by_machine.keys():
                machine = fleet.machines[number]
                self.bind(self.add(Track(fleet.kind, machine.expected - fleet.kind.type.boot.mean)), machine)
        due = {*moved, *self.changed}
        while self._looks and self._looks[0][0] < view.now:
            due.add(heappop(self._looks)[1])
        for number in sorted(due & self.by_machine.keys()):
            track = self.by_machine[number]
            held = view.machine(number)
            if held is not None:
                self._correct(view, track, held)
        return [unit for unit in stranded if view.unit(unit) is not None]

    def _correct(self, view: View, track: Track, machine: Machine) -> None:
        """Forget what has ended, and move what comes later than was thought."""
        now = view.now
        track.opens = max(now, machine.expected) if machine.is_booting else machine.expected
        floor = max(track.opens, now)
        for number, lane in enumerate(track.lanes):
            kept: list[Reservation] = []
            later: list[Reservation] = []
            after = floor
            for reserved in lane:
                unit = view.unit(reserved.unit)
                if unit is None or unit.is_ended:
                    self.of_unit.pop(reserved.unit, None)
                elif unit.machine is None:
                    later.append(reserved)
                else:
                    after = max(now, unit.started + view.estimate(unit, track.kind))
                    kept.append(Reservation(unit.started, after, reserved.unit))
            began = len(kept)
            for place, (begin, end, unit_number) in enumerate(later):
                if begin >= after:  # and so is the rest
                    kept += later[place:]
                    break
                kept.append(Reservation(after, after + end - begin, unit_number))
                after += end - begin
            track.lanes[number] = kept
            if kept:  # until its first unit should have begun, or ended, nothing changes by itself
                heappush(self._looks, (kept[0].end if began else kept[0].begin, machine.id))
        track.measure(floor)
        track.paid_until = machine.paid_until
        track.paid_until += max(0, track.more_periods(track.opens, track.last)) * track.period
        heappush(self._looks, (machine.expected if machine.is_booting else machine.paid_until - 1, machine.id))


class ByBoard:
    """Starts each unit on its track, in the order of the reservations."""

    def __init__(self) -> None:
        self.boards: dict[int, Board] = {}
        """By tenant."""
        self.freed: set[int] = set()
        """Runs of which a unit has become ready since the scaler last looked."""
        self._moved: set[int] = set()
        """Machines whose tracks may be out of date: something has begun or ended, or they have been written on."""
        self._was_scaled = False
        """Whether the scaler has looked since units were last placed, and so may have written on any board."""

    def catch_up(self, view: View) -> set[int]:
        """Bring all boards in line with the facts; the runs in which something has changed since."""
        self._was_scaled = True
        touched, self.freed = self.freed, set()
        touched |= {unit.run.id for unit in view.freed()}
        moved, self._moved = self._moved.union(machine.id for machine in view.vacated()), set()
        for pool in view.pools():
            board = self.boards.setdefault(pool.index, Board(view.kinds))
            stranded = (view.unit(number) for number in board.catch_up(view, pool, moved))
            touched |= {unit.run.id for unit in stranded if unit is not None}
        return touched

    def rank(self, unit: Unit) -> int:
        """Runs with the earliest deadline first, though only the board counts."""
        return (unit.run.deadline or 0) // 1_000_000

    def place(self, view: View) -> Iterator[Place]:
        """Start what may start on the machines that something has changed for."""
        for unit in view.freed():
            self.freed.add(unit.run.id)
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


def _start(view: View, track: Track, number: int) -> Iterator[Place]:
    """Start what is next in each slot of a machine, and what is over before something else begins."""
    machine = view.machine(number)
    if machine is None or machine.is_booting:
        return
    for lane in track.lanes:
        limit: Time | None = None
        for reserved in lane:
            unit = view.unit(reserved.unit)
            if unit is None or unit.is_ended:
                continue
            if unit.machine is not None:
                break  # the slot is taken
            time = reserved.end - reserved.begin
            if unit.is_ready and (limit is None or view.now + time <= limit) and machine.has_room_for(unit):
                yield Place(unit, machine, "this slot is reserved for it")
                break
            if limit is None and (unit.is_ready or reserved.begin >= view.now):
                limit = reserved.begin
