"""The prediction engine: will a task finish on a machine before it shrinks, and when (SlackSched, 3.1 and B.2).

*Completion probability.* `first` is equation 1: it considers only the next change, which is a shrink with a probability
that depends on the last change. It therefore never falls below one minus that probability, even for very long tasks.
`shrink` is equation 3: the time from any change to the next shrink. `several` extends equation 1: a change that is not
a shrink leaves a machine that has just grown and the rest of the task, for which the same question is asked again;
changes are assumed to come when they are expected.

*Effect of a shrink.* The paper assumes that every shrink kills every task on the machine. With `learns_kills`, only the
observed fraction is expected to be killed: machines are rarely full, and shrinks rarely total. A task that survives is
on a machine that has just shrunk, and is exposed to the next shrink: with equation 3 all of them count, each when
expected.

*Expected completion.* Equation 2 restarts a preempted task on a machine that has just changed; its expected time there,
`E0 = p0 d + (1 - p0) (w0 + E0)`, is `d + (1 - p0) / p0 w0`. If `p0` is close to zero, it is capped.

*Look-back.* For a task to finish with 70 % confidence, a machine must have been stable for 2.6 times as long (Fig. 13).
Changes are therefore remembered for three times the longest task, and at least for the paper's one day.

Scores depend on how a machine changed last and how long ago. They are cached by (direction, elapsed, duration), with
both times rounded to a fraction of themselves, until the curve is recomputed.
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
"""Lower bound on completion probabilities on a fresh machine: about fifty attempts."""
PRIOR = 10.0
"""Attempts initially assumed to be killed by a shrink."""
MEMORY = 1_000.0
"""Number of attempts beyond which the counts are halved."""
UNLIKELY = 0.02
"""Shrinks that a task meets with a smaller probability are ignored."""
REACH = 3
"""How long changes are remembered, as a multiple of the longest task."""
FARTHEST = 30 * DAY
"""Maximum time for which changes are remembered."""
STEPS = 4
"""Number of steps per doubling of time."""


class Score(NamedTuple):
    """The expectation for a task on a machine."""

    probability: float
    """Probability that it finishes without being preempted."""
    time: float
    """Time until it has finished, without waiting."""
    is_capped: bool = False
    """Whether the task is so long that a restart would hardly ever succeed."""


class Predictor:
    """A predictor that learns from changes of machines how stable they are."""

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
        """By machine: the times of changes since its last shrink, for equation 3."""
        self._scores: dict[tuple[bool, int, int], Score] = {}
        self._saved: dict[str, Any] | None = None
        self._ended = self._ran = PRIOR
        """Attempts killed by a shrink, and all attempts on the machines that shrank."""
        self._learns_kills = learns_kills
        self._grown: dict[int, tuple[float, float]] = {}
        """By rounded length: the `_outlook` for a machine that has just grown."""

    def observe(self, change: Change) -> None:
        """Record a change of a machine."""
        self._saved = None
        number, at = change.machine.id, change.at
        pending = self._since_shrink.setdefault(number, [change.since])
        # Returned before it changed: a censored observation, since it would have lasted longer.
        if change.grows is None:
            self.changes.observe(at, at - change.since, is_censored=True)
            for since in self._since_shrink.pop(number):
                self.shrinks.observe(at, at - since, is_censored=True)
            return
        self.changes.observe(at, at - change.since)
        self.directions.observe(at, grew=change.grew, grows=change.grows)
        # Growth is no shrink: the wait for the next shrink also starts from here (equation 3 counts from any change).
        if change.grows:
            pending.append(at)
            return
        self._ended, self._ran = self._ended + change.ended, self._ran + change.running
        if self._ran > MEMORY:
            # Halving keeps the ratio, but lets new observations outweigh old ones.
            self._ended, self._ran = self._ended / 2, self._ran / 2
        for since in pending:
            self.shrinks.observe(at, at - since)
        self._since_shrink[number] = [at]

    def cover(self, length: Duration) -> None:
        """Extend the look-back for a task of some length."""
        wanted = min(REACH * length, FARTHEST)
        if wanted > self.changes.window:
            self.changes.window = self.shrinks.window = self.directions.window = wanted
            self._saved = None

    def forget(self, machine: int) -> None:
        """Forget a machine that is gone."""
        if self._since_shrink.pop(machine, None) is not None:
            self._saved = None

    def refresh(self, now: Time, machines: Iterable[Machine]) -> bool:
        """Recompute the curves if it is time to, and return whether they were."""
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
        """Return a number that increases each time scores may have changed."""
        return self._curve.version

    @property
    def _curve(self) -> Survival:
        return self.shrinks if self.form == "shrink" else self.changes

    def completes(self, grew: bool, elapsed: Duration, length: Duration) -> float:
        """Return the probability that a task finishes before the machine shrinks."""
        return self._outlook(grew, elapsed, length)[0]

    def expect(self, grew: bool, elapsed: Duration, length: Duration) -> Score:
        """Return equation 2 without waiting, exactly."""
        p, wasted = self._outlook(grew, elapsed, length)
        fresh, wasted_then = self._outlook(True, 0, length)  # noqa: FBT003
        # With equation 3, `_endures` already accounts for what a shrink kills.
        if self._learns_kills and self.form != "shrink":
            killed = self._ended / self._ran
            p, fresh = 1 - killed * (1 - p), 1 - killed * (1 - fresh)
        # Closed form of the expected time over any number of restarts; `LEAST` bounds it for hopeless tasks.
        restart = length + (1 - fresh) / max(fresh, LEAST) * wasted_then
        return Score(p, p * length + (1 - p) * (wasted + restart), fresh < LEAST)

    def _outlook(self, grew: bool, elapsed: Duration, length: Duration) -> tuple[float, float]:
        """Return the probability that a task finishes before a shrink, and the time wasted if it does not."""
        curve = self._curve
        if self.form == "shrink":
            return self._endures(elapsed, length, self._ended / self._ran if self._learns_kills else 1.0)
        changes = curve.within(elapsed, length)
        time = curve.until(elapsed, length)
        shrinks = self.directions.shrinks(grew)
        if self.form == "first":
            return 1 - shrinks * changes, time
        # `several`: a change that is not a shrink leaves a grown machine and the rest of the task.
        rest = length - time
        then, wasted_then = self._after_growth(rounded(round(rest))) if rest >= SECOND else (1.0, 0.0)
        at_once, later = changes * shrinks, changes * (1 - shrinks) * (1 - then)
        fails = at_once + later
        wasted = (at_once * time + later * (time + wasted_then)) / fails if fails > 0 else time
        return 1 - fails, wasted

    def _endures(self, elapsed: Duration, length: Duration, killed: float) -> tuple[float, float]:
        """Return the outlook if each shrink kills a task with a probability, and another shrink may follow."""
        curve = self.shrinks
        fails = lost = passed = 0.0
        alive = 1.0
        left = length
        # Follow the task from one expected shrink to the next, with the probability that it is still alive.
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
        """Return the outlook for the rest of a task, of a rounded length, on a machine that has just grown."""
        found = self._grown.get(length)
        if found is None:
            self._grown[length] = (1.0, 0.0)  # ends the recursion: the same step again counts as finished
            found = self._grown[length] = self._outlook(True, 0, unrounded(length))  # noqa: FBT003
        return found

    def score(self, grew: bool, elapsed: int, length: int) -> Score:
        """Return equation 2 without waiting, for times rounded by `rounded`."""
        key = (grew, elapsed, length)
        found = self._scores.get(key)
        if found is None:
            found = self._scores[key] = self.expect(grew, unrounded(elapsed), unrounded(length))
        return found

    def save(self) -> dict[str, Any]:
        """Return what was learned as plain values; the same object until something new is learned."""
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
        """Replace what was learned."""
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
    """Return the number of the step that a time falls into."""
    return bisect_right(_BEGINS, time) - 1 if time > 0 else 0


def unrounded(step: int) -> Duration:
    """Return the time at which a step begins."""
    return _BEGINS[step]
