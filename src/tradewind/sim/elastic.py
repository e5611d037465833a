"""Shares of elastic units in virtual time: they work at the speed of their machine, report and deliver.

A share does its iterations in order, reports when it was told to or has nothing left to do, and delivers with each
report what it has done since the last one. Between two assignments only a kill can change anything about it, so each
report, with all tries it takes, is computed when it is planned. Reports take no time and never fail unless the
`Troubles` say so; then a share continues with what it holds while its report is on its way.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappush
from itertools import count
from math import ceil
from random import Random
from typing import NamedTuple, TypeAlias, cast

from tradewind.core.elastic import ranges
from tradewind.core.machines import LOST, RELEASED, Machine
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.model.backoff import Backoff
from tradewind.model.command import Assign
from tradewind.model.elastic import Delivery, Range
from tradewind.model.event import Event, Failed, Finished, MachineLost, Progressed
from tradewind.model.units import SECOND, Duration, Time
from tradewind.sim.noise import CALM, Noise
from tradewind.sim.runtimes import RunTimes
from tradewind.sim.troubles import NO_TROUBLES, Troubles

Pace: TypeAlias = Callable[[Unit, Machine], Noise]
"""How the speed of a share on a machine changes over time."""

_AGAIN = 5 * SECOND
"""A kill that finds nothing running is tried again after this long."""


def steady(_unit: Unit, _machine: Machine) -> Noise:
    """No change."""
    return CALM


class Slots:
    """Noise that belongs to the slots of a machine type: a new machine takes the first slot that is free."""

    def __init__(self, noises: dict[str, tuple[Noise, ...]]) -> None:
        self._noises = noises
        self._held: dict[str, dict[int, Machine]] = {}
        """By name of the type: which machine has which slot."""

    def __call__(self, _unit: Unit, machine: Machine) -> Noise:
        """Return the noise of the slot that a machine has."""
        name = machine.kind.type.name
        noises = self._noises.get(name)
        if not noises:
            return CALM
        held = self._held.setdefault(name, {})
        for gone in [slot for slot, each in held.items() if each.state in (RELEASED, LOST)]:
            del held[gone]
        mine = [slot for slot, each in held.items() if each is machine]
        slot = mine[0] if mine else next(each for each in count() if each not in held)
        held[slot] = machine
        return noises[slot % len(noises)]


class Killing(NamedTuple):
    """A kill to come; never reaches the core."""

    at: Time
    seq: int


@dataclass(slots=True)
class _Worker:
    attempt: int
    machine: int
    started: Time
    speed: float
    """Iterations per second."""
    noise: Noise
    at: Time
    """Up to when its progress is counted."""
    progress: float = 0.0
    limit: float = 0.0
    """Iterations that it may do by what it was told."""
    interval: Duration = 0
    due: Time = 0
    """When it has to report."""
    idle: Duration = 0
    """How long it had nothing to do because an answer was missing."""
    delivered: int = 0
    deliveries: int = 0
    is_dead: bool = False

    def advance(self, now: Time) -> None:
        """Count what it does until a time; once it has to report, it is idle when nothing is left to do."""
        work = self.limit - self.progress
        done = self.noise.done(self.speed, self.at, now)
        instant = self.speed / SECOND  # what it does in a microsecond; if less is left, all is done
        if done > work - instant:
            if now > self.due:
                ended = self.noise.reached(self.speed, self.at, work, now)
                self.idle += now - max(ended, self.due)
            self.progress = max(self.progress, self.limit)
        else:
            self.progress += done
        self.at = now


@dataclass(slots=True)
class Casualties:
    """What kills have cost."""

    killed: int = 0
    machines: int = 0
    """Of these, with their machine."""
    wasted: int = 0
    """Iterations that were done and not delivered."""
    dead: set[int] = field(default_factory=set)
    """Machines that are gone, but not yet declared lost."""


class Shares:
    """Plays the running shares of elastic units."""

    def __init__(
        self,
        state: State,
        heap: list[Event],
        next_seq: "count[int]",
        run_times: RunTimes,
        pace: Pace = steady,
        troubles: Troubles = NO_TROUBLES,
        seed: int = 0,
    ) -> None:
        self._state = state
        self._heap = heap
        self._next_seq = next_seq.__next__
        self._run_times = run_times
        self._pace = pace
        self._troubles = troubles
        self._random = Random(f"{seed}/shares")
        self._requests = 0
        self._unanswered: set[int] = set()
        """Reports that arrive without the share getting an answer."""
        self._workers: dict[int, _Worker] = {}
        """By unit; of an older attempt nothing is left when a new one starts."""
        self.casualties = Casualties()
        for at in troubles.kills:
            self._push(Killing(at, self._next_seq()))  # type: ignore[arg-type]  # taken out before the core

    def confirm(self, event: Progressed) -> bool:
        """Whether the attempt that was to report still runs."""
        unit = self._state.units.get(event.unit)
        if unit is None or not unit.runs(event.attempt, event.machine):
            return False
        return not self._is_dead(self._workers.get(event.unit))

    def _is_dead(self, worker: _Worker | None) -> bool:
        return worker is None or worker.is_dead or worker.machine in self.casualties.dead

    def assign(self, command: Assign) -> None:
        """Let a share hear what it is to do, and plan its next report, or its end."""
        at, cause, number, attempt, machine, held, interval, what = command
        if cause in self._unanswered:
            self._unanswered.remove(cause)
            return
        calls = self._troubles.calls
        worker = self._workers.get(number)
        if worker is None or worker.attempt != attempt:
            worker = self._workers[number] = self._start(number, attempt, machine, at)
            heard = self._answered(at)[0]
            worker.at = worker.due = heard
            if not calls.is_counted:
                worker.started = heard
        else:
            heard = at + calls.latency - calls.latency // 2
            worker.advance(heard)
        if what == "end" and (int(worker.progress) <= worker.delivered or not held):
            del self._workers[number]
            finished = self._answered(heard)[1]
            self._push(Finished(finished, self._next_seq(), number, attempt, machine))
            return
        worker.limit = worker.delivered + ranges.size(held)
        worker.interval = interval
        self._plan(worker, number, held, what == "go", is_last=what == "end")

    def _plan(self, worker: _Worker, number: int, held: tuple[Range, ...], is_going: bool, *, is_last: bool) -> None:
        """Compute the next report: when told to, or as soon as nothing is left to do."""
        calls, now = self._troubles.calls, worker.at
        due = now if is_last else now + worker.interval
        if is_going:
            work = worker.limit - worker.progress - worker.speed / SECOND / 2
            due = max(now + 1, worker.noise.reached(worker.speed, now, work, due))
        worker.due = due
        if calls.are_instant and (up := self._troubles.up_from(due)) > due:
            due = up + self._random.randrange(SECOND)
        worker.advance(due)
        done = int(worker.progress)
        given = _first(held, done - worker.delivered)
        worker.deliveries += bool(given)
        worker.delivered = done
        elapsed = due - worker.started - (0 if calls.is_counted else worker.idle)
        ahead = 0
        if not calls.are_instant:
            if not (calls.is_blocking or is_last):
                ahead = ceil(worker.speed * worker.noise.at(due) * worker.interval / SECOND)
            worker.limit = max(worker.progress, min(worker.limit, done + ahead))
            worker.due = due
        delivered = (Delivery(worker.deliveries, given),) if given else ()
        facts = (number, worker.attempt, worker.machine, done, elapsed, delivered, ahead)
        arrived, lost = self._sent(due)
        for when in lost:
            seq = self._next_seq()
            self._unanswered.add(seq)
            self._push(Progressed(when, seq, *facts))
        self._push(Progressed(arrived, self._next_seq(), *facts))

    def _answered(self, at: Time) -> tuple[Time, Time]:
        """When the answer to a request of no interest in itself is heard, and when the request arrives."""
        calls = self._troubles.calls
        if calls.are_instant:
            return at, at
        arrived, _ = self._sent(at)
        return arrived + calls.latency - calls.latency // 2, arrived

    def _sent(self, at: Time) -> tuple[Time, list[Time]]:
        """When a request arrives and is answered, after all tries that it takes; and when it arrives without that."""
        calls, lost = self._troubles.calls, list[Time]()
        if calls.are_instant:
            return at, lost
        backoff = Backoff(self._random.random, self._troubles.silence)
        while self._fails(at):
            if self._troubles.up_from(at) == at and self._random.random() < calls.arriving:
                lost.append(at + calls.latency // 2)
            at += calls.timeout + backoff.pause()
        return at + calls.latency // 2, lost

    def _fails(self, at: Time) -> bool:
        calls = self._troubles.calls
        self._requests += 1
        is_down = self._troubles.up_from(at) > at
        is_every = calls.every > 0 and self._requests % calls.every == 0
        return is_down or is_every or self._random.random() < calls.failing

    def _start(self, number: int, attempt: int, machine: int, at: Time) -> _Worker:
        unit = self._state.units[number]
        where = self._state.machines[machine]
        iterations = unit.division.iterations if unit.division is not None else 1
        time = max(1, self._run_times(unit, where.kind))
        return _Worker(attempt, machine, at, iterations * SECOND / time, self._pace(unit, where), at)

    def kill(self, event: Killing) -> bool:
        """Let a running share die, alone or with its machine; nothing of this reaches the core until it is noticed."""
        alive = [number for number in sorted(self._workers) if self._runs(number)]
        if not alive:
            self._push(Killing(event.at + _AGAIN, self._next_seq()))  # type: ignore[arg-type]
            return False
        number = self._random.choice(alive)
        unit, worker = self._state.units[number], self._workers[number]
        self.casualties.killed += 1
        self.casualties.wasted += max(0, self._done_by(worker, event.at) - cast("int", unit.elastic.delivered))  # type: ignore[union-attr]
        troubles = self._troubles
        worker.is_dead = True
        if self._random.random() < troubles.noticed:
            at, where = event.at + troubles.revival, worker.machine
            self._push(Failed(at, self._next_seq(), number, worker.attempt, where, "it was killed", "lost"))
        else:
            self.casualties.machines += 1
            self.casualties.dead.add(worker.machine)
            self._push(MachineLost(event.at + troubles.silence, self._next_seq(), worker.machine, "it fell silent"))
        return False

    def _runs(self, number: int) -> bool:
        unit, worker = self._state.units.get(number), self._workers[number]
        return unit is not None and unit.runs(worker.attempt, worker.machine) and not self._is_dead(worker)

    def _done_by(self, worker: _Worker, now: Time) -> int:
        """How many iterations a share has done by a time before its next report."""
        ahead = worker.noise.done(worker.speed, now, worker.at) if now < worker.at else 0.0
        return int(max(0.0, worker.progress - ahead))

    def _push(self, event: Event) -> None:
        heappush(self._heap, event)


def _first(held: tuple[Range, ...], many: int) -> tuple[Range, ...]:
    """Return the first iterations of those held."""
    found: list[Range] = []
    for begin, end in held:
        if many <= 0:
            break
        found.append((begin, min(end, begin + many)))
        many -= end - begin
    return tuple(found)
