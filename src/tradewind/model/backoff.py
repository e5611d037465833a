"""Pauses between two tries of a request."""

from collections.abc import Callable

from tradewind.model.units import SECOND, Duration

LONGEST = 15 * SECOND
"""Between two tries of callers that hold no lease: half the usual silence."""
_FIRST = SECOND // 5


class Backoff:
    """Pauses between tries: none after the first failure, then growing ones.

    They have jitter, so that a thousand workers do not come back at the same instant. A caller whose lease allows a
    certain silence must try again before it is over: no pause is longer than half of that.
    """

    def __init__(self, chance: Callable[[], float], silence: Duration = 2 * LONGEST) -> None:
        self._chance = chance
        self._longest = silence // 2
        self._next: Duration = 0

    def pause(self) -> Duration:
        """Return how long to wait now."""
        wait = round(min(self._next, self._longest) * (0.5 + self._chance() / 2))
        self._next = max(_FIRST, 2 * self._next)
        return wait

    def reset(self) -> None:
        """Begin again: a try was answered."""
        self._next = 0
