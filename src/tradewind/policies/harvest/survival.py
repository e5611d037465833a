"""Survival: how long machines stay unchanged, as a function estimated over a rolling window of observations.

`Kaplan-Meier`: a machine that has not changed yet, or was returned before it did, counts as at risk until then
(censored). `naive`: as in the SlackSched paper, only finished waits count, which makes machines look less stable than
they are. Beyond the largest observation, the function continues as an exponential fitted to the tail.

Adding and forgetting an observation takes O(log n). The curve, which answers queries in O(log n), is recomputed when a
fraction of the window has changed, at an amortised cost of O(1) per observation; with `refresh` 0 it is always exact.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from math import exp
from typing import Any

from tradewind.model.units import DAY, HOUR, Duration, Time
from tradewind.policies.harvest.sorting import Sorted

TAIL = 0.1
"""Fraction of the observations used to fit the tail."""
LEAST_IN_TAIL = 5


class Survival:
    """The probability that something lasts longer than a time, estimated from observations within a window."""

    def __init__(
        self, window: Duration = DAY, *, is_naive: bool = False, refresh: float = 0.01, prior: Duration = HOUR
    ) -> None:
        self.window = window
        """How long observations are kept; may grow."""
        self._is_naive = is_naive
        self._refresh = refresh
        self._prior = prior
        self._ended = Sorted()
        self._censored = Sorted()
        self._seen: deque[tuple[Time, Duration, bool]] = deque()
        self._stale = 0
        self._drawn_at: Time | None = None
        self.version = 0
        """Increases each time the curve is recomputed."""
        self._draw(())

    def __len__(self) -> int:
        return len(self._seen)

    def observe(self, at: Time, lasted: Duration, *, is_censored: bool = False) -> None:
        """Record that something ended, or is no longer watched, after some time."""
        (self._censored if is_censored else self._ended).add(lasted)
        self._seen.append((at, lasted, is_censored))
        self._stale += 1
        # Observations arrive in order of time, so the oldest are at the front.
        while self._seen and self._seen[0][0] <= at - self.window:
            _, old, was_censored = self._seen.popleft()
            (self._censored if was_censored else self._ended).remove(old)
            self._stale += 1

    def is_due(self, now: Time) -> bool:
        """Return whether enough observations or time have accumulated to recompute the curve."""
        if self._drawn_at is None:
            return True
        old = now - self._drawn_at
        return self._stale > self._refresh * len(self._seen) or old > self._refresh * self.window

    def refresh(self, now: Time, waiting: Iterable[Duration]) -> None:
        """Recompute the curve, given how long current waits have lasted."""
        self._stale = 0
        self._drawn_at = now
        self.version += 1
        self._draw(() if self._is_naive else sorted(waiting))

    def beyond(self, time: Duration) -> float:
        """Return the probability of lasting longer than a time; never zero."""
        place = bisect_right(self._times, time)
        if place < len(self._times):
            return self._levels[place]
        return self._last * exp(-self._rate * (time - self._end))

    def within(self, elapsed: Duration, time: Duration) -> float:
        """Return the probability that something that has lasted so far ends within a time."""
        return 1 - self.beyond(elapsed + time) / self.beyond(elapsed)

    def until(self, elapsed: Duration, time: Duration) -> float:
        """Return the mean remaining time of something that has lasted so far, given that it ends within a time."""
        here, there = self.beyond(elapsed), self.beyond(elapsed + time)
        ending = here - there
        # Numerically nothing ends in this period; its middle is as good as any estimate.
        if ending <= 1e-12 * here:
            return time / 2
        # The mean is the area between the curve and its level at the end, divided by the probability of ending.
        return (self._area(elapsed + time) - self._area(elapsed) - time * there) / ending

    def save(self) -> dict[str, Any]:
        """Return the observations as plain values."""
        return {"seen": [list(each) for each in self._seen]}

    def load(self, saved: dict[str, Any]) -> None:
        """Replace the observations."""
        self._seen = deque((at, lasted, bool(censored)) for at, lasted, censored in saved["seen"])
        self._ended = Sorted(lasted for _, lasted, censored in self._seen if not censored)
        self._censored = Sorted(lasted for _, lasted, censored in self._seen if censored)
        self._drawn_at = None
        self._draw(())

    def _draw(self, waiting: Sequence[Duration]) -> None:
        """Compute the curve: `_levels[i]` holds before `_times[i]`, from the previous time on."""
        censored: Iterator[Duration] = iter(()) if self._is_naive else merge(self._censored, waiting)
        at_risk = len(self._ended) + (0 if self._is_naive else len(self._censored) + len(waiting))
        times: list[Duration] = []
        levels = [1.0]
        areas = [0.0]
        level = 1.0
        next_censored = next(censored, None)
        place = 0
        ended = list(self._ended)
        count = len(ended)
        while place < count:
            time = ended[place]
            last = place + 1
            while last < count and ended[last] == time:
                last += 1
            # Waits that were censored before this time are no longer at risk.
            while next_censored is not None and next_censored < time:
                at_risk -= 1
                next_censored = next(censored, None)
            areas.append(areas[-1] + level * (time - (times[-1] if times else 0)))
            before = level
            # Kaplan-Meier: survival falls by the fraction of those at risk that end now.
            level *= 1 - (last - place) / at_risk
            at_risk -= last - place
            place = last
            times.append(time)
            levels.append(level)
        if not times:
            self._rate, self._end, self._last = 1 / self._prior, 0, 1.0
        else:
            if level <= 0:
                level = before / 2  # the longest observation might have lasted longer
            self._rate, self._end, self._last = self._tail_rate(ended, waiting), times[-1], level
        self._times, self._levels, self._areas = times, levels, areas

    def _tail_rate(self, ended: Sequence[Duration], waiting: Sequence[Duration]) -> float:
        """Return ends per unit of time at risk in the tail, which contains a fraction of the observations."""
        count = min(len(ended), max(LEAST_IN_TAIL, int(TAIL * len(ended))))
        begin = ended[-count] if count < len(ended) else 0
        watched: Iterable[Duration] = ended[-count:] if self._is_naive else [*ended[-count:], *self._censored, *waiting]
        exposure = sum(time - begin for time in watched if time > begin)
        return count / exposure if exposure > 0 else 1 / self._prior

    def _area(self, time: Duration) -> float:
        """Return the integral of the curve from zero to a time."""
        place = bisect_right(self._times, time)
        if place < len(self._times) or not self._times:
            begin = self._times[place - 1] if place else 0
            area = self._areas[place] + self._levels[place] * (time - begin)
            if self._times:
                return area
        tail = self._last / self._rate * (1 - exp(-self._rate * (time - self._end)))
        return self._areas[-1] + tail
