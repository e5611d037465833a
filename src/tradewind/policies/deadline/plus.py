"""SCS+: deadlines at the least cost by asking what-if, with the same information as SCS.

Each job is planned as it comes, on the tracks that are there: held machines, machines already planned, new ones.
Several plans are tried out on copies of the tracks, and the one that adds the least to the bill is kept.

With exact estimates no deadline is missed that new machines of the fastest types could meet: each task ends early
enough for all that follow it to run on their fastest types. Where reality strays too far for that, what has not started
is planned again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from tradewind.model.units import Duration, Time
from tradewind.policies.deadline.board import Board, ByBoard
from tradewind.policies.deadline.demand import Demand
from tradewind.policies.deadline.quotes import Quotes
from tradewind.policies.deadline.release import acquire_due, return_idle
from tradewind.policies.deadline.row import Row
from tradewind.policies.deadline.shape import Shape, Shapes, rates
from tradewind.policies.deadline.trial import Trial
from tradewind.policies.deadline.whatif import WhatIf
from tradewind.policies.protocol import Foresee, Offer, Policy, Pool, Run, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """How careful it is."""

    margin: float = field(
        default=0.0, metadata={"help": "part of the time left, after the lag, that plans keep clear of the deadline"}
    )
    patience: float = field(
        default=2.0, metadata={"help": "time for runs without a deadline, in makespans on their fastest types"}
    )

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 1:
            raise ValueError("margin must be at least 0 and below 1")
        if self.patience < 1:
            raise ValueError("patience must be at least 1")


class Plus:
    """Plans each job where it adds the least to the bill."""

    on_arrival = True

    def __init__(self, parameters: Parameters, placer: ByBoard) -> None:
        self._parameters = parameters
        self._placer = placer
        self._shapes = Shapes()
        self._planned: dict[int, bool | None] = {}
        """Runs that are on the board, and whether they were thought to be late."""
        self._prices: tuple[float, ...] = ()
        self._lag: Duration = 0
        self._waiting: set[int] = set()
        """Runs for which no machine was to be had."""
        self._demand: dict[int, Demand] = {}
        """By tenant."""
        self._known: dict[int, Shape] = {}
        """The classes of the runs that are on the board."""
        self._deadlines: dict[int, Time | None] = {}
        """What they were planned for."""

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
                    if run.id not in self._planned
                    or run.deadline != self._deadlines[run.id]
                    or (run.id in touched and self._has_strayed(board, run))
                ]
                foreseen = [each for run in fresh if (each := self._plan(view, pool, board, run)) is not None]
            yield from foreseen
            yield from acquire_due(view, pool, board, view.interval)
            yield from return_idle(view, pool, board)
        self._forget(view)

    def _forget(self, view: View) -> None:
        """Runs that have ended are of no interest any more."""
        if len(self._planned) > sum(len(pool.runs) for pool in view.pools()):
            runs = {number for pool in view.pools() for number in pool.runs}
            for number in self._planned.keys() - runs:
                del self._planned[number], self._known[number], self._deadlines[number]

    def _has_strayed(self, board: Board, run: Run) -> bool:
        """Whether a run is no longer planned as a whole, or so late that what follows cannot make up for it."""
        if board.lacks(run):
            return True
        if run.deadline is None:
            return False
        tails = self._known[run.id].tails
        ends = ((board.end_of(unit.id), tail) for unit, tail in zip(run.units, tails, strict=True))
        return any(end is not None and end + tail > run.deadline for end, tail in ends)

    def _plan(self, view: View, pool: Pool, board: Board, run: Run) -> Foresee | None:
        shape = self._shapes.of(view, run)
        deadline = run.deadline
        if deadline is None:
            deadline = view.now + self._lag + round(self._parameters.patience * shape.tightest)
        demand = self._demand.setdefault(pool.index, Demand(len(view.kinds)))
        quotes = Quotes(view.kinds, self._prices, demand.loads(view.now))
        if run.id not in self._planned:
            demand.note(view.now, shape, self._prices, deadline - view.now - self._lag)
        for unit in run.units:
            if unit.machine is None:
                board.drop(unit.id)
        kept = round(self._parameters.margin * max(0, deadline - view.now - self._lag))
        tries = WhatIf(view, board, run, shape, quotes)
        best = tries.best(deadline - kept) or (tries.best(deadline) if kept else None) or tries.hurried()
        was_late = self._planned.get(run.id) if self._deadlines.get(run.id) == run.deadline else None
        self._known[run.id], self._deadlines[run.id] = shape, run.deadline
        if best is None:
            self._waiting.add(run.id)
            self._planned.setdefault(run.id, None)
            return None
        _keep(board, run, best, tries.rows)
        demand.use(view.now, _work(best, len(view.kinds)))
        running = (board.end_of(unit.id) for unit in run.units if unit.machine is not None)
        ends = chain((put.begin + put.time for put in best.puts), (end for end in running if end is not None))
        finish = max(ends, default=view.now)
        is_late = None if run.deadline is None else finish > run.deadline
        self._planned[run.id] = is_late
        if is_late is None or is_late == was_late:
            return None
        return Foresee(run, finish, "as fast as can be" if is_late else "as planned")


def _keep(board: Board, run: Run, plan: Trial, begun: Sequence[Row]) -> None:
    """Put a plan into force, given the tracks it was begun on."""
    for put in plan.puts:
        there, tried = begun[put.kind].tracks, plan.rows[put.kind].tracks
        board.of_unit[run.units[put.place].id] = (there if put.track < len(there) else tried)[put.track]
    for row, tried_row in zip(begun, plan.rows, strict=True):
        if tried_row is not row:
            there, tried = row.tracks, tried_row.tracks
            new = tried[len(there) :]
            for track, copy in zip(there, tried, strict=False):
                if copy is not track:
                    track.become(copy)
                    board.write(track)
            for track in new:
                board.add(track)


def _work(plan: Trial, kinds: int) -> list[Duration]:
    work = [0] * kinds
    for put in plan.puts:
        work[put.kind] += put.time
    return work


def _build(parameters: Parameters) -> Policy:
    placer = ByBoard()
    return Policy("scs+", Plus(parameters, placer), placer)


OFFER = Offer(
    name="scs+",
    summary="deadlines at the least cost, by trying plans out on what is paid already (needs run-time estimates)",
    parameters=Parameters,
    build=_build,
)
