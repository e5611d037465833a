"""What-if: plans of one job, tried out on copies of the tracks that are there, and priced by what they add to the bill.

What an option adds depends on whether spare paid time will be of use to others. With a chance `u` that it will, opening
n periods at price p for work that takes a share t of one adds (1-u) n p + u t p: whole periods where little comes,
plain time x price where machines are never idle. Each type's `u` follows the work that has come of late.

Tasks are put one by one where each adds least, within windows. Windows made for the cheapest types leave no time for a
task whose type is short of machines to run on a slower one, so plans are tried with windows made for fewer types too.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from heapq import nsmallest
from operator import mul
from typing import NamedTuple, cast

from tradewind.model.units import HOUR, MINUTE, Duration, Time
from tradewind.policies.deadline.board import Board, Track
from tradewind.policies.deadline.demand import cheapest_times, useful
from tradewind.policies.deadline.shape import NEVER, Shape, longest_tails
from tradewind.policies.deadline.windows import spread
from tradewind.policies.protocol import Kind, Run, View

_DOUBT = 0.3
"""Load, in machines, that has to be left over before another machine counts as kept busy by what comes."""
_SPARE = 1.3
"""What work on such a machine costs, as a multiple of time x price, for no machine is always at work."""
_PLANS = 12
"""So many different plans are tried at most; with four machine types there are no more."""
_ALONE = 4
"""So many machine types are tried by themselves."""
_NEAR = 256
"""Of each machine type so many tracks are looked at for a job at most."""


class Put(NamedTuple):
    """A task on a track of a trial."""

    place: int
    track: Track
    lane: int
    begin: Time
    time: Duration


class Trial:
    """A plan of one job, tried out on copies of the tracks."""

    def __init__(self, tracks: Sequence[Sequence[Track]]) -> None:
        self.tracks = list(tracks)
        """By machine type; those of the board until they are written on, then new ones."""
        self.copies: dict[int, tuple[Track, Track]] = {}
        """Tracks of the board and their copies, by the identity of the latter."""
        self.new: list[Track] = []
        self.puts: list[Put] = []
        self.cost = 0.0

    def touch(self, kind: int, place: int) -> Track:
        """A track to write on."""
        track = self.tracks[kind][place]
        if id(track) in self.copies or track in self.new:
            return track
        copy = track.copy()
        self.copies[id(copy)] = (track, copy)
        tracks = list(self.tracks[kind])
        tracks[place] = copy
        self.tracks[kind] = tracks
        return copy

    def open(self, track: Track) -> Track:
        """A track that is not on the board."""
        self.new.append(track)
        self.tracks[track.kind.index] = [*self.tracks[track.kind.index], track]
        return track


class Quotes:
    """What paid time of each machine type is worth at the moment."""

    def __init__(self, kinds: Sequence[Kind], prices: Sequence[float], loads: Sequence[float]) -> None:
        self.prices = tuple(prices)
        """Of an hour in one slot."""
        self.loads = loads
        """How many machines of each type the work of late keeps busy."""
        self.chances = [useful(load) for load in loads]
        self.rates = [price * kind.type.slots / HOUR for price, kind in zip(prices, kinds, strict=True)]
        """Of a microsecond of a whole machine."""

    def opening(self, kind: Kind, tracks: int, time: Duration) -> float:
        """What a new machine adds to the bill for a task that takes so long, where so many of its type are there."""
        type = kind.type
        chance = self.chances[kind.index]
        price = self.rates[kind.index]
        plain = chance * price * time
        if tracks < round(self.loads[kind.index] - _DOUBT):  # work enough comes to keep one more busy for hours
            return plain * _SPARE
        lag = type.boot.mean
        idle = chance if tracks else chance * (1 - chance)
        periods = -(-(lag + time) // type.billing.period)
        return plain + idle * price * lag + (1 - chance) * price * type.billing.period * periods


class WhatIf:
    """Tries plans of one job."""

    def __init__(self, view: View, board: Board, run: Run, shape: Shape, quotes: Quotes) -> None:
        self._view = view
        self._run = run
        self._shape = shape
        self._quotes = quotes
        self._lag = max(kind.type.boot.mean for kind in view.kinds)
        self._room = [board.room(view, kind) for kind in view.kinds]
        self._counts = [len(tracks) for tracks in board.tracks]
        latest = (run.deadline or NEVER) - min(shape.fastest, default=0)
        self._tracks = [near(tracks, latest) for tracks in board.tracks]
        self._rest = self._least_costs()
        """For each task, the least that it and all that come after it in order can add to the bill."""

    def best(self, deadline: Time) -> Trial | None:
        """The plan that adds least to the bill; None if none is in time."""
        best: Trial | None = None
        for kinds, due in self._plans(deadline):
            best = self._try(kinds, due, NEVER if best is None else best.cost) or best
        return best

    def _plans(self, deadline: Time) -> Iterator[tuple[tuple[int, ...], Sequence[Time]]]:
        """On which machine types tasks may run, and by when each of them has to end: the plans that are tried."""
        every = tuple(range(len(self._view.kinds)))
        begin = self._view.now + self._lag
        is_whole = not any(unit.is_ended or unit.machine is not None for unit in self._run.units)
        if is_whole and begin < deadline:
            for times in timings(self._shape, self._quotes.prices, (deadline - begin) // MINUTE * MINUTE):
                windows = spread(times, self._shape.parents, deadline - begin)
                yield every, [begin + window.end for window in windows]
        for kinds in (every, *cheapest_alone(self._shape, self._quotes.prices)):
            due = self._latest(kinds, deadline)
            if due is not None:
                yield kinds, due

    def hurried(self) -> Trial | None:
        """The plan in which each task ends as soon as it can; None if no machine is to be had for one of them."""
        never = [NEVER] * len(self._shape.times)
        return self._try(tuple(range(len(self._view.kinds))), never, NEVER, hurry=True)

    def _least_costs(self) -> list[float]:
        plain = [chance * rate for chance, rate in zip(self._quotes.chances, self._quotes.rates, strict=True)]
        rest = [0.0]
        for unit, times in zip(reversed(self._run.units), reversed(self._shape.times), strict=True):
            is_left = not unit.is_ended and unit.machine is None
            rest.append(rest[-1] + (min(map(mul, plain, times)) if is_left else 0.0))
        return rest[::-1]

    def _latest(self, kinds: tuple[int, ...], deadline: Time) -> Sequence[Time] | None:
        """When each task has to end so that the rest can be in time on some types; None if it cannot."""
        fastest, tails = fastest_ways(self._shape, kinds)
        for unit, time, tail in zip(self._run.units, fastest, tails, strict=True):
            if not unit.is_ended and unit.machine is None and self._view.now + time + tail > deadline:
                return None
        return [deadline - tail for tail in tails]

    def _try(self, kinds: tuple[int, ...], due: Sequence[Time], least: float, *, hurry: bool = False) -> Trial | None:
        """A plan that uses some machine types only; None if that is not in time, or no cheaper than another."""
        trial = Trial(self._tracks)
        now, shape = self._view.now, self._shape
        ends: list[Time] = []
        for place, unit in enumerate(self._run.units):
            times = shape.times[place]
            if unit.is_ended:
                ends.append(now)
            elif unit.machine is not None:
                ends.append(max(now, unit.started + times[unit.machine.kind.index]))
            else:
                ready = max((ends[parent] for parent in shape.parents[place]), default=now)
                put = self._cheapest(trial, place, kinds, ready, due[place], hurry)
                if put is None or trial.cost + self._rest[place + 1] >= least:
                    return None
                put.track.reserve(put.lane, put.begin, put.time, unit.id)
                trial.puts.append(put)
                ends.append(put.begin + put.time)
        return trial

    def _cheapest(
        self, trial: Trial, place: int, kinds: tuple[int, ...], ready: Time, due: Time, hurry: bool
    ) -> Put | None:
        """Where a task adds least to the bill and still ends when due."""
        quotes = self._quotes
        least: float = NEVER
        soonest: Time = NEVER
        chosen: tuple[int, int, int, Time] | None = None
        times = self._shape.times[place]
        for index in kinds:
            time = times[index]
            chance, price = quotes.chances[index], quotes.rates[index]
            plain = chance * price * time
            if time >= NEVER or (plain > least and not hurry):
                continue
            kind = self._view.kinds[index]
            whole = (1 - chance) * price * kind.type.billing.period
            new = max(ready, self._view.now + kind.type.boot.mean)
            is_settled = False
            latest = due - time
            tracks = trial.tracks[index]
            for number, track in enumerate(tracks):
                is_held = track.machine is not None
                if track.tail > latest and track.gap + (0 if is_held else max(0, track.opens - new)) < time:
                    continue
                begin, lane = track.fit(ready, time) if is_held else track.fit_before(new, time)
                if begin > latest:
                    continue
                end = begin + time
                periods = track.more_periods(begin, end)
                score = plain + whole * periods
                if score < least or (hurry and end < soonest):
                    least, soonest, chosen = score, end, (index, number, lane, begin)
                if not periods and not hurry:
                    is_settled = True
                    break  # the first that is in time, not the soonest: so others fall idle, and can go
            fresh = self._room[index] - sum(each.kind is kind for each in trial.new)
            if new <= latest and not is_settled and fresh > 0:
                score = quotes.opening(kind, self._counts[index], time)
                if score < least or (hurry and new + time < soonest):
                    least, soonest, chosen = score, new + time, (index, -1, 0, new)
        if chosen is None:
            return None
        index, number, lane, begin = chosen
        trial.cost += least
        if number < 0:
            kind = self._view.kinds[index]
            track = trial.open(Track(kind, begin - kind.type.boot.mean))
        else:
            track = trial.touch(index, number)
        return Put(place, track, lane, begin, times[index])


def near(tracks: Sequence[Track], latest: Time) -> Sequence[Track]:
    """The tracks that are looked at: where there are very many, the oldest that have room, and those free first."""
    if len(tracks) <= _NEAR:
        return tracks
    roomy = [track for track in tracks if track.tail <= latest or track.gap or track.machine is None]
    if len(roomy) <= _NEAR:
        return roomy
    half = _NEAR // 2
    return [*roomy[:half], *nsmallest(half, roomy[half:], key=lambda track: track.tail)]


def fastest_ways(shape: Shape, kinds: tuple[int, ...]) -> tuple[list[Duration], list[Duration]]:
    """The least time of each task on some machine types, and the longest way from its end on them."""
    key = ("ways", kinds)
    if key not in shape.memory:
        fastest = [min(row[kind] for kind in kinds) for row in shape.times]
        shape.memory[key] = (fastest, longest_tails(fastest, shape.children))
    return cast("tuple[list[Duration], list[Duration]]", shape.memory[key])


def timings(shape: Shape, prices: tuple[float, ...], available: Duration) -> tuple[Sequence[Duration], ...]:
    """Times of the tasks that windows are made for: of the cheapest plans on various machine types, if in time."""
    key = ("timings", available)
    if key not in shape.memory:
        plans: dict[Sequence[Duration], None] = {}
        for kinds in subsets(prices):
            plan = cheapest_times(shape, prices, kinds, available)
            if plan is not None:
                plans[plan] = None
            if len(plans) == _PLANS:
                break
        shape.memory[key] = tuple(plans)
    return cast("tuple[Sequence[Duration], ...]", shape.memory[key])


def cheapest_alone(shape: Shape, prices: tuple[float, ...]) -> tuple[tuple[int, ...], ...]:
    """The machine types that a job costs least on if all of it runs on one, each by itself."""
    if "alone" not in shape.memory:
        cost = [price * sum(row[kind] for row in shape.times) for kind, price in enumerate(prices)]
        shape.memory["alone"] = tuple(
            (kind,) for kind in sorted(nsmallest(_ALONE, range(len(prices)), cost.__getitem__))
        )
    return cast("tuple[tuple[int, ...], ...]", shape.memory["alone"])


@cache
def subsets(prices: tuple[float, ...]) -> tuple[tuple[int, ...], ...]:
    """Machine types that windows are made for: all, all but the dearest, and so on; each alone; all but one."""
    by_price = sorted(range(len(prices)), key=lambda kind: (prices[kind], kind))
    found = [tuple(sorted(by_price[:count])) for count in range(len(prices), 0, -1)]
    found += [(kind,) for kind in by_price]
    found += [tuple(kind for kind in sorted(by_price) if kind != other) for other in by_price]
    return tuple(dict.fromkeys(kinds for kinds in found if kinds))
