"""SlackSched's match maker (section 3.1.2 and algorithm 1): each task goes where it is expected to finish first.

A task may wait for a busy machine that is more stable. The paper's algorithm lets any number of tasks wait for the same
slot, and revisits each at every event. Here a waiting task *books* the slot, so that the next task sees it as taken;
the bookings are renewed at each event, in the order of the queue. Within a run the longest task chooses first, so that
long tasks get stable machines. `literal` follows the paper: one task after the other in order of arrival. No task waits
longer than `max_wait` while there is room for it.

One decision considers groups of machines that have been stable for a similar time, and only those busy machines that
may free room early enough to matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind.model.units import HOUR, SECOND, Duration, Time
from tradewind.model.vector import Vector, covers, plus
from tradewind.policies.harvest.predictor import Predictor, Score, rounded
from tradewind.policies.harvest.rooms import MASK, Group, Rooms, Taken, Watch, has_room, queue
from tradewind.policies.protocol import Kind, Machine, Place, Unit, View

FEW = 16
"""Maximum number of machines with room that are examined one by one."""

FRESH = 10 * SECOND
"""How long the stability of machines counts as unchanged."""

SURE = Score(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the match maker decides."""

    delay: bool = True
    """Whether tasks may wait for a better machine."""
    literal: bool = False
    """Whether several tasks may wait for the same slot, as in the paper."""
    gain: float = 0.0
    """How much waiting must pay off, as a fraction."""
    max_wait: Duration = HOUR
    depth: int = 64
    """Maximum number of tasks of each need considered in one event."""


class Choice(NamedTuple):
    """A machine for a task."""

    machine: Machine
    time: float
    """Time until it is expected to finish."""
    score: Score


@dataclass(slots=True)
class Round:
    """Results shared by all tasks of one event."""

    now: Time
    taken: dict[int, Vector] = field(default_factory=dict)
    """Capacity booked by waiting tasks."""
    full: set[int] = field(default_factory=set)
    """Needs for which there is no room."""


@dataclass(slots=True)
class Ranking:
    """The ranking of machine groups for tasks of a length, valid while nothing changes and little time passes."""

    stamp: tuple[int, int]
    at: Time
    groups: dict[int, list[Group]] = field(default_factory=dict)
    """By kind."""
    ranked: dict[tuple[int, int], list[tuple[float, Score, Group]]] = field(default_factory=dict)
    """By kind and rounded length."""


class MatchMaker:
    """A placer that follows the predictor."""

    def __init__(self, predictor: Predictor, settings: Settings) -> None:
        self.predictor = predictor
        self._settings = settings
        self._watch = Watch()
        self._rankings: dict[int, Ranking] = {}
        """By pool."""
        self._waits: dict[int, Time] = {}
        """Since when tasks have waited although there was room for them."""

    def rank(self, unit: Unit) -> int:
        """Higher priorities first."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        """Start the tasks that should start now."""
        predictor = self.predictor
        for unit in view.freed():
            # The look-back must suit the longest task, or long tasks would look safe for lack of data.
            if unit.kinds:
                predictor.cover(view.estimate(unit, unit.kinds[0]))
        for change in view.changes():
            if not change.machine.kind.type.market.is_firm:
                predictor.observe(change)
                if not change.machine.is_up:
                    predictor.forget(change.machine.id)
        self._watch.follow(view)
        for pool in view.pools():
            if pool.waiting():
                rooms = self._watch.of(view, pool)
                predictor.refresh(view.now, rooms.machines())
                yield from self._serve(view, rooms)

    def _serve(self, view: View, rooms: Rooms) -> Iterator[Place]:
        depth = self._settings.depth
        while True:
            round_ = Round(view.now)
            placed = seen = 0
            for unit in self._queue(view, rooms):
                seen += 1
                if unit.need.index in round_.full:
                    continue
                choice = self._decide(view, rooms, unit, round_)
                if choice is None:
                    continue
                placed += 1
                self._waits.pop(unit.id, None)
                yield Place(unit, choice.machine, f"finishes there before a shrink with {choice.score.probability:.0%}")
                rooms.note_work(view, choice.machine)
            # Fewer than `depth` candidates means that the whole queue was considered.
            if not placed or seen < depth:
                return

    def _queue(self, view: View, rooms: Rooms) -> list[Unit]:
        """Return ready tasks in the order in which they choose."""
        found = queue(rooms.pool, self._settings.depth)
        if not self._settings.literal:
            # Longest first within a run: long tasks need the most stable machines.
            found.sort(key=lambda unit: (unit.rank, unit.run.id, -view.estimate(unit, unit.kinds[0]), unit.id))
        return found

    def _decide(self, view: View, rooms: Rooms, unit: Unit, round_: Round) -> Choice | None:
        """Return the machine on which a task should start now, if it should."""
        best = self.best(view, rooms, unit, round_)
        if best is None:
            # No room for this need: skip its other tasks in this round.
            round_.full.add(unit.need.index)
            return None
        settings = self._settings
        if not settings.delay or view.now - self._waits.get(unit.id, view.now) >= settings.max_wait:
            return best
        later = self._later(view, rooms, unit, round_, best.time * (1 - settings.gain))
        if later is None:
            return best
        self._waits.setdefault(unit.id, view.now)
        # Book the room on the busy machine, so that the next task does not wait for the same one.
        if not settings.literal:
            number = later.machine.id
            spoken = round_.taken.get(number)
            demand = unit.need.demand
            round_.taken[number] = demand if spoken is None else plus(spoken, demand)
        return None

    def best(self, view: View, rooms: Rooms, unit: Unit, round_: Round) -> Choice | None:
        """Return the best machine with room: the earliest finish if tasks may wait, otherwise the most likely one."""
        demand, taken = unit.need.demand, round_.taken
        if len(rooms.open) <= FEW:
            return self._best_of_few(view, rooms, unit, taken)
        best: Choice | None = None
        for kind in unit.kinds:
            length = view.estimate(unit, kind)
            for value, score, group in self._ranked(rooms, kind, rounded(length), round_):
                # Groups are sorted by value: no later group of this kind can be better.
                if best is not None and value >= self._value(best.score, best.time):
                    break
                machine = _roomiest(rooms, group, demand, taken)
                if machine is not None:
                    best = Choice(machine, _time(score, length, kind), score)
                    break
        return best

    def _best_of_few(self, view: View, rooms: Rooms, unit: Unit, taken: Taken) -> Choice | None:
        best: Choice | None = None
        for machine in list(rooms.open.values()):
            if not has_room(machine, unit.need.demand, taken):
                # Full machines are dropped lazily, when they are met.
                if not any(machine.free):
                    del rooms.open[machine.id]
                continue
            kind = machine.kind
            if kind not in unit.kinds:
                continue
            length = view.estimate(unit, kind)
            score = self._score(kind, machine.grew, rounded(view.now - machine.changed), rounded(length))
            choice = Choice(machine, _time(score, length, kind), score)
            value = self._value(score, choice.time)
            least = value if best is None else self._value(best.score, best.time)
            if best is None or value < least or (value == least and machine.free[1:] > best.machine.free[1:]):
                best = choice
        return best

    def _later(self, view: View, rooms: Rooms, unit: Unit, round_: Round, limit: float) -> Choice | None:
        """Return a machine worth waiting for, if the task would finish on it before a limit."""
        best: Choice | None = None
        now, demand = view.now, unit.need.demand
        lengths = {kind.index: view.estimate(unit, kind) for kind in unit.kinds}
        least = min(self._least(rooms, kind, rounded(lengths[kind.index]), round_) for kind in unit.kinds)
        for machine, wait in rooms.soon(now, limit - least):
            length = lengths.get(machine.kind.index)
            # Even the best conceivable score would be too late after this wait.
            if length is None or wait >= limit - least or covers(machine.free, demand):
                continue
            at = rooms.frees(machine, demand, round_.taken)
            if at is None:
                continue
            score = self._score(machine.kind, machine.grew, rounded(at - machine.changed), rounded(length))
            time = at - now + _time(score, length, machine.kind)
            if time < limit:
                best, limit = Choice(machine, time, score), time
        return best

    def _ranked(self, rooms: Rooms, kind: Kind, length: int, round_: Round) -> list[tuple[float, Score, Group]]:
        """Return groups of machines, best for tasks of a length first."""
        ranking = self._rankings.get(rooms.pool.index)
        stamp = (rooms.version, self.predictor.version)
        if ranking is None or ranking.stamp != stamp or round_.now - ranking.at > FRESH:
            ranking = self._rankings[rooms.pool.index] = Ranking(stamp, round_.now)
        key = (kind.index, length)
        found = ranking.ranked.get(key)
        if found is None:
            groups = ranking.groups.get(kind.index)
            if groups is None:
                groups = ranking.groups[kind.index] = list(rooms.groups(kind, round_.now))
            scored = []
            for group in groups:
                score = self._score(kind, group.grew, group.elapsed, length)
                scored.append((self._value(score, score.time), score, group))
            found = ranking.ranked[key] = sorted(scored, key=lambda each: each[0])
        return found

    def _least(self, rooms: Rooms, kind: Kind, length: int, round_: Round) -> float:
        """Return the expected time on the best machine of a kind, with or without room."""
        ranked = self._ranked(rooms, kind, length, round_)
        return ranked[0][1].time if ranked else float("inf")

    def _score(self, kind: Kind, grew: bool, elapsed: int, length: int) -> Score:
        return SURE if kind.type.market.is_firm else self.predictor.score(grew, elapsed, length)

    def _value(self, score: Score, time: float) -> float:
        return time if self._settings.delay else -score.probability


def _time(score: Score, length: Duration, kind: Kind) -> float:
    return length if kind.type.market.is_firm else score.time


def _roomiest(rooms: Rooms, group: Group, demand: Vector, taken: Taken) -> Machine | None:
    """Return the machine of a group with the most room, which absorbs most shrinks; mark full ones."""
    openings = rooms.open
    best: Machine | None = None
    most: Vector = ()
    for key in group.keys[group.first : group.last]:
        machine = openings.get(key & MASK)
        if machine is None:
            continue
        free = machine.free
        if not any(free):
            del openings[machine.id]
        elif (best is None or free[1:] > most) and has_room(machine, demand, taken):
            best, most = machine, free[1:]
    return best
