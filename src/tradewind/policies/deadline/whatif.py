"""What-if: plans of one job, tried out on copies of the tracks that are there, and priced by what they add to the bill.

Tasks are put one by one where each adds least (`quotes`), within the windows of several plans (`plans`). Most of the
work is to look through the tracks of a machine type, so nothing is looked at that cannot win: types are tried from the
cheapest on, up to the one whose plain time x price is more than what has been found, and tracks of a type until one
adds no more than that.
"""

from collections.abc import Iterator, Sequence
from math import inf, nextafter

from tradewind.model.units import MINUTE, Duration, Time
from tradewind.policies.deadline.board import Board
from tradewind.policies.deadline.plans import cheapest_alone, fastest_ways, window_ends
from tradewind.policies.deadline.quotes import Quotes
from tradewind.policies.deadline.row import Row
from tradewind.policies.deadline.shape import NEVER, Shape
from tradewind.policies.deadline.trial import NEW, Option, Trial
from tradewind.policies.protocol import Run, View

_NEARLY = 1 + 1e-9
"""Sums of the same terms in another order stray by less than this."""


class WhatIf:
    """Tries plans of one job."""

    def __init__(self, view: View, board: Board, run: Run, shape: Shape, quotes: Quotes) -> None:
        self._view = view
        self._run = run
        self._shape = shape
        self._quotes = quotes
        self._every = tuple(range(len(view.kinds)))
        self._new = [view.now + kind.type.boot.mean for kind in view.kinds]
        """When machines that are asked for now can work."""
        self._room = [board.room(view, kind) for kind in view.kinds]
        self._counts = [len(tracks) for tracks in board.tracks]
        self.rows = [Row(tracks, new) for tracks, new in zip(board.tracks, self._new, strict=True)]
        """By machine type, the tracks of the board."""
        self._root = Trial(self.rows)
        self._left = [not unit.is_ended and unit.machine is None for unit in run.units]
        self._ranked = [self._rank(place) if is_left else [] for place, is_left in enumerate(self._left)]
        """For each task the machine types and what it adds there at least, the least first."""
        self._rest = self._least_costs()
        """For each task, the least that it and all that come after it in order can add to the bill."""
        self._heads = self._earliest()
        """When each task can begin at the earliest."""
        self._openings: list[list[tuple[float, int, Duration]]] = [[] for _ in run.units]
        """For each task what new machines of each type add, once that has been asked for."""

    def best(self, deadline: Time) -> Trial | None:
        """The plan that adds least to the bill; None if none is in time."""
        best: Trial | None = None
        for kinds, due in self._plans(deadline):
            best = self._try(kinds, due, NEVER if best is None else best.cost) or best
        return best

    def hurried(self) -> Trial | None:
        """A plan in which each task ends soon; None if no machine is to be had for one of them."""
        return self._try(self._every, [NEVER] * len(self._left), NEVER, hurry=True)

    def _plans(self, deadline: Time) -> Iterator[tuple[tuple[int, ...], Sequence[Time]]]:
        """On which machine types tasks may run, and by when each of them has to end: the plans that are tried."""
        begin = max(self._new)
        shape, prices = self._shape, self._quotes.prices
        if begin < deadline and not any(unit.is_ended or unit.machine is not None for unit in self._run.units):
            for ends in window_ends(shape, prices, deadline - begin, MINUTE):
                yield self._every, [begin + end for end in ends]
        for kinds in (self._every, *cheapest_alone(shape, prices)):
            due = self._latest(kinds, deadline)
            if due is not None:
                yield kinds, due

    def _rank(self, place: int) -> list[tuple[float, int]]:
        times, plain = self._shape.times[place], self._quotes.plain
        return sorted((plain[index] * time, index) for index, time in enumerate(times) if time < NEVER)

    def _earliest(self) -> list[Time]:
        now, shape = self._view.now, self._shape
        heads: list[Time] = []
        for place, is_left in enumerate(self._left):
            ready = max([heads[parent] + shape.fastest[parent] for parent in shape.parents[place]], default=now)
            heads.append(ready if is_left else now - shape.fastest[place])
        return heads

    def _least_costs(self) -> list[float]:
        rest = [0.0]
        for ranked in reversed(self._ranked):
            rest.append(rest[-1] + (ranked[0][0] if ranked else 0.0))
        return rest[::-1]

    def _least_costs_in(self, kinds: tuple[int, ...], due: Sequence[Time]) -> list[float] | None:
        """The same for one plan, in which some tasks have no time for the cheapest types; None if for no type."""
        total = 0.0
        rest = [total]
        for place in range(len(due) - 1, -1, -1):
            if self._left[place]:
                latest, times = due[place] - self._heads[place], self._shape.times[place]
                for plain, index in self._ranked[place]:
                    if times[index] <= latest and index in kinds:
                        total += plain
                        break
                else:
                    return None
            rest.append(total)
        return rest[::-1]

    def _latest(self, kinds: tuple[int, ...], deadline: Time) -> Sequence[Time] | None:
        """When each task has to end so that the rest can be in time on some types; None if it cannot."""
        fastest, tails = fastest_ways(self._shape, kinds)
        for is_left, time, tail in zip(self._left, fastest, tails, strict=True):
            if is_left and self._view.now + time + tail > deadline:
                return None
        return [deadline - tail for tail in tails]

    def _try(self, kinds: tuple[int, ...], due: Sequence[Time], least: float, *, hurry: bool = False) -> Trial | None:
        """A plan that uses some machine types only; None if that is not in time, or no cheaper than another."""
        rest = self._least_costs_in(kinds, due)
        most = least * _NEARLY
        if rest is None or rest[0] > most:
            return None
        trial = Trial(self.rows) if hurry else self._root
        now, shape = self._view.now, self._shape
        ends: list[Time] = []
        for place, unit in enumerate(self._run.units):
            times = shape.times[place]
            if unit.is_ended:
                ends.append(now)
            elif unit.machine is not None:
                ends.append(max(now, unit.started + times[unit.machine.kind.index]))
            else:
                ready = max([ends[parent] for parent in shape.parents[place]], default=now)
                step = trial.known(kinds, due[place])
                if step is None:
                    find = self._soonest if hurry else self._cheapest
                    step = trial.learn(kinds, due[place], find(trial, place, kinds, ready, due[place]))
                if step.option is None:
                    return None
                cost = trial.cost + step.option.score
                if cost + self._rest[place + 1] >= least or cost + rest[place + 1] > most:
                    return None
                if step.trial is None:
                    step.trial = trial.write(place, self._view.kinds[step.option.kind], step.option, unit.id)
                trial = step.trial
                ends.append(step.option.end)
        return trial

    def _cheapest(self, trial: Trial, place: int, kinds: tuple[int, ...], ready: Time, due: Time) -> Option | None:
        """Where a task adds least to the bill and still ends when due; of equals on the first type, and a held one."""
        opening = self._cheapest_new(trial, place, kinds, ready, due)
        least, chosen = (inf, None) if opening is None else (opening.score, opening)
        times, whole = self._shape.times[place], self._quotes.whole
        for plain, index in self._ranked[place]:
            if plain > least:
                break
            row, latest = trial.rows[index], due - times[index]
            if not row.tracks or latest < ready or index not in kinds:
                continue
            limit = least if chosen is not None and index > chosen.kind else nextafter(least, inf)
            found = first_cheapest(row, ready, self._new[index], times[index], latest, plain, whole[index], limit)
            if found is not None:
                least, track, lane, begin = found
                chosen = Option(least, index, track, lane, begin, begin + times[index])
        return chosen

    def _cheapest_new(self, trial: Trial, place: int, kinds: tuple[int, ...], ready: Time, due: Time) -> Option | None:
        """The new machine on which a task adds least and still ends when due."""
        for score, index, time in self._openings[place] or self._price_openings(place):
            begin = max(ready, self._new[index])
            if begin + time <= due and index in kinds and self._may_open(trial, index):
                return Option(score, index, NEW, 0, begin, begin + time)
        return None

    def _price_openings(self, place: int) -> list[tuple[float, int, Duration]]:
        """What new machines add for a task, the least first."""
        quotes, kinds, counts = self._quotes, self._view.kinds, self._counts
        found = self._openings[place] = sorted(
            (quotes.opening(kinds[index], counts[index], time), index, time)
            for index, time in enumerate(self._shape.times[place])
            if time < NEVER
        )
        return found

    def _soonest(self, trial: Trial, place: int, _: tuple[int, ...], ready: Time, __: Time) -> Option | None:
        """Where a task ends soon: what ends sooner, or adds less, takes the place of what was found before."""
        least: float = NEVER
        soonest: Time = NEVER
        chosen: Option | None = None
        for index, time in enumerate(self._shape.times[place]):
            if time >= NEVER:
                continue
            plain, whole = self._quotes.plain[index] * time, self._quotes.whole[index]
            new = max(ready, self._new[index])
            for number, track in enumerate(trial.rows[index].tracks):
                begin, lane = track.fit(ready, time) if track.machine is not None else track.fit_before(new, time)
                score = plain + whole * track.more_periods(begin, begin + time)
                if score < least or begin + time < soonest:
                    least, soonest = score, begin + time
                    chosen = Option(score, index, number, lane, begin, soonest)
            if self._may_open(trial, index):
                score = self._quotes.opening(self._view.kinds[index], self._counts[index], time)
                if score < least or new + time < soonest:
                    least, soonest = score, new + time
                    chosen = Option(score, index, NEW, 0, new, soonest)
        return chosen

    def _may_open(self, trial: Trial, kind: int) -> bool:
        """Whether one more machine of a type may be planned."""
        return self._room[kind] > len(trial.rows[kind].tracks) - self._counts[kind]


def first_cheapest(
    row: Row,
    ready: Time,
    new: Time,
    time: Duration,
    latest: Time,
    plain: float,
    whole: float,
    limit: float,
) -> tuple[float, int, int, Time] | None:
    """Where a task adds least on the tracks of one type, if less than a limit, and begins no later than it may.

    That is what it adds, the place of the track, the lane and the begin. Of equals the first, not the soonest: so
    others fall idle, and can go.
    """
    chosen: tuple[float, int, int, Time] | None = None
    new = max(new, ready)
    for first, tracks in row.roomy(time, latest):
        for number, track in enumerate(tracks, first):
            tail, gap, is_held = track.tail, track.gap, track.machine is not None
            has_gap = gap >= time or not (is_held or gap + track.opens - new < time)
            if tail > latest and not has_gap:
                continue
            begin = new if not is_held else ready if ready > track.opens else track.opens
            lane = 0
            if has_gap or len(track.lanes) > 1:
                if tail > latest and len(track.lanes) == 1 and track.is_taken(begin, time, latest):
                    continue
                begin, lane = track.fit_before(begin, time, latest)
            elif tail > begin:
                begin = tail
            if begin > latest:
                continue
            score = plain + whole * track.more_periods(begin, begin + time)
            if score < limit:
                limit = score
                chosen = (score, number, lane, begin)
                if score <= plain:
                    return chosen
    return chosen
