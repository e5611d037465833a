"""The prediction engine: will a task end on a machine before that shrinks, and when (SlackSched, 3.1 and appendix B.2).

*Completion probability.* `first` is equation 1: only the next change counts, which is a shrink with the probability
that the last change gives; so it never falls below one minus that, however long the task. `shrink` is equation 3: the
time from any change to the next shrink. `several` goes on from equation 1: a change that is no shrink leaves a machine
that has just grown, and the rest of the task, for which the same is asked again; changes count as coming when they are
expected.

*What a shrink ends.* The paper takes every shrink to end every task on the machine. With `learns_kills` only the share
is expected to end that did so before: machines are rarely full, and shrinks rarely total. What outlives one is on a
machine that has just shrunk, and has the next one to fear: with equation 3 all of them count, each when it is expected.

*Expected completion.* Equation 2 restarts a preempted task on a machine that has just changed; its expected time there,
`E0 = p0 d + (1 - p0) (w0 + E0)`, is `d + (1 - p0) / p0 w0`. Where `p0` is next to nothing it is capped.

*How far back.* For a task to end with 70 % confidence a machine must have been stable for 2.6 times as long (Fig. 13);
so changes are remembered for three times the length of the longest task, and for a day at least, which is the paper's.

Scores depend on how a machine changed last and how long ago. They are kept by (direction, elapsed, duration), the two
times rounded to a part of themselves, until the curve is drawn anew.
"""

from bisect import bisect_right
from collections.abc import Iterable
from math import ceil
from typing import Any, Literal, NamedTuple

from tradewind.model.units import DAY, SECOND, Duration, Time
from tradewind.policies.harvest.bigrams import Bigrams
from tradewind.policies.harvest.survival import Survival
from tradewind.policies.protocol import Change, Machine

Form = Literal["first", "shrink", "several"]

LEAST = 0.02
"""Completion probabilities on a fresh machine below this count as this much: about fifty tries."""
PRIOR = 10.0
"""Attempts of which it is taken for granted at first that they end with a shrink."""
MEMORY = 1_000.0
"""Attempts beyond which older ones are forgotten by half."""
UNLIKELY = 0.02
"""Shrinks that a task meets with a smaller probability are left out."""
REACH = 3
"""How many times the longest task changes are remembered for."""
FARTHEST = 30 * DAY
"""For which changes are remembered at most."""
STEPS = 4
"""Into how many steps a doubling of time is divided."""


class Score(NamedTuple):
    """What is expected of a task on a machine."""

    probability: float
    """That it ends without being preempted."""
    time: float
    """Until it has ended, waiting not included."""
    is_capped: bool = False
    """Whether the task is so long that a restart would hardly ever succeed."""


class Predictor:
    """Learns from changes of machines how stable they are."""

    def __init__(
        self,
        window: Duration = DAY,
        *,
        form: Form = "first",
        is_naive: bool = False,
        learns_kills: bool = False,
        refresh: float = 0.01,
    ) -> None:
        self.form = form
        self.changes = Survival(window, is_naive=is_naive, refresh=refresh)
        self.shrinks = Survival(window, is_naive=is_naive, refresh=refresh)
        self.directions = Bigrams(window)
        self._since_shrink: dict[int, list[Time]] = {}
        """By machine: when it has changed since it last shrank, for equation 3."""
        self._scores: dict[tuple[bool, int, int], Score] = {}
        self._saved: dict[str, Any] | None = None
        self._ended = self._ran = PRIOR
        """Attempts that ended with a shrink, and all that ran on the machines that shrank."""
        self._learns_kills = learns_kills
        self._grown: dict[int, tuple[float, float]] = {}
        """By rounded length: what `_outlook` says of a machine that has just grown."""

    def observe(self, change: Change) -> None:
        """A machine has changed."""
        self._saved = None
        number, at = change.machine.id, change.at
        pending = self._since_shrink.setdefault(number, [change.since])
        if change.grows is None:
            self.changes.observe(at, at - change.since, is_censored=True)
            for since in self._since_shrink.pop(number):
                self.shrinks.observe(at, at - since, is_censored=True)
            return
        self.changes.observe(at, at - change.since)
        self.directions.observe(at, grew=change.grew, grows=change.grows)
        if change.grows:
            pending.append(at)
            return
        self._ended, self._ran = self._ended + change.ended, self._ran + change.running
        if self._ran > MEMORY:
            self._ended, self._ran = self._ended / 2, self._ran / 2
        for since in pending:
            self.shrinks.observe(at, at - since)
        self._since_shrink[number] = [at]

    def cover(self, length: Duration) -> None:
        """There is a task of some length: look back far enough for it from now on."""
        wanted = min(REACH * length, FARTHEST)
        if wanted > self.changes.window:
            self.changes.window = self.shrinks.window = self.directions.window = wanted
            self._saved = None

    def forget(self, machine: int) -> None:
        """A machine is gone."""
        if self._since_shrink.pop(machine, None) is not None:
            self._saved = None

    def refresh(self, now: Time, machines: Iterable[Machine]) -> bool:
        """Draw curves anew if it is time to; whether that was done."""
        if not self._curve.is_due(now):
            return False
        if self.form != "shrink":
            self.changes.refresh(now, [now - machine.changed for machine in machines if machine.is_up])
        else:
            waits = self._since_shrink
            self.shrinks.refresh(
                now, [now - since for machine in machines for since in waits.get(machine.id, (machine.changed,))]
            )
        self._scores.clear()
        self._grown.clear()
        return True

    @property
    def version(self) -> int:
        """Grows each time scores may have changed."""
        return self._curve.version

    @property
    def _curve(self) -> Survival:
        return self.shrinks if self.form == "shrink" else self.changes

    def completes(self, grew: bool, elapsed: Duration, length: Duration) -> float:
        """The probability that a task ends before the machine shrinks."""
        return self._outlook(grew, elapsed, length)[0]

    def expect(self, grew: bool, elapsed: Duration, length: Duration) -> Score:
        """Equation 2 without waiting, exactly."""
        p, wasted = self._outlook(grew, elapsed, length)
        fresh, wasted_then = self._outlook(True, 0, length)  # noqa: FBT003
        if self._learns_kills and self.form != "shrink":
            killed = self._ended / self._ran
            p, fresh = 1 - killed * (1 - p), 1 - killed * (1 - fresh)
        restart = length + (1 - fresh) / max(fresh, LEAST) * wasted_then
        return Score(p, p * length + (1 - p) * (wasted + restart), fresh < LEAST)

    def _outlook(self, grew: bool, elapsed: Duration, length: Duration) -> tuple[float, float]:
        """How likely a task ends before the machine shrinks, and otherwise the time wasted until then."""
        curve = self._curve
        if self.form == "shrink":
            return self._endures(elapsed, length, self._ended / self._ran if self._learns_kills else 1.0)
        changes = curve.within(elapsed, length)
        time = curve.until(elapsed, length)
        shrinks = self.directions.shrinks(grew)
        if self.form == "first":
            return 1 - shrinks * changes, time
        rest = length - time
        then, wasted_then = self._after_growth(rounded(round(rest))) if rest >= SECOND else (1.0, 0.0)
        at_once, later = changes * shrinks, changes * (1 - shrinks) * (1 - then)
        fails = at_once + later
        wasted = (at_once * time + later * (time + wasted_then)) / fails if fails > 0 else time
        return 1 - fails, wasted

    def _endures(self, elapsed: Duration, length: Duration, killed: float) -> tuple[float, float]:
        """The outlook where each shrink ends a task with a probability, and another may follow."""
        curve = self.shrinks
        fails = lost = passed = 0.0
        alive = 1.0
        left = length
        while True:
            shrinks = alive * curve.within(elapsed, left)
            time = curve.until(elapsed, left)
            passed += time
            fails += shrinks * killed
            lost += shrinks * killed * passed
            alive = shrinks * (1 - killed)
            left = round(length - passed)
            elapsed = 0
            if alive < UNLIKELY or left < SECOND:
                return 1 - fails, lost / fails if fails > 0 else time

    def _after_growth(self, length: int) -> tuple[float, float]:
        """The outlook for the rest of a task, of a rounded length, on a machine that has just grown."""
        found = self._grown.get(length)
        if found is None:
            self._grown[length] = (1.0, 0.0)  # what comes back to the same step has come to its end
            found = self._grown[length] = self._outlook(True, 0, unrounded(length))  # noqa: FBT003
        return found

    def score(self, grew: bool, elapsed: int, length: int) -> Score:
        """Equation 2 without waiting, for rounded times as `rounded` gives them."""
        key = (grew, elapsed, length)
        found = self._scores.get(key)
        if found is None:
            found = self._scores[key] = self.expect(grew, unrounded(elapsed), unrounded(length))
        return found

    def save(self) -> dict[str, Any]:
        """What was learnt, as plain values; the same object until something new is learnt."""
        if self._saved is None:
            self._saved = {
                "window": self.changes.window,
                "changes": self.changes.save(),
                "shrinks": self.shrinks.save(),
                "directions": self.directions.save(),
                "kills": [self._ended, self._ran],
                "since_shrink": [[machine, since] for machine, since in self._since_shrink.items()],
            }
        return self._saved

    def load(self, saved: dict[str, Any]) -> None:
        """Replace what was learnt."""
        self.cover(saved.get("window", 0) // REACH)
        self.changes.load(saved["changes"])
        self.shrinks.load(saved["shrinks"])
        self.directions.load(saved["directions"])
        self._ended, self._ran = saved["kills"]
        self._since_shrink = {machine: list(since) for machine, since in saved["since_shrink"]}
        self._scores.clear()
        self._grown.clear()
        self._saved = None


_BEGINS = [ceil((2 ** (step / STEPS) - 1) * SECOND) for step in range(30 * STEPS)]


def rounded(time: Duration) -> int:
    """The number of the step in which a time lies."""
    return bisect_right(_BEGINS, time) - 1 if time > 0 else 0


def unrounded(step: int) -> Duration:
    """The time at which a step begins."""
    return _BEGINS[step]
