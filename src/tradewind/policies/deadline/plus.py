"""SCS+: deadlines at the least cost by asking what-if, with the same information as SCS.

Each job is planned as it comes, on the tracks that are there: held machines, machines already planned, new ones.
Several plans are tried out on copies of the tracks, and the one that adds the least to the bill is kept.

What an option adds to the bill depends on whether spare paid time will be of use to others. With a chance `u` that it
will, opening n periods at price p for work that takes a share t of one adds (1-u) n p + u t p: whole periods where
little comes, plain time x price where machines are never idle. Each type's `u` follows the work that has come of late.

With exact estimates no deadline is missed that new machines of the fastest types could meet: each task ends early
enough for all that follow it to run on their fastest types. Where reality strays too far for that, what has not started
is planned again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from heapq import nsmallest
from typing import NamedTuple, cast

from tradewind.model.units import HOUR, MINUTE, Duration, Time
from tradewind.policies.deadline.board import Board, ByBoard, Track
from tradewind.policies.deadline.demand import Demand, cheapest_plan, useful
from tradewind.policies.deadline.release import acquire_due, return_idle
from tradewind.policies.deadline.shape import NEVER, Shape, Shapes, longest_tails, rates
from tradewind.policies.deadline.windows import spread
from tradewind.policies.protocol import Foresee, Kind, Offer, Policy, Pool, Run, Scaling, View

_DOUBT = 0.3
"""Load, in machines, that has to be left over before another machine counts as kept busy by what comes."""
_SPARE = 1.3
"""What work on such a machine costs, as a multiple of time x price, for no machine is always at work."""
_DOUBT = 0.3
"""Load, in machines, that has to be left over before another machine counts as kept busy by what comes."""
_SPARE = 1.3
"""What work on such a machine costs, as a multiple of time x price, for no machine is always at work."""
_NEAR = 64
"""Of each machine type so many tracks are looked at for a job: the oldest, and those that are free first."""


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


class Put(NamedTuple):
    """A task on a track of a trial."""

    place: int
    track: Track
    lane: int
    begin: Time
    time: Duration


class Trial:
    """A plan of one job, tried out on copies of the tracks."""

    def __init__(self) -> None:
        self.copies: dict[int, tuple[Track, Track]] = {}
        """Tracks of the board and their copies, by the identity of the former."""
        self.new: list[Track] = []
        self.puts: list[Put] = []
        self.cost = 0.0

    def seen(self, track: Track) -> Track:
        """The track as this trial has left it."""
        found = self.copies.get(id(track))
        return track if found is None else found[1]

    def touch(self, track: Track) -> Track:
        """A copy of a track to write on."""
        found = self.copies.get(id(track))
        if found is None:
            found = self.copies[id(track)] = (track, track.copy())
        return found[1]


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
        self._useful: Sequence[float] = ()
        self._loads: Sequence[float] = ()
        self._near: list[list[Track]] = []
        self._room: list[int] = []
        self._hourly: tuple[float, ...] = ()
        """The price of a machine of each type, with all its slots."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """Plan what has come, rent what is due, return what nobody needs."""
        if not self._prices:
            self._prices = rates([kind.type for kind in view.kinds])
            self._lag = max(kind.type.boot.mean for kind in view.kinds)
            self._hourly = tuple(price * kind.type.slots for price, kind in zip(self._prices, view.kinds, strict=True))
        touched = self._placer.catch_up(view) | self._waiting
        self._waiting = set()
        for pool in view.pools():
            board = self._placer.boards[pool.index]
            with view.phase("plan"):
                fresh = [
                    run
                    for run in pool.runs.values()
                    if run.id not in self._planned or (run.id in touched and self._has_strayed(view, board, run))
                ]
                foreseen = [each for run in fresh if (each := self._plan(view, pool, board, run)) is not None]
            yield from foreseen
            self._placer.changed |= bool(fresh)
            yield from acquire_due(view, pool, board, view.interval)
            yield from return_idle(view, pool, board)
        self._planned = {number: self._planned.get(number) for pool in view.pools() for number in pool.runs}

    def _has_strayed(self, view: View, board: Board, run: Run) -> bool:
        """Whether a run is no longer planned as a whole, or so late that what follows cannot make up for it."""
        if board.lacks(run):
            return True
        if run.deadline is None:
            return False
        tails = self._shapes.of(view, run).tails
        ends = ((board.end_of(unit.id), tail) for unit, tail in zip(run.units, tails, strict=True))
        return any(end is not None and end + tail > run.deadline for end, tail in ends)

    def _plan(self, view: View, pool: Pool, board: Board, run: Run) -> Foresee | None:
        shape = self._shapes.of(view, run)
        deadline = run.deadline
        if deadline is None:
            deadline = view.now + self._lag + round(self._parameters.patience * shape.tightest)
        demand = self._demand.setdefault(pool.index, Demand(len(view.kinds)))
        self._loads = demand.loads(view.now)
        self._useful = [useful(load) for load in self._loads]
        if run.id not in self._planned:
            demand.note(view.now, shape, self._prices, deadline - view.now - self._lag)
        for unit in run.units:
            if unit.machine is None:
                board.drop(unit.id)
        kept = round(self._parameters.margin * max(0, deadline - view.now - self._lag))
        best = (
            self._best(view, board, run, shape, deadline - kept)
            or (self._best(view, board, run, shape, deadline) if kept else None)
            or self._hurried(view, board, run, shape)
        )
        if best is None:
            self._waiting.add(run.id)
            return None
        self._keep(board, run, best)
        demand.use(view.now, _work(best, len(view.kinds)))
        finish = max((put.begin + put.time for put in best.puts), default=view.now)
        is_late = None if run.deadline is None else finish > run.deadline
        was_late = self._planned.get(run.id)
        self._planned[run.id] = is_late
        if is_late is None or is_late == was_late:
            return None
        return Foresee(run, finish, "as fast as can be" if is_late else "as planned")

    def _best(self, view: View, board: Board, run: Run, shape: Shape, deadline: Time) -> Trial | None:
        """The plan that adds least to the bill; None if none is in time."""
        best: Trial | None = None
        self._room = [board.room(view, kind) for kind in view.kinds]
        self._near = [
            tracks
            if len(tracks) <= _NEAR
            else [*tracks[: _NEAR // 2], *nsmallest(_NEAR // 2, tracks[_NEAR // 2 :], key=lambda track: track.last)]
            for tracks in board.tracks
        ]
        for kinds in subsets(len(view.kinds)):
            for proportional in (True, False) if len(kinds) > 1 else (False,):
                due = self._due(view, run, shape, kinds, deadline, proportional)
                if due is not None:
                    least = NEVER if best is None else best.cost
                    best = self._try(view, board, run, shape, kinds, due, least) or best
        return best

    def _hurried(self, view: View, board: Board, run: Run, shape: Shape) -> Trial | None:
        """The plan in which each task ends as soon as it can; None if no machine is to be had for one of them."""
        never = [NEVER] * len(shape.times)
        return self._try(view, board, run, shape, subsets(len(view.kinds))[0], never, NEVER, hurry=True)

    def _try(
        self,
        view: View,
        board: Board,
        run: Run,
        shape: Shape,
        kinds: tuple[int, ...],
        due: Sequence[Time],
        least: float,
        *,
        hurry: bool = False,
    ) -> Trial | None:
        """A plan that uses some machine types only; None if that is not in time, or no cheaper than another."""
        trial = Trial()
        ends: list[Time] = []
        for place, unit in enumerate(run.units):
            times = shape.times[place]
            if unit.is_ended:
                ends.append(view.now)
            elif unit.machine is not None:
                ends.append(max(view.now, unit.started + times[unit.machine.kind.index]))
            else:
                ready = max((ends[parent] for parent in shape.parents[place]), default=view.now)
                put = self._cheapest(view, board, trial, place, times, kinds, ready, due[place], hurry)
                if put is None or trial.cost >= least:
                    return None
                put.track.reserve(put.lane, put.begin, put.time, unit.id)
                trial.puts.append(put)
                ends.append(put.begin + put.time)
        return trial

    def _due(
        self, view: View, run: Run, shape: Shape, kinds: tuple[int, ...], deadline: Time, proportional: bool
    ) -> Sequence[Time] | None:
        """When each task has to end: so that the rest can be in time at all, or as windows on cheap types say."""
        fastest, tails = fastest_ways(shape, kinds)
        left = [place for place, unit in enumerate(run.units) if not unit.is_ended and unit.machine is None]
        if any(fastest[place] >= NEVER or view.now + fastest[place] + tails[place] > deadline for place in left):
            return None
        if not proportional:
            return [deadline - tail for tail in tails]
        if len(left) < len(fastest):
            return None  # windows are for whole jobs
        begin = view.now + self._lag
        times, _ = cheapest_plan(shape, self._prices, (deadline - begin) // MINUTE * MINUTE)
        windows = spread(times, shape.parents, max(deadline - begin, 1))
        return [begin + window.end for window in windows]

    def _cheapest(
        self,
        view: View,
        board: Board,
        trial: Trial,
        place: int,
        times: Sequence[Duration],
        kinds: tuple[int, ...],
        ready: Time,
        due: Time,
        hurry: bool,
    ) -> Put | None:
        """Where a task adds least to the bill and still ends when due."""
        least: float = NEVER
        soonest: Time = NEVER
        chosen: tuple[Track, int, Time, Duration, bool] | None = None
        for index in kinds:
            time = times[index]
            kind = view.kinds[index]
            chance = self._useful[index]
            price = self._hourly[index] / HOUR
            plain = chance * price * time
            if time >= NEVER or (plain > least and not hurry):
                continue
            whole = (1 - chance) * price * kind.type.billing.period
            lag = kind.type.boot.mean
            new = max(ready, view.now + lag)
            is_settled = False
            for original in (*self._near[index], *(each for each in trial.new if each.kind is kind)):
                track = trial.seen(original)
                begin, lane = track.fit(ready, time) if track.machine is not None else track.fit_before(new, time)
                end = begin + time
                if end > due:
                    continue
                periods = track.more_periods(begin, end)
                score = plain + whole * periods
                if score < least or (hurry and end < soonest):
                    least, soonest, chosen = score, end, (original, lane, begin, time, False)
                if not periods and not hurry:
                    is_settled = True
                    break  # the first that is in time, not the soonest: so others fall idle, and can go
            end = new + time
            fresh = self._room[index] - sum(each.kind is kind for each in trial.new)
            if end <= due and not is_settled and fresh > 0:
                score = self._opening(kind, len(board.tracks[index]), time)
                if score < least or (hurry and end < soonest):
                    least, soonest, chosen = score, end, (Track(kind, new - lag), 0, new, time, True)
        if chosen is None:
            return None
        track, lane, begin, time, is_new = chosen
        trial.cost += least
        if is_new:
            trial.new.append(track)
        elif track not in trial.new:
            track = trial.touch(track)
        return Put(place, track, lane, begin, time)

    def _opening(self, kind: Kind, tracks: int, time: Duration) -> float:
        """What a new machine adds to the bill for a task that takes so long, where so many of its type are there."""
        type = kind.type
        chance = self._useful[kind.index]
        price = self._hourly[kind.index] / HOUR
        plain = chance * price * time
        if tracks < round(self._loads[kind.index] - _DOUBT):  # work enough comes to keep one more busy for hours
            return plain * _SPARE
        lag = type.boot.mean
        idle = chance if tracks else chance * (1 - chance)
        periods = -(-(lag + time) // type.billing.period)
        return plain + idle * price * lag + (1 - chance) * price * type.billing.period * periods

    def _keep(self, board: Board, run: Run, trial: Trial) -> None:
        """Put a trial into force."""
        real = {id(copy): original for original, copy in trial.copies.values()}
        for original, copy in trial.copies.values():
            original.become(copy)
        for track in trial.new:
            board.add(track)
        for put in trial.puts:
            board.of_unit[run.units[put.place].id] = real.get(id(put.track), put.track)


def fastest_ways(shape: Shape, kinds: tuple[int, ...]) -> tuple[list[Duration], list[Duration]]:
    """The least time of each task on some machine types, and the longest way from its end on them."""
    key = ("ways", kinds)
    if key not in shape.memory:
        fastest = [min(row[kind] for kind in kinds) for row in shape.times]
        shape.memory[key] = (fastest, longest_tails(fastest, shape.children))
    return cast("tuple[list[Duration], list[Duration]]", shape.memory[key])


def _work(trial: Trial, kinds: int) -> list[Duration]:
    work = [0] * kinds
    for put in trial.puts:
        work[put.track.kind.index] += put.time
    return work


@cache
def subsets(kinds: int) -> tuple[tuple[int, ...], ...]:
    """The machine types that plans are tried on: all of them, and each one alone."""
    return (tuple(range(kinds)), *((kind,) for kind in range(kinds)))


def _build(parameters: Parameters) -> Policy:
    placer = ByBoard()
    return Policy("scs+", Plus(parameters, placer), placer)


OFFER = Offer(
    name="scs+",
    summary="deadlines at the least cost, by trying plans out on what is paid already (needs run-time estimates)",
    parameters=Parameters,
    build=_build,
)
