"""How an elastic unit is divided into shares, and what is known of each.

A *share* is a unit of its own: it is placed, started, killed and lost like any other, and holds iterations while it
runs. The `Division` keeps sums over its shares, so that an answer to a report costs the same however many there are. A
balancer (`tradewind.policies.divisible`) decides which part each share gets; it sees both as read-only views.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tradewind.core.elastic import ranges
from tradewind.core.elastic.ledger import Ledger
from tradewind.core.work import declared
from tradewind.model.elastic import Assignment, Elastic, Range
from tradewind.model.units import SECOND, Duration, Time, show_duration
from tradewind.policies.divisible.protocol import (
    MEAN,
    SPEED,
    Balancer,
    Yielding,
    eta,
    mean_speed,
    remaining,
    typical_speed,
)
from tradewind.policies.divisible.speed import Speed, moved

if TYPE_CHECKING:
    from tradewind.core.machines import Kind
    from tradewind.core.work import Unit

UNMEASURED = Speed()
FAILURES = 20
"""An elastic unit fails after this many failed shares in a row without a delivery."""
_WAITS = 4
"""A share without work reports again after this part of its interval."""
_WEIGHT = 8
"""A share that ends changes the rating of its kind by one of this many parts."""


def estimated(unit: "Unit", whole: Duration, now: Time) -> Duration:
    """How long a share, or an elastic unit, will take, if one slot needs `whole` for all iterations.

    An elastic unit that is divided takes no time beyond that of its shares. One that is not yet will get more shares
    than it begins with where its deadline needs them, and is taken to fit into half of the time that is left.
    """
    if isinstance(unit.elastic, Share):
        return unit.elastic.division.estimate(whole)
    spec = unit.task.elastic
    if spec is None or unit.elastic is not None:
        return 0
    alone, deadline = whole // max(1, min(spec.initial, spec.iterations)), unit.run.deadline
    if deadline is None:
        return alone
    return min(alone, max(whole // min(spec.maximum, spec.iterations), (deadline - now) // 2))


def longest_after(unit: "Unit") -> Duration:
    """The longest way through what waits for a unit, each task on its fastest kind; O(edges that follow)."""
    tails: dict[int, Duration] = {}
    stack = [unit]
    while stack:
        each = stack[-1]
        missing = [child for child in each.children if child.id not in tails]
        if missing:
            stack += missing
            continue
        stack.pop()
        tails[each.id] = max((tails[child.id] + _fastest(child) for child in each.children), default=0)
    return tails[unit.id]


def _fastest(unit: "Unit") -> Duration:
    time = min((declared(unit.task, kind.type) for kind in unit.kinds), default=0)
    elastic = unit.task.elastic
    return time if elastic is None else time // min(elastic.maximum, elastic.iterations)


class Share:
    """What one share holds and has done since it was started."""

    __slots__ = (
        "count",
        "delivered",
        "deliveries",
        "division",
        "done",
        "elapsed",
        "heard",
        "held",
        "interval",
        "is_leaving",
        "kind",
        "measured",
        "number",
        "rating",
        "reports",
        "speed",
        "told",
        "until",
    )

    def __init__(self, division: "Division") -> None:
        self.division = division
        self.number = -1
        """In the order in which shares of the unit were started; a share that is started again gets a new one."""
        self.kind: Kind | None = None
        """Of the machine it was last started on."""
        self.rating = MEAN
        """How fast machines of that kind were then, in millionths of the mean of all that could run it."""
        self._reset(0)

    def _reset(self, interval: Duration) -> None:
        self.held: list[Range] = []
        """Not delivered, in the order in which they are done."""
        self.count = 0
        """How many iterations these are."""
        self.delivered = 0
        self.deliveries = 0
        self.done = 0
        """Delivered, or reported as done."""
        self.told = 0
        """Done when its speed was last measured."""
        self.measured: Duration = 0
        """When that was, by the clock of the share."""
        self.elapsed: Duration = 0
        """Of the last report, by the clock of the share since its start."""
        self.speed = UNMEASURED
        self.heard = 0
        """Milliseconds from the start of the division to the last report."""
        self.reports = 0
        self.interval = interval
        self.until: Time = 0
        """When it is given up unless it reports before."""
        self.is_leaving = False
        """Whether it has been told to end, so that its machine can go to another unit."""

    def begin(self, number: int, interval: Duration) -> None:
        """Start from nothing."""
        self.number = number
        self._reset(interval)

    @property
    def left(self) -> int:
        """Iterations that it holds and has not done."""
        return self.count - (self.done - self.delivered)


class Division:
    """An elastic unit at work, with sums over its running shares."""

    __slots__ = (
        "asked",
        "balancer",
        "computed",
        "failures",
        "initial",
        "is_late",
        "is_over",
        "ledger",
        "live",
        "made",
        "measured",
        "paced",
        "queued",
        "rated",
        "shares",
        "silent",
        "spec",
        "speeds",
        "submitted",
        "tail",
        "unit",
    )

    def __init__(self, unit: "Unit", spec: Elastic, balancer: Balancer, now: Time, initial: int) -> None:
        self.unit = unit
        self.spec = spec
        self.initial = initial
        """Shares at the start."""
        self.balancer = balancer
        self.submitted = now
        """When it could start."""
        self.tail = longest_after(unit)
        """Time that what follows on it takes at least."""
        self.ledger = Ledger(spec.iterations)
        self.shares: dict[int, Unit] = {}
        """Units that share it and have not ended."""
        self.asked = now
        """When it last asked for more shares."""
        self.queued = 0
        """Shares that wait for a machine."""
        self.live = 0
        """Shares that run."""
        self.measured = 0
        """Running shares whose speed is known."""
        self.speeds = 0
        self.paced = 0
        self.silent = 0
        self.rated = 0
        self.computed = 0
        self.made = 0
        self.failures = 0
        """Shares that failed since the last delivery."""
        self.is_late = False
        """Whether it was last expected to miss its deadline."""
        self.is_over = False
        """Whether nothing more is shared out: all is delivered, or it was given up."""

    @property
    def division(self) -> "Division":
        """Itself."""
        return self

    @property
    def iterations(self) -> int:
        """All of them."""
        return self.spec.iterations

    @property
    def unassigned(self) -> int:
        """Held by no share, and not delivered."""
        return self.ledger.unassigned

    @property
    def maximum(self) -> int:
        """Most shares at once."""
        return self.spec.maximum

    @property
    def weights(self) -> tuple[int, ...]:
        """Of the initial shares."""
        return self.spec.weights

    @property
    def since(self) -> Time:
        """From when the target counts."""
        return self.submitted

    @property
    def due(self) -> Time | None:
        """When it should have ended; None: it has no deadline, and nothing is balanced."""
        deadline, within = self.unit.run.deadline, self.spec.within
        ends = []
        if deadline is not None:
            ends.append(deadline - self.tail)
        if within is not None:
            ends.append(self.submitted + within)
        return min(ends, default=None)

    @property
    def target(self) -> Duration | None:
        """Time from its start to when it should end."""
        due = self.due
        return None if due is None else max(1, due - self.submitted)

    def begin(self, share: Share, kind: "Kind", now: Time) -> Assignment:
        """A share has been started on a machine of a kind."""
        self.queued -= 1
        share.kind = kind
        share.rating = (kind.rating or MEAN) * MEAN // mean_rating(self.unit.need.kinds)
        self.live += 1
        share.begin(self.made, self.balancer.interval(self, None, 0.0))
        self.made += 1
        self._hold(share, self.balancer.share(self, share, now))
        return self.answer(share, now)

    def deliver(self, share: Share, given: Sequence[Range]) -> bool:
        """Count iterations of a share as delivered, unless it does not hold them."""
        left = ranges.without(share.held, given)
        if left is None:
            return False
        count = ranges.size(given)
        share.held = left
        share.count -= count
        share.delivered += count
        share.deliveries += 1
        self.ledger.delivered += count
        self._advance(share, max(share.done, share.delivered))
        self.failures = 0
        return True

    def report(self, share: Share, done: int, elapsed: Duration, now: Time) -> None:
        """Note how far a share has come; a report that is not later than one before says nothing new."""
        if elapsed <= share.elapsed:
            return
        before = share.speed
        done = max(done, share.done)
        share.elapsed = elapsed
        if done > share.told:
            speed = self.balancer.measure(before, done - share.told, elapsed - share.measured)
            share.told, share.measured = done, elapsed
            self._report(share, speed, now)
        elif share.left > 0:  # not even one iteration is done since: it is no faster than that
            self._report(share, min(before, Speed(SPEED * SECOND // (elapsed - share.measured), before.spread)), now)
        else:  # it has waited, which says nothing about its speed
            share.measured = elapsed
        self._advance(share, done)

    def _report(self, share: Share, speed: Speed, now: Time) -> None:
        share.reports += 1
        share.interval = self.balancer.interval(self, share, moved(share.speed, speed))
        self._measure(share, speed, now)

    def balance(self, share: Share, now: Time, ahead: int = 0) -> None:
        """Give a share what it should have before it, or take back what is more; it keeps what it goes ahead with."""
        self._hold(share, max(self.balancer.share(self, share, now), min(ahead, share.left)))

    def leave(self, share: Share) -> int:
        """A share has ended or is lost: what it holds goes back. Return how many iterations that are."""
        self._rate(share)
        self.live -= 1
        back = self.ledger.take_back(share.held)
        self._advance(share, share.delivered)
        if share.speed.value > 0:
            self.measured -= 1
            self.speeds -= share.speed.value
            self.paced -= share.speed.value * share.heard
            self.silent += share.speed.value
        share.begin(share.number, share.interval)
        return back

    def resume(self, share: Share) -> None:
        """Count a share that runs on with what it held before a restart."""
        self.live += 1
        self.computed += share.done - share.delivered
        if share.speed.value > 0:
            self.measured += 1
            self.speeds += share.speed.value
            self.paced += share.speed.value * share.heard

    def empty(self, share: Share, ahead: int = 0) -> None:
        """Take back what a share holds and has not done, except what it goes ahead with."""
        self._hold(share, min(ahead, share.left))

    def gives_way(self, share: Share, now: Time) -> str:
        """Why a share that has reported should end, so that its machine can go to another unit; empty: it goes on."""
        balancer = self.balancer
        return balancer.gives_way(self, share, now) if isinstance(balancer, Yielding) else ""

    def answer(self, share: Share, now: Time) -> Assignment:
        """What a share is to do now."""
        held = tuple(share.held)
        if share.left > 0:
            return Assignment(held, share.interval, "go")
        time = eta(self, now)
        if self.target is None or not self.balancer.moves_work or (time is not None and time < share.interval):
            return Assignment(held, share.interval, "end")
        return Assignment(held, max(self.spec.report // 10, share.interval // _WAITS), "wait")

    def time_left(self, now: Time) -> Duration | None:
        """How long the running shares need, those not measured yet being like the others; None: no speed is known."""
        if self.speeds <= 0:
            return None
        speed = self.speeds + (self.live - self.measured) * mean_speed(self)
        return remaining(self, now) * SPEED * SECOND // speed

    def outlook(self, now: Time) -> str:
        """What is to be expected, in words."""
        time = self.time_left(now)
        if time is None:
            return "no speed is known yet"
        text = f"{remaining(self, now):,} of {self.iterations:,} iterations left on {self.live} shares"
        due = self.due
        if due is None:
            return f"{text}: ends in {show_duration(time)}"
        late = now + time - due
        way = f"{show_duration(late)} late" if late > 0 else f"{show_duration(-late)} to spare"
        return f"{text}: ends in {show_duration(time)}, {way}"

    def estimate(self, whole: Duration) -> Duration:
        """How long a share takes, if one slot needs `whole` for all iterations."""
        left = self.iterations - self.computed
        return whole * left // (self.iterations * max(1, self.live + self.queued))

    def _hold(self, share: Share, wanted: int) -> None:
        more = wanted - share.left
        if more < 0:
            share.count -= self.ledger.take_back(ranges.cut(share.held, -more))
        else:
            share.count += self.ledger.assign(share.held, more)

    def _advance(self, share: Share, done: int) -> None:
        self.computed += done - share.done
        share.done = done

    def _measure(self, share: Share, speed: Speed, now: Time) -> None:
        if share.speed.value <= 0 < speed.value:
            self.measured += 1
            self.rated += share.rating
        heard = (now - self.submitted) // 1000
        self.speeds += speed.value - share.speed.value
        self.paced += speed.value * heard - share.speed.value * share.heard
        share.speed = speed
        share.heard = heard

    def _rate(self, share: Share) -> None:
        """Note how fast machines of a kind are, by a share that ends there."""
        if share.kind is not None and share.speed.value > 0 and self.measured > 1:
            speed = share.speed.value * MEAN // max(1, typical_speed(self))
            known = share.kind.rating or MEAN
            share.kind.rating = max(1, known + (speed - known) // _WEIGHT)


def mean_rating(kinds: "Sequence[Kind]") -> int:
    """How fast the mean of all machines is that there may be of some kinds."""
    count = sum(kind.type.limit for kind in kinds)
    return max(1, sum(kind.type.limit * (kind.rating or MEAN) for kind in kinds) // count) if count else MEAN
