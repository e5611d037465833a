"""How many machines each elastic unit must have now, so that all of them can still end in time.

The plan counts time on a mean slot. It aims a little ahead of each due time. A unit that cannot end in time any more is
planned to end as soon as it can; if not all can, those due first do. Slots beyond what is needed go to the units due
first: work that is done early is out of the way of work that is still to come. The original has no plan: a slot stays
with its job until the job ends.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from tradewind.model.units import SECOND, Duration, Time
from tradewind.policies.divisible.partitioning import REPORTS
from tradewind.policies.divisible.planning import Claim, least_now
from tradewind.policies.divisible.protocol import (
    FLOOR,
    SPEED,
    DivisionView,
    ShareView,
    Yielding,
    remaining,
    typical_speed,
)

PLANNED = 60
"""Units that are planned for, those due first."""
AIM = 0.96
"""Part of the time to the due date by which units are planned to end."""
HURRY = 3
"""While shares wait, running ones report after this many of the shortest intervals at the latest."""
FAR = 10**17
"""When a unit without a deadline is due."""


class Row(NamedTuple):
    """How many slots a unit is to have, while shares wait."""

    division: DivisionView
    need: int
    """With fewer, it or another unit could no longer end in time."""
    goal: int
    """With its part of those that no unit needs."""
    has: int
    """Those it has, plus those promised to it by other units, less those it gives away."""


class Request(NamedTuple):
    """A unit that should get more shares."""

    division: DivisionView
    shares: int
    because: str


class Board:
    """The plan, shared by the three roles of the policy, and what they count for the scaling hint."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Row]] = {}
        """By tenant, those short of their need first."""
        self.created = 0
        """Units that became ready in the present step."""
        self.dispatched = 0
        """Units that were started in the present step."""

    def rows(self, pool: int) -> Sequence[Row]:
        """The plan for the units of a tenant; empty: none of its shares waits."""
        return self._rows.get(pool, ())

    def post(self, pool: int, rows: Sequence[Row]) -> None:
        """Replace the plan for the units of a tenant."""
        self._rows[pool] = list(rows)

    def hand_over(self, pool: int, giver: DivisionView, taker: DivisionView) -> None:
        """Note that a slot changes hands."""
        change = {id(giver): -1, id(taker): 1}
        self._rows[pool] = [row._replace(has=row.has + change.get(id(row.division), 0)) for row in self._rows[pool]]


def is_shared(division: DivisionView) -> bool:
    """Whether slots of a unit may change hands."""
    return division.target is not None and isinstance(division.balancer, Yielding)


class Plan:
    """Slots for each unit of one tenant, those due first."""

    def __init__(self, divisions: Sequence[DivisionView], slots: int, idle: int, now: Time) -> None:
        """`slots`: how many the tenant can have; `idle`: how many of these are free of charge and not in use."""
        busy = [each for each in divisions if each.live or each.queued]
        busy.sort(key=lambda each: (FAR if each.due is None else each.due, each.unit.id))
        del busy[PLANNED:]
        self._now = now
        self._claims = {id(each): self._claim(each) for each in busy if is_shared(each) and typical_speed(each) > 0}
        self._found = sorted(busy, key=self._left)
        self._known = [each for each in self._found if id(each) in self._claims]
        self._needs = {id(each): max(each.live, int(is_shared(each))) for each in self._found}
        self._free = max(0, slots - sum(self._needs[id(each)] for each in self._found if each not in self._known))
        self._idle = idle
        self._share_out(slots)

    def _left(self, division: DivisionView) -> float:
        claim = self._claims.get(id(division))
        return claim.left if claim is not None else (FAR if division.due is None else division.due) - self._now

    def _claim(self, division: DivisionView) -> Claim:
        """What a unit needs; shares that are not measured yet are taken to be half way to their first report."""
        target = division.target or 0
        floor = division.balancer.floor if isinstance(division.balancer, Yielding) else FLOOR
        first = min(HURRY * floor, target // (2 * REPORTS))
        done = (division.live - division.measured) * first / 2
        work = max(0.0, remaining(division, self._now) * SPEED * SECOND / typical_speed(division) - done)
        left = max(floor, division.since + round(AIM * target) - self._now)
        return Claim(work, max(left, work / division.maximum), division.maximum)

    def _share_out(self, slots: int) -> None:
        least = least_now([self._claims[id(each)] for each in self._known], self._free)
        most = (min(need, each.maximum) for need, each in zip(least, self._known, strict=True))
        sums = accumulate(most, initial=0.0)
        for each, (before, after) in zip(self._known, pairwise(map(round, sums)), strict=True):
            need = self._needs[id(each)] = min(self._free, after - before, slots)
            self._free -= need

    def requests(self) -> Iterator[Request]:
        """Shares that are missing: first those that units need, then those that use idle slots."""
        for each in self._known:
            missing = self._needs[id(each)] - each.live - each.queued
            if missing > 0:
                yield Request(each, missing, f"it needs {self._needs[id(each)]} slots now to end in time")
        if len(self._known) > 1:
            yield from self._use_idle()

    def _use_idle(self) -> Iterator[Request]:
        """Slots that no unit has or waits for, as long as each share has a report interval of work."""
        idle = self._idle
        for each in self._known:
            useful = min(each.maximum, int(self._claims[id(each)].work * REPORTS / (each.target or 1)))
            more = min(idle, useful - each.live - each.queued)
            if more > 0:
                yield Request(each, more, "slots are idle, and it is due first")
                idle -= more

    def rows(self) -> list[Row]:
        """The plan, after what was requested: units short of their need first, else by when they are to end."""
        rows, free = [], self._free
        for each in self._found:
            need = self._needs[id(each)]
            more = max(0, min(free, each.live + each.queued - need)) if id(each) in self._claims else 0
            free -= more
            rows.append(Row(each, need, need + more, each.live))
        return sorted(rows, key=lambda row: row.has >= row.need)


def hurried(board: Board, division: DivisionView, interval: Duration, floor: Duration) -> Duration:
    """When a share reports again, if slots may have to change hands."""
    return min(interval, HURRY * floor) if board.rows(division.unit.run.pool.index) else interval


def taker(board: Board, giver: DivisionView, share: ShareView, now: Time) -> DivisionView | None:
    """The unit that should get the slot of a share that has reported; None: the share keeps it."""
    rows = board.rows(giver.unit.run.pool.index)
    if not rows or share.speed.value <= 0 or not is_shared(giver):
        return None
    own = next((row for row in rows if row.division is giver), Row(giver, 0, 0, giver.live))
    if own.has <= own.need:
        return None
    if remaining(giver, now) * SPEED * SECOND < share.interval * giver.speeds:
        return None  # it ends soon anyway
    for row in rows:
        if row.division is giver or row.division.unit.run.priority < giver.unit.run.priority:
            continue
        if share.kind is not None and share.kind not in row.division.unit.kinds:
            continue
        if row.has < row.need or (row.has < row.goal and own.has > own.goal):
            return row.division
    return None


def overdue(divisions: Sequence[DivisionView], now: Time) -> Mapping[int, DivisionView]:
    """Units that no share speaks for, and that have missed their due time, by number."""
    return {each.unit.id: each for each in divisions if not each.live and each.due is not None and now > each.due}
