"""SlackSched's match maker (sections 3.1.2 and algorithm 1): each task goes where it is expected to end first.

A task may wait for a busy machine that is more stable. The paper's algorithm lets any number of tasks wait for the same
room, and revisits each at every event; here a task that waits *books* the room, so that the next one sees it as taken;
the bookings are made afresh at each event, in the order of the queue. Within a run the longest task chooses first: so
long tasks come to stable machines. `literal` is the paper's way: one task after the other as they come. No task waits
for longer than `max_wait` while there is room for it.

One decision looks at groups of machines that have been stable for about as long, and at those machines only that may
free room early enough to matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind.model.units import HOUR, SECOND, Duration, Time
from tradewind.policies.harvest.predictor import Predictor, Score, rounded
from tradewind.policies.harvest.rooms import MASK, Group, Rooms, Taken, Vector, Watch, covers, has_room, plus, queue
from tradewind.policies.protocol import Kind, Machine, Place, Unit, View

FEW = 16
"""Up to so many machines with room are looked at one by one."""

FRESH = 10 * SECOND
"""For how long machines count as being stable for as long as before."""

SURE = Score(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the match maker decides."""

    delay: bool = True
    """Whether tasks may wait for a better machine."""
    literal: bool = False
    """Whether several may wait for the same room, as in the paper."""
    gain: float = 0.0
    """By what share waiting must pay off."""
    max_wait: Duration = HOUR
    depth: int = 64
    """How many tasks of each need are looked at in one event."""


class Choice(NamedTuple):
    """A machine for a task."""

    machine: Machine
    time: float
    """Until it is expected to have ended."""
    score: Score


@dataclass(slots=True)
class Round:
    """What is worked out once for all tasks of one event."""

    now: Time
    taken: dict[int, Vector] = field(default_factory=dict)
    """What tasks that wait have booked."""
    full: set[int] = field(default_factory=set)
    """Needs for which there is no room."""


@dataclass(slots=True)
class Ranking:
    """How groups of machines rank for tasks of a length, while nothing changes and little time passes."""

    stamp: tuple[int, int]
    at: Time
    groups: dict[int, list[Group]] = field(default_factory=dict)
    """By kind."""
    ranked: dict[tuple[int, int], list[tuple[float, Score, Group]]] = field(default_factory=dict)
    """By kind and rounded length."""


class MatchMaker:
    """Places tasks by what the predictor expects."""

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
        """Start what should start now."""
        predictor = self.predictor
        for unit in view.freed():
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
                yield Place(unit, choice.machine, f"ends there before a shrink with {choice.score.probability:.0%}")
                rooms.note_work(view, choice.machine)
            if not placed or seen < depth:
                return

    def _queue(self, view: View, rooms: Rooms) -> list[Unit]:
        """Ready tasks in the order in which they choose."""
        found = queue(rooms.pool, self._settings.depth)
        if not self._settings.literal:
            found.sort(key=lambda unit: (-unit.run.priority, unit.run.id, -view.estimate(unit, unit.kinds[0]), unit.id))
        return found

    def _decide(self, view: View, rooms: Rooms, unit: Unit, round_: Round) -> Choice | None:
        """The machine on which a task should start now, if it should."""
        best = self.best(view, rooms, unit, round_)
        if best is None:
            round_.full.add(unit.need.index)
            return None
        settings = self._settings
        if not settings.delay or view.now - self._waits.get(unit.id, view.now) >= settings.max_wait:
            return best
        later = self._later(view, rooms, unit, round_, best.time * (1 - settings.gain))
        if later is None:
            return best
        self._waits.setdefault(unit.id, view.now)
        if not settings.literal:
            number = later.machine.id
            spoken = round_.taken.get(number)
            demand = unit.need.demand
            round_.taken[number] = demand if spoken is None else plus(spoken, demand)
        return None

    def best(self, view: View, rooms: Rooms, unit: Unit, round_: Round) -> Choice | None:
        """The best machine that has room now: soonest to end if tasks may wait, else surest."""
        demand, taken = unit.need.demand, round_.taken
        if len(rooms.open) <= FEW:
            return self._best_of_few(view, rooms, unit, taken)
        best: Choice | None = None
        for kind in unit.kinds:
            length = view.estimate(unit, kind)
            for value, score, group in self._ranked(rooms, kind, rounded(length), round_):
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
        """The machine worth waiting for, if there is one on which the task would end before a limit."""
        best: Choice | None = None
        now, demand = view.now, unit.need.demand
        lengths = {kind.index: view.estimate(unit, kind) for kind in unit.kinds}
        least = min(self._least(rooms, kind, rounded(lengths[kind.index]), round_) for kind in unit.kinds)
        for machine, wait in rooms.soon(now, limit - least):
            length = lengths.get(machine.kind.index)
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
        """Groups of machines, the best for tasks of a length first."""
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
        """What the best machine of a kind, with or without room, would take."""
        ranked = self._ranked(rooms, kind, length, round_)
        return ranked[0][1].time if ranked else float("inf")

    def _score(self, kind: Kind, grew: bool, elapsed: int, length: int) -> Score:
        return SURE if kind.type.market.is_firm else self.predictor.score(grew, elapsed, length)

    def _value(self, score: Score, time: float) -> float:
        return time if self._settings.delay else -score.probability


def _time(score: Score, length: Duration, kind: Kind) -> float:
    return length if kind.type.market.is_firm else score.time


def _roomiest(rooms: Rooms, group: Group, demand: Vector, taken: Taken) -> Machine | None:
    """The machine of a group with the most room, which bears most shrinks; full ones are noted as such."""
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
