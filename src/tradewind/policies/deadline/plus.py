"""SCS+: meet deadlines at the lowest cost by asking what-if, with the same information as SCS.

Each job is planned on arrival, on the available tracks: held machines, planned machines and new ones. Several plans are
tried out on the tracks, and the one that adds least to the bill is kept.

With exact estimates, no deadline is missed that new machines of the fastest types could meet: each task ends early
enough for its successors to run on their fastest types. If reality differs too much, everything that has not started is
replanned. A run that is late anyway is replanned each time a quarter of it has finished, in case it can do better by
then; all its plans together cost only a few times as much as the first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.board import Board, ByBoard
from tradewind.policies.deadline.demand import Demand
from tradewind.policies.deadline.quotes import Quotes
from tradewind.policies.deadline.release import acquire_due, return_idle
from tradewind.policies.deadline.shape import Shape, Shapes, is_plannable, rates
from tradewind.policies.deadline.track import Track
from tradewind.policies.deadline.trial import NEW, Put
from tradewind.policies.deadline.whatif import WhatIf, risks
from tradewind.policies.parts.fastest import payable
from tradewind.policies.protocol import Confine, Foresee, Kind, Offer, Policy, Pool, Run, Scaling, View

_AGAIN = 0.75
"""A run that is late anyway is replanned when at most this fraction of its last remaining work is left."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """How careful it is."""

    margin: float = field(
        default=0.0,
        metadata={"help": "fraction of the remaining time, after the lag, to keep in reserve before the deadline"},
    )
    patience: float = field(
        default=2.0, metadata={"help": "deadline for runs without one, in makespans on their fastest types"}
    )

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 1:
            raise ValueError("margin must be at least 0 and below 1")
        if self.patience < 1:
            raise ValueError("patience must be at least 1")


class Plus:
    """A scaler that plans each job where it adds least to the bill."""

    on_arrival = True

    def __init__(self, parameters: Parameters, placer: ByBoard) -> None:
        self._parameters = parameters
        self._placer = placer
        self._shapes = Shapes()
        self._planned: dict[int, bool | None] = {}
        """Runs on the board, and whether they were predicted to be late."""
        self._prices: tuple[float, ...] = ()
        self._kinds: Sequence[Kind] = ()
        self._is_firm = True
        """Whether no machine can change in size or be reclaimed."""
        self._lag: Duration = 0
        self._detour: Duration = 0
        """Time to notice that another placer has taken a machine, and to rent one more."""
        self._waiting: set[int] = set()
        """Runs for which not all machines were available."""
        self._demand: dict[int, Demand] = {}
        """By tenant."""
        self._known: dict[int, Shape] = {}
        """The classes of the runs on the board."""
        self._deadlines: dict[int, Time | None] = {}
        """The deadlines they were planned for."""
        self._left: dict[int, int] = {}
        """The number of their unfinished units at that time."""
        self._at_risk: set[int] = set()
        """Runs whose plan leaves too little time somewhere."""
        self._delayed: dict[int, set[int]] = {}
        """By run, units whose end was found to differ from the estimate since the run was last judged."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """Plan new runs, rent machines that are due, and return those that are no longer needed."""
        if self._placer.has_new_kinds(view):
            self._begin(view)
        self._lag = max(kind.type.boot.mean for kind in view.kinds)  # the mean may have been learned
        self._detour = 0 if self._placer.is_binding else view.interval + self._lag
        changes = self._placer.catch_up(view)
        changes.lacking |= self._waiting
        for number, units in changes.delayed.items():
            self._delayed.setdefault(number, set()).update(units)
        if not self._placer.is_binding:  # another placer may have put anything anywhere
            changes.touched = changes.lacking = {number for pool in view.pools() for number in pool.runs}
        self._waiting = set()
        for pool in view.pools():
            board = self._placer.boards[pool.index]
            with view.phase("plan"):
                fresh = [
                    run
                    for run in pool.runs.values()
                    if run.id not in self._planned
                    or run.deadline != self._deadlines[run.id]
                    or (run.id in changes.lacking and board.lacks(run.graph))
                    or (run.id in changes.touched and self._has_strayed(board, run))
                ]
                self._waiting.update(run.id for run in fresh if not is_plannable(run))
                fresh = [run for run in fresh if run.id not in self._waiting]
                foreseen = [each for run in fresh if (each := self._plan(view, pool, board, run)) is not None]
            yield from foreseen
            yield from self._confine(view, board, fresh)
            yield from acquire_due(view, pool, board, self._waiting)
            yield from return_idle(view, pool, board)
        self._forget(view)

    def _begin(self, view: View) -> None:
        """Plan everything afresh, for these machine types."""
        self._prices = rates([kind.type for kind in view.kinds])
        self._kinds = view.kinds
        self._is_firm = all(kind.type.market.is_firm for kind in view.kinds)
        self._shapes = Shapes()
        for known in (self._demand, self._planned, self._known, self._deadlines, self._left, self._delayed):
            known.clear()
        self._at_risk.clear()

    def _forget(self, view: View) -> None:
        """Forget runs that have ended."""
        if len(self._planned) > sum(len(pool.runs) for pool in view.pools()):
            runs = {number for pool in view.pools() for number in pool.runs}
            for number in self._planned.keys() - runs:
                del self._planned[number], self._known[number], self._deadlines[number], self._left[number]
                self._at_risk.discard(number)
                self._delayed.pop(number, None)

    def _has_strayed(self, board: Board, run: Run) -> bool:
        """Return whether a run is too late for its successors to catch up, or was late and may do better now."""
        if run.deadline is None:
            return False
        if self._planned[run.id]:
            return run.left <= self._left[run.id] * _AGAIN
        if run.id in self._at_risk or len(run.graph) != len(self._known[run.id].times):
            return True
        delayed = self._delayed.pop(run.id, None)
        if delayed is None:
            return False
        ends = (
            (place, track.kind.index, end)
            for place, unit in enumerate(run.graph)
            if unit.id in delayed
            and (track := board.of_unit.get(unit.id)) is not None
            and (end := board.end_of(unit.id)) is not None
        )
        return self._is_tight(run, ends, self._detour)

    def _is_tight(self, run: Run, ends: Iterable[tuple[int, int, Time]], detour: Duration = 0) -> bool:
        """Return whether task ends leave too little time for their successors, or for a rerun.

        `detour`: additional time for a task that has not started.
        """
        shape = self._known[run.id]
        kept = self._risks(shape)
        for place, kind, end in ends:
            tail = shape.tails[place]
            if run.graph[place].machine is None:
                tail += detour
                if kept is not None:
                    tail += kept[place][kind]  # time to rerun it
            if run.deadline is not None and end + tail > run.deadline:
                return True
        return False

    def _risks(self, shape: Shape) -> Sequence[Sequence[Duration]] | None:
        """Return the time to keep after the end of each task, if any machine may vanish."""
        if self._is_firm:
            return None
        found = shape.memory.get("risks")
        if found is None:
            found = shape.memory["risks"] = risks(self._kinds, shape)
        return cast("Sequence[Sequence[Duration]]", found)

    def _confine(self, view: View, board: Board, runs: Sequence[Run]) -> Iterator[Confine]:
        """Keep units without time for a rerun off machines that may vanish, under any placer."""
        for run in runs if not self._is_firm else ():
            shape = self._known.get(run.id)
            if shape is None or run.deadline is None:
                continue
            kept = self._risks(shape) or ()
            for place, unit in enumerate(run.graph):
                track = board.of_unit.get(unit.id)
                if track is None or unit.machine is not None or not track.kind.type.market.is_firm:
                    continue
                begin = max(view.now, (board.end_of(unit.id) or 0) - shape.times[place][track.kind.index])
                latest = run.deadline - shape.tails[place]
                risky = [kind for kind in unit.kinds if not kind.type.market.is_firm]
                if risky and all(
                    begin + shape.times[place][kind.index] + kept[place][kind.index] > latest for kind in risky
                ):
                    yield Confine(unit, "its deadline leaves no time to rerun it")

    def _plan(self, view: View, pool: Pool, board: Board, run: Run) -> Foresee | None:
        shape = self._shapes.of(view, run, payable(view, pool))
        deadline = run.deadline
        if deadline is None:
            deadline = view.now + self._lag + round(self._parameters.patience * shape.tightest)
        demand = self._demand.setdefault(pool.index, Demand([kind.type.slots for kind in view.kinds]))
        quotes = Quotes(view.kinds, self._prices, demand.loads(view.now))
        if run.id not in self._planned:
            demand.note(view.now, shape, self._prices, deadline - view.now - self._lag)
        board.drop(unit.id for unit in run.graph if unit.machine is None)
        kept = round(self._parameters.margin * max(0, deadline - view.now - self._lag)) + self._detour
        tries = WhatIf(view, pool, board, run, shape, quotes)
        best = tries.best(deadline - kept) or (tries.best(deadline) if kept else None) or tries.hurried(deadline)
        was_late = self._planned.get(run.id) if self._deadlines.get(run.id) == run.deadline else None
        self._known[run.id], self._deadlines[run.id], self._left[run.id] = shape, run.deadline, run.left
        if best is None:
            self._waiting.add(run.id)
            self._planned.setdefault(run.id, None)
            return None
        puts = best.puts()
        _keep(view, board, run, puts)
        demand.use(view.now, _work(puts, shape, len(view.kinds)))
        finish = _finish(view, board, run, shape, puts)
        self._at_risk.discard(run.id)
        self._delayed.pop(run.id, None)
        if self._is_tight(run, ((put.place, put.kind, put.begin + put.time) for put in puts)):
            self._at_risk.add(run.id)
        waiting = tries.waiting(puts)
        if waiting:
            self._waiting.add(run.id)
        is_late = None if run.deadline is None else finish > run.deadline
        if waiting and not is_late:  # not enough is known yet
            self._planned.setdefault(run.id, None)
            return None
        self._planned[run.id] = is_late
        if is_late is None or is_late == was_late:
            return None
        because = "as fast as possible" if is_late else "as planned"
        return Foresee(run, finish, "once there are machines for all its tasks" if waiting else because)


def _finish(view: View, board: Board, run: Run, shape: Shape, plan: Sequence[Put]) -> Time:
    """Estimate the end of a run, assuming that unplanned tasks get their fastest machine when they are ready."""
    planned = {put.place: put.begin + put.time for put in plan}
    ends: list[Time] = []
    for place, unit in enumerate(run.graph):
        end = planned.get(place)
        if end is None and unit.machine is not None:
            end = board.end_of(unit.id)
        if end is None and not unit.is_ended:
            end = shape.fastest[place] + max([ends[parent] for parent in shape.parents[place]], default=view.now)
        ends.append(view.now if end is None else end)
    return max(ends, default=view.now)


def _keep(view: View, board: Board, run: Run, plan: Sequence[Put]) -> None:
    """Put a plan on the board."""
    written: dict[int, Track] = {}
    for put in plan:
        unit, kind, tracks = run.graph[put.place], view.kinds[put.kind], board.tracks[put.kind]
        track = board.add(Track(kind, put.begin - kind.type.boot.mean)) if put.track == NEW else tracks[put.track]
        track.reserve(put.begin, put.time, unit.id, unit.need.demand)
        board.of_unit[unit.id] = written[id(track)] = track
    for track in written.values():
        board.write(track)


def _work(plan: Sequence[Put], shape: Shape, kinds: int) -> list[Duration]:
    """Return the slot time that a plan takes on each machine type."""
    work = [0] * kinds
    for put in plan:
        work[put.kind] += shape.work[put.place][put.kind]
    return work


def _build(parameters: Parameters) -> Policy:
    placer = ByBoard()
    return Policy("scs+", Plus(parameters, placer), placer, looks_ahead=True)


OFFER = Offer(
    name="scs+",
    summary="deadlines at the lowest cost, by trying plans on machines already paid for (needs run-time estimates)",
    parameters=Parameters,
    build=_build,
)
