"""What-if: try plans of one job on the existing tracks, priced by what they add to the bill.

Tasks are placed one by one where each adds least (`quotes`), within the windows of several plans (`plans`). Most of the
time goes into searching the tracks of a machine type, so options that cannot win are skipped: types are tried from the
cheapest, up to the one whose plain time x price exceeds the best option so far, and the tracks of a type until one adds
no more than that.
"""

from collections.abc import Iterator, Sequence
from math import inf, nextafter
from typing import NamedTuple

from tradewind.model.units import MINUTE, Duration, Time
from tradewind.model.vector import Vector
from tradewind.policies.deadline.board import Board
from tradewind.policies.deadline.means import Means
from tradewind.policies.deadline.plans import cheapest_alone, fastest_ways, window_ends
from tradewind.policies.deadline.quotes import Quotes
from tradewind.policies.deadline.row import Row
from tradewind.policies.deadline.shape import NEVER, Shape
from tradewind.policies.deadline.track import Track
from tradewind.policies.deadline.trial import NEW, Option, Put, Sheet, Trial
from tradewind.policies.protocol import Kind, Pool, Run, View

_NEARLY = 1 + 1e-9
"""Sums of the same terms in another order differ by less than this."""


class WhatIf:
    """A search for the best plan of one job."""

    def __init__(self, view: View, pool: Pool, board: Board, run: Run, shape: Shape, quotes: Quotes) -> None:
        self._view = view
        self._run = run
        self._shape = shape
        self._quotes = quotes
        self._every = tuple(range(len(view.kinds)))
        self._risks = risks(view.kinds, shape)
        self._new = [view.now + kind.type.boot.mean for kind in view.kinds]
        """When machines requested now are ready."""
        self._means = Means(view, pool, board)
        self._counts = [len(tracks) for tracks in board.tracks]
        rows = [Row(tracks, new) for tracks, new in zip(board.tracks, self._new, strict=True)]
        self._sheet = Sheet(rows, view.kinds)
        self._root = Trial()
        self._left = [not unit.is_ended and unit.machine is None for unit in run.graph]
        self._ranked = [self._rank(place) if is_left else [] for place, is_left in enumerate(self._left)]
        """For each task the machine types with the least it adds there, cheapest first."""
        self._rest = self._least_costs()
        """For each task, the least that it and all later tasks can add to the bill."""
        self._heads = self._earliest()
        """The earliest start of each task."""
        self._openings: list[list[tuple[float, int, Duration]]] = [[] for _ in run.graph]
        """For each task the price of new machines of each type, computed on demand."""

    def best(self, deadline: Time) -> Trial | None:
        """Return the plan that adds least to the bill; None if none is on time."""
        best: Trial | None = None
        for kinds, due in self._plans(deadline):
            best = self._try(kinds, due, NEVER if best is None else best.cost) or best
        self._sheet.back_to(0)
        return best

    def hurried(self, deadline: Time) -> Trial | None:
        """Return the plan that ends first, without tasks for which no machine is available.

        If it ends before the deadline, or a cheaper plan ends no later, the cheaper one is returned.
        """
        found, finish = self._listed()
        if finish < deadline:
            cheaper, end = self._listed(deadline)
            return cheaper if end <= deadline and cheaper.cost < found.cost else found
        other = self.best(finish) if finish < NEVER else None
        return found if other is None or other.cost >= found.cost else other

    def _listed(self, deadline: Time = 0) -> tuple[Trial, Time]:
        """Return a plan in which each task ends by the deadline at least cost, or else first, and when it ends.

        Tasks are placed one by one, those with the longest way ahead of them first.
        """
        shape, now = self._shape, self._view.now
        ways = [-time - tail for time, tail in zip(shape.fastest, shape.tails, strict=True)]
        ends = [now] * len(ways)
        trial = Trial()
        depth = 0
        for place in sorted(range(len(ways)), key=ways.__getitem__):  # a parent comes before its children
            unit = self._run.graph[place]
            if unit.machine is not None and not unit.is_ended:
                ends[place] = max(now, unit.started + shape.times[place][unit.machine.kind.index])
            if not self._left[place]:
                continue
            ready = max([ends[parent] for parent in shape.parents[place]], default=now)
            option: Option | None = None
            if ready < NEVER:
                due = deadline - shape.tails[place]
                option = self._cheapest(place, self._every, ready, due) if due > ready else None
                option = option or self._soonest(place, ready)
            ends[place] = NEVER if option is None else option.end
            if option is not None:
                trial = Trial(trial, place, option)
                self._sheet.write(depth, trial, unit)
                depth += 1
        self._sheet.back_to(0)
        return trial, max(ends, default=now)

    def waiting(self, plan: Sequence[Put]) -> Sequence[int]:
        """Return the positions of tasks that have not started and are not in a plan."""
        put = {each.place for each in plan}
        return [place for place, is_left in enumerate(self._left) if is_left and place not in put]

    def _plans(self, deadline: Time) -> Iterator[tuple[tuple[int, ...], Sequence[Time]]]:
        """Yield the plans to try: the machine types of tasks, and by when each has to end."""
        begin = max(self._new)
        shape, prices = self._shape, self._quotes.prices
        # Windows are for whole jobs; once something has started, only the latest ends below apply.
        if begin < deadline and not any(unit.is_ended or unit.machine is not None for unit in self._run.graph):
            for ends in window_ends(shape, prices, deadline - begin, MINUTE):
                yield self._every, [begin + end for end in ends]
        for kinds in (self._every, *cheapest_alone(shape, prices)):
            due = self._latest(kinds, deadline)
            if due is not None:
                yield kinds, due

    def _rank(self, place: int) -> list[tuple[float, int]]:
        work, plain = self._shape.work[place], self._quotes.plain
        return sorted((plain[index] * time, index) for index, time in enumerate(work) if time < NEVER)

    def _earliest(self) -> list[Time]:
        now, shape = self._view.now, self._shape
        heads: list[Time] = []
        for place, is_left in enumerate(self._left):
            ready = max([heads[parent] + shape.fastest[parent] for parent in shape.parents[place]], default=now)
            # Chosen so that `head + fastest` is now for tasks that have started or ended.
            heads.append(ready if is_left else now - shape.fastest[place])
        return heads

    def _least_costs(self) -> list[float]:
        rest = [0.0]
        for ranked in reversed(self._ranked):
            # Suffix sums from the last task on, reversed at the end: a lower bound for pruning.
            rest.append(rest[-1] + (ranked[0][0] if ranked else 0.0))
        return rest[::-1]

    def _least_costs_in(self, kinds: tuple[int, ...], due: Sequence[Time]) -> list[float] | None:
        """Return the same for one plan, in which some tasks have no time for the cheapest types; None if impossible."""
        total = 0.0
        rest = [total]
        for place in range(len(due) - 1, -1, -1):
            if self._left[place]:
                latest, times = due[place] - self._heads[place], self._shape.times[place]
                risk = self._risks[place]
                for plain, index in self._ranked[place]:
                    if times[index] + risk[index] <= latest and index in kinds:
                        total += plain
                        break
                else:
                    return None
            rest.append(total)
        return rest[::-1]

    def _latest(self, kinds: tuple[int, ...], deadline: Time) -> Sequence[Time] | None:
        """Return when each task has to end so that the rest can be on time on some types; None if impossible."""
        fastest, tails = fastest_ways(self._shape, kinds)
        for is_left, time, tail in zip(self._left, fastest, tails, strict=True):
            if is_left and self._view.now + time + tail > deadline:
                return None
        return [deadline - tail for tail in tails]

    def _try(self, kinds: tuple[int, ...], due: Sequence[Time], least: float) -> Trial | None:
        """Return a plan that uses only some machine types; None if it is late, or no cheaper than another."""
        rest = self._least_costs_in(kinds, due)
        # Slack for rounding: bounds summed in another order must not prune a plan of equal cost.
        most = least * _NEARLY
        if rest is None or rest[0] > most:
            return None
        trial = self._root
        sheet = self._sheet
        depth = 0
        now, shape = self._view.now, self._shape
        ends: list[Time] = []
        for place, unit in enumerate(self._run.graph):
            times = shape.times[place]
            if unit.is_ended:
                ends.append(now)
            elif unit.machine is not None:
                ends.append(max(now, unit.started + times[unit.machine.kind.index]))
            else:
                ready = max([ends[parent] for parent in shape.parents[place]], default=now)
                step = trial.known(kinds, due[place])
                if step is None:
                    # The sheet may still show a longer or different trial: undo to the point where both agree.
                    sheet.back_to(depth)
                    step = trial.learn(kinds, due[place], self._cheapest(place, kinds, ready, due[place]))
                if step.option is None:
                    return None
                cost = trial.cost + step.option.score
                # Even the cheapest continuation costs at least as much as the best plan so far.
                if cost + self._rest[place + 1] >= least or cost + rest[place + 1] > most:
                    return None
                if step.trial is None:
                    step.trial = Trial(trial, place, step.option)
                trial = step.trial
                sheet.write(depth, trial, unit)
                depth += 1
                ends.append(step.option.end)
        return trial

    def _cheapest(self, place: int, kinds: tuple[int, ...], ready: Time, due: Time) -> Option | None:
        """Return where a task adds least and ends when due; among equals the first type, then a held machine."""
        opening = self._cheapest_new(place, kinds, ready, due)
        least, chosen = (inf, None) if opening is None else (opening.score, opening)
        times, whole, risk = self._shape.times[place], self._quotes.whole, self._risks[place]
        for plain, index in self._ranked[place]:
            # Types are sorted by their lowest possible price: no later one can win.
            if plain > least:
                break
            row, latest = self._sheet.rows[index], due - times[index] - risk[index]
            if not row.tracks or latest < ready or index not in kinds:
                continue
            # Equal scores go to the first type, so a later type must be strictly cheaper.
            limit = least if chosen is not None and index > chosen.kind else nextafter(least, inf)
            asked = Asked(ready, times[index], latest, self._run.graph[place].need.demand)
            found = first_cheapest(row, asked, self._new[index], plain, whole[index], limit)
            if found is not None:
                least, track, begin = found
                chosen = Option(least, index, track, begin, begin + times[index])
        return chosen

    def _cheapest_new(self, place: int, kinds: tuple[int, ...], ready: Time, due: Time) -> Option | None:
        """Return the new machine on which a task adds least and ends when due."""
        for score, index, time in self._openings[place] or self._price_openings(place):
            begin = max(ready, self._new[index])
            is_in_time = begin + time + self._risks[place][index] <= due
            if is_in_time and index in kinds and self._may_open(index):
                return Option(score, index, NEW, begin, begin + time)
        return None

    def _price_openings(self, place: int) -> list[tuple[float, int, Duration]]:
        """Return what new machines add for a task, cheapest first."""
        quotes, kinds, counts = self._quotes, self._view.kinds, self._counts
        found = self._openings[place] = sorted(
            (quotes.opening(kinds[index], counts[index], time, work), index, time)
            for index, (time, work) in enumerate(zip(self._shape.times[place], self._shape.work[place], strict=True))
            if time < NEVER
        )
        return found

    def _soonest(self, place: int, ready: Time) -> Option | None:
        """Return where a task ends first, and among equals where it adds least."""
        demand = self._run.graph[place].need.demand
        least: tuple[Time, float] = (NEVER, NEVER)
        chosen: Option | None = None
        for index, time in enumerate(self._shape.times[place]):
            if time >= NEVER:
                continue
            work = self._shape.work[place][index]
            plain, whole = self._quotes.plain[index] * work, self._quotes.whole[index]
            new = max(ready, self._new[index])
            for number, track in enumerate(self._sheet.rows[index].tracks):
                begin = new if track.machine is None else ready if ready > track.opens else track.opens
                if track.profile is not None or has_gap(track, time, new):
                    begin = track.fit_before(begin, time, demand)
                    if begin >= NEVER:
                        continue
                elif track.tail > begin:
                    begin = track.tail
                if begin + time > least[0]:
                    continue
                score = plain + whole * track.more_periods(begin, begin + time)
                if (begin + time, score) < least:
                    least = begin + time, score
                    chosen = Option(score, index, number, begin, begin + time)
            if self._may_open(index):
                score = self._quotes.opening(self._view.kinds[index], self._counts[index], time, work)
                if (new + time, score) < least:
                    least = new + time, score
                    chosen = Option(score, index, NEW, new, new + time)
        return chosen

    def _may_open(self, kind: int) -> bool:
        """Return whether another machine of a type may be planned."""
        if not self._means.are_shared:
            return self._means.rooms[kind] > len(self._sheet.rows[kind].tracks) - self._counts[kind]
        opened = [len(row.tracks) - count for row, count in zip(self._sheet.rows, self._counts, strict=True)]
        return self._means.allow(kind, opened)


def risks(kinds: Sequence[Kind], shape: Shape) -> Sequence[Sequence[Duration]]:
    """Return, for each task and machine type, the time to keep after its end for a rerun on a firm machine.

    Machines of a type that is not firm may vanish at any moment. A task may run there only if a loss at the last moment
    would not make its run late. If no firm type can run a task, there is no fallback, and no time is kept.
    """
    firm = [kind for kind in kinds if kind.type.market.is_firm]
    if len(firm) == len(kinds):
        return [[0] * len(kinds)] * len(shape.times)
    found = []
    for row in shape.times:
        # The rerun needs a new firm machine: its boot lag and the task's time there.
        again = min((kind.type.boot.mean + row[kind.index] for kind in firm), default=NEVER)
        kept = again if again < NEVER else 0
        found.append([0 if kind.type.market.is_firm else kept for kind in kinds])
    return found


def has_gap(track: Track, time: Duration, new: Time) -> bool:
    """Return whether a long enough gap may exist before a track is permanently free; it may open at a new time."""
    gap = track.gap
    return gap >= time or (track.machine is None and gap + track.opens - new >= time)


class Asked(NamedTuple):
    """The demand of a task on the tracks of one type."""

    ready: Time
    time: Duration
    latest: Time
    """Latest start."""
    demand: Vector


def first_cheapest(
    row: Row, asked: Asked, new: Time, plain: float, whole: float, limit: float
) -> tuple[float, int, Time] | None:
    """Return where a task adds least on the tracks of one type, if less than a limit, and starts in time.

    The result is what it adds, the position of the track and the start. Among equals the first track is chosen, not the
    earliest start, so that other tracks become idle and can be returned.
    """
    ready, time, latest, demand = asked
    chosen: tuple[float, int, Time] | None = None
    new = max(new, ready)
    for first, tracks in row.roomy(time, latest):
        for number, track in enumerate(tracks, first):
            tail, is_gappy = track.tail, has_gap(track, time, new)
            if tail > latest and not is_gappy:
                continue
            # A track that is not held yet can be requested now, whatever its planned opening.
            begin = new if track.machine is None else ready if ready > track.opens else track.opens
            if is_gappy or track.profile is not None:
                begin = track.fit_before(begin, time, demand, latest)
            elif tail > begin:
                begin = tail
            if begin > latest:
                continue
            score = plain + whole * track.more_periods(begin, begin + time)
            if score < limit:
                limit = score
                chosen = (score, number, begin)
                # No additional period is paid: nothing can be cheaper on this type.
                if score <= plain:
                    return chosen
    return chosen
