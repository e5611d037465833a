"""The common base of Greedy and GAIN: each job is planned separately on arrival (Algorithm 4 of the SCS paper).

Types are chosen for a job as a whole; then its tasks get machines in topological order. `reading` selects the meaning
of the paper's "available instance": `reserve`, one that is free when the task is ready, otherwise a new one; or
`queue`, one on which the task may wait as long as it still meets its window. Both know the same estimates and the same
lag as SCS, and both acquire machines for later tasks in advance; otherwise no half-hour job would be on time. Machines
are returned under the same rule as in SCS.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.board import Board, ByBoard
from tradewind.policies.deadline.means import Means
from tradewind.policies.deadline.release import acquire_due, return_idle
from tradewind.policies.deadline.shape import NEVER, Shape, Shapes, is_plannable, rates
from tradewind.policies.deadline.track import Track
from tradewind.policies.parts.fastest import payable
from tradewind.policies.protocol import Foresee, Pool, Run, Scaling, Unit, View

Reading: TypeAlias = Literal["reserve", "queue"]


@dataclass(frozen=True, slots=True)
class RivalParameters:
    """The meaning of an available machine."""

    reading: Reading = field(
        default="reserve",
        metadata={"help": "reserve: a slot that is free now; queue: one to wait for until the latest start"},
    )
    patience: float = field(
        default=2.0, metadata={"help": "deadline for runs without one, in makespans on their fastest types"}
    )


class Target(NamedTuple):
    """The types on which a task may run, best first, and when it has to end."""

    kinds: Sequence[int]
    due: Time


class Rival(ABC):
    """A scaler that plans each job on arrival."""

    on_arrival = True

    def __init__(self, parameters: RivalParameters, placer: ByBoard) -> None:
        self._waits = parameters.reading == "queue"
        self._patience = parameters.patience
        self._placer = placer
        self._shapes = Shapes()
        self._planned: dict[int, Time | None] = {}
        """Runs on the board, with the deadlines they were planned for."""
        self._waiting: set[int] = set()
        """Runs for which not all machines were available."""
        self._late: set[int] = set()
        """Those of them that were reported as late."""
        self._prices: tuple[float, ...] = ()
        self._lag: Duration = 0

    def scale(self, view: View) -> Iterator[Scaling]:
        """Plan new runs, rent machines that are due, and return those that are no longer needed."""
        if self._placer.has_new_kinds(view):
            self._prices = rates([kind.type for kind in view.kinds])
            self._shapes = Shapes()
            self._planned.clear()
        self._lag = max(kind.type.boot.mean for kind in view.kinds)  # the mean may have been learned
        lacking = self._placer.catch_up(view).lacking | self._waiting
        self._waiting = set()
        for pool in view.pools():
            board = self._placer.boards[pool.index]
            with view.phase("plan"):
                fresh = [
                    run
                    for run in pool.runs.values()
                    if self._is_new(board, run) or (run.id in lacking and board.lacks(run.graph))
                ]
                self._waiting.update(run.id for run in fresh if not is_plannable(run))
                fresh = [run for run in fresh if run.id not in self._waiting]
                foreseen = [self._plan(view, pool, board, run) for run in fresh]
            yield from (each for each in foreseen if each is not None)
            yield from acquire_due(view, pool, board, self._waiting)
            yield from return_idle(view, pool, board)
        self._planned = {number: run.deadline for pool in view.pools() for number, run in pool.runs.items()}

    def _is_new(self, board: Board, run: Run) -> bool:
        """Return whether a run is unplanned, or was planned for another deadline and has to start over."""
        if run.id not in self._planned:
            return True
        if self._planned[run.id] == run.deadline:
            return False
        board.drop(unit.id for unit in run.graph if unit.machine is None)
        return True

    @abstractmethod
    def targets(self, shape: Shape, begin: Time, deadline: Time) -> list[Target]:
        """Return where each task of a job may run, and when it has to end."""

    def _plan(self, view: View, pool: Pool, board: Board, run: Run) -> Foresee | None:
        """Reserve machines for all tasks of a job that have not started, as far as available."""
        shape = self._shapes.of(view, run, payable(view, pool))
        begin = view.now + self._lag
        deadline = run.deadline
        if deadline is None:
            deadline = begin + round(self._patience * shape.tightest)
        ends: list[Time] = []
        waiting: set[int] = set()
        """Positions of tasks without a machine, and of all their successors."""
        for place, (unit, target) in enumerate(zip(run.graph, self.targets(shape, begin, deadline), strict=True)):
            if unit.is_ended:
                ends.append(view.now)
            elif unit.machine is not None:
                ends.append(unit.started + shape.times[place][unit.machine.kind.index])
            elif (end := board.end_of(unit.id)) is not None:
                ends.append(end)
            else:
                ready = max((ends[parent] for parent in shape.parents[place]), default=view.now)
                found = None
                if waiting.isdisjoint(shape.parents[place]):
                    found = self._reserve(view, pool, board, unit, shape.times[place], target, ready)
                if found is None:
                    waiting.add(place)
                ends.append(ready + shape.fastest[place] if found is None else found)
        if waiting:
            self._waiting.add(run.id)
        finish = max(ends, default=view.now)
        because = "once there are machines for all its tasks" if waiting else "as planned"
        return Foresee(run, finish, because) if self._is_news(run, finish, is_planned=not waiting) else None

    def _is_news(self, run: Run, finish: Time, *, is_planned: bool) -> bool:
        """Return whether to report the end of a run: while it waits for machines, only once, if it will be late."""
        if run.deadline is None:
            return False
        if is_planned:
            self._late.discard(run.id)
            return True
        is_news = finish > run.deadline and run.id not in self._late
        if is_news:
            self._late.add(run.id)
        return is_news

    def _reserve(
        self, view: View, pool: Pool, board: Board, unit: Unit, times: Sequence[Duration], target: Target, ready: Time
    ) -> Time | None:
        """Reserve the first held or new machine on which a task meets its window, and return its end."""
        for kind in target.kinds:
            for track in board.tracks[kind]:
                start = track.fit(ready, times[kind], unit.need.demand)
                if start + times[kind] <= target.due and (self._waits or start <= ready or start == track.opens):
                    board.reserve(track, start, times[kind], unit)
                    return start + times[kind]
        means = Means(view, pool, board)
        to_be_had = [kind for kind, time in enumerate(times) if time < NEVER and means.allow(kind)]
        able = [kind for kind in target.kinds if kind in to_be_had]
        if not able:
            end = self._queue(board, unit, times, ready)
            if end is not None or not to_be_had:
                return end
            able = to_be_had
        starts = {kind: max(ready, view.now + view.kinds[kind].type.boot.mean) for kind in able}
        in_time = [kind for kind in able if starts[kind] + times[kind] <= target.due]
        chosen = in_time[0] if in_time else min(able, key=lambda kind: starts[kind] + times[kind])
        start = starts[chosen]
        track = board.add(Track(view.kinds[chosen], start - view.kinds[chosen].type.boot.mean))
        board.reserve(track, start, times[chosen], unit)
        return start + times[chosen]

    def _queue(self, board: Board, unit: Unit, times: Sequence[Duration], ready: Time) -> Time | None:
        """Reserve the machine on which a task ends first, if no more are available; return None if there is none."""
        options = [
            (start + times[kind], place, track)
            for kind, tracks in enumerate(board.tracks)
            for place, track in enumerate(tracks)
            if times[kind] < NEVER and (start := track.fit(ready, times[kind], unit.need.demand)) < NEVER
        ]
        if not options:
            return None
        end, _, track = min(options, key=lambda option: option[:2])
        time = times[track.kind.index]
        board.reserve(track, end - time, time, unit)
        return end
