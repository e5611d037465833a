"""What Greedy and GAIN share: each job is planned on its own, at once, as it comes (Algorithm 4 of the SCS paper).

Types are chosen for a job as a whole, then its tasks get machines in order of their parents. `reading` says what the
paper's "available instance" means: `reserve`, one that is free at the moment the task is ready, else a new one; or
`queue`, one on which the task may wait as long as it still ends in its window. Both know the same estimates and the
same lag as SCS, and both acquire machines for later tasks ahead, for else no job of half an hour would be in time.
Machines go back under the same rule as in SCS.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.board import Board, ByBoard
from tradewind.policies.deadline.release import acquire_due, return_idle
from tradewind.policies.deadline.shape import NEVER, Shape, Shapes, rates
from tradewind.policies.deadline.track import Track
from tradewind.policies.protocol import Foresee, Run, Scaling, View

Reading: TypeAlias = Literal["reserve", "queue"]


@dataclass(frozen=True, slots=True)
class RivalParameters:
    """What counts as an available machine."""

    reading: Reading = field(
        default="reserve", metadata={"help": "a slot free at once, or one to wait for (queue) until the latest start"}
    )
    patience: float = field(
        default=2.0, metadata={"help": "time for runs without a deadline, in makespans on their fastest types"}
    )


class Target(NamedTuple):
    """Where a task may run, best first, and when it has to end."""

    kinds: Sequence[int]
    due: Time


class Rival(ABC):
    """Plans each job as it comes."""

    on_arrival = True

    def __init__(self, parameters: RivalParameters, placer: ByBoard) -> None:
        self._waits = parameters.reading == "queue"
        self._patience = parameters.patience
        self._placer = placer
        self._shapes = Shapes()
        self._planned: dict[int, Time | None] = {}
        """Runs that are on the board, and for which deadline."""
        self._waiting: set[int] = set()
        """Runs for which no machine was to be had."""
        self._prices: tuple[float, ...] = ()
        self._lag: Duration = 0

    def scale(self, view: View) -> Iterator[Scaling]:
        """Plan what has come, rent what is due, return what nobody needs."""
        if not self._prices:
            self._prices = rates([kind.type for kind in view.kinds])
        self._lag = max(kind.type.boot.mean for kind in view.kinds)  # it may have been learned
        touched = self._placer.catch_up(view) | self._waiting
        self._waiting = set()
        for pool in view.pools():
            board = self._placer.boards[pool.index]
            with view.phase("plan"):
                fresh = [
                    run
                    for run in pool.runs.values()
                    if self._is_new(board, run) or (run.id in touched and board.lacks(run))
                ]
                foreseen = [self._plan(view, board, run) for run in fresh]
            yield from (each for each in foreseen if each is not None)
            yield from acquire_due(view, pool, board, view.interval)
            yield from return_idle(view, pool, board)
        self._planned = {number: run.deadline for pool in view.pools() for number, run in pool.runs.items()}

    def _is_new(self, board: Board, run: Run) -> bool:
        """Whether a run has not been planned yet, or for another deadline, and then begins anew."""
        if run.id not in self._planned:
            return True
        if self._planned[run.id] == run.deadline:
            return False
        for unit in run.units:
            if unit.machine is None:
                board.drop(unit.id)
        return True

    @abstractmethod
    def targets(self, shape: Shape, begin: Time, deadline: Time) -> list[Target]:
        """Where each task of a job may run, and when it has to end."""

    def _plan(self, view: View, board: Board, run: Run) -> Foresee | None:
        """Reserve machines for all that has not started of a job, as far as there are any."""
        shape = self._shapes.of(view, run)
        begin = view.now + self._lag
        deadline = run.deadline
        if deadline is None:
            deadline = begin + round(self._patience * shape.tightest)
        ends: list[Time] = []
        for place, (unit, target) in enumerate(zip(run.units, self.targets(shape, begin, deadline), strict=True)):
            if unit.is_ended:
                ends.append(view.now)
            elif unit.machine is not None:
                ends.append(unit.started + shape.times[place][unit.machine.kind.index])
            elif (end := board.end_of(unit.id)) is not None:
                ends.append(end)
            else:
                ready = max((ends[parent] for parent in shape.parents[place]), default=view.now)
                found = self._reserve(view, board, unit.id, shape.times[place], target, ready)
                if found is None:
                    self._waiting.add(run.id)
                    return None
                ends.append(found)
        finish = max(ends, default=view.now)
        return Foresee(run, finish, "as planned") if run.deadline is not None else None

    def _reserve(
        self, view: View, board: Board, unit: int, times: Sequence[Duration], target: Target, ready: Time
    ) -> Time | None:
        """Give a task the first machine on which it ends in its window, held or new; when it ends there."""
        for kind in target.kinds:
            for track in board.tracks[kind]:
                start, lane = track.fit(ready, times[kind])
                if start + times[kind] <= target.due and (self._waits or start <= ready or start == track.opens):
                    board.reserve(track, lane, start, times[kind], unit)
                    return start + times[kind]
        able = [kind for kind in target.kinds if times[kind] < NEVER and board.room(view, view.kinds[kind]) > 0]
        if not able:
            return self._queue(board, unit, times, ready)
        starts = {kind: max(ready, view.now + view.kinds[kind].type.boot.mean) for kind in able}
        in_time = [kind for kind in able if starts[kind] + times[kind] <= target.due]
        chosen = in_time[0] if in_time else min(able, key=lambda kind: starts[kind] + times[kind])
        start = starts[chosen]
        track = board.add(Track(view.kinds[chosen], start - view.kinds[chosen].type.boot.mean))
        board.reserve(track, 0, start, times[chosen], unit)
        return start + times[chosen]

    def _queue(self, board: Board, unit: int, times: Sequence[Duration], ready: Time) -> Time | None:
        """Where no machine is to be had any more, give a task the slot where it ends first; None if there is none."""
        options = [
            (track.fit(ready, times[kind])[0] + times[kind], place, track)
            for kind, tracks in enumerate(board.tracks)
            for place, track in enumerate(tracks)
            if times[kind] < NEVER
        ]
        if not options:
            return None
        _, _, track = min(options, key=lambda option: option[:2])
        time = times[track.kind.index]
        start, lane = track.fit(ready, time)
        board.reserve(track, lane, start, time, unit)
        return start + time
