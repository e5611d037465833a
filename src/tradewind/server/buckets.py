"""Token buckets: rate limits by token or by address."""

import time
from collections.abc import Callable


class Buckets:
    """How often somebody may come: tokens that flow in at a rate, up to a burst."""

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic, most: int = 10_000
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._most = most
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> float:
        """Let somebody in; above zero: not now, but in so many seconds."""
        now = self._clock()
        level, at = self._levels.get(who, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._rate)
        if level < 1:
            return (1 - level) / self._rate
        if who not in self._levels and len(self._levels) >= self._most:
            del self._levels[next(iter(self._levels))]
        self._levels[who] = (level - 1, now)
        return 0.0

    def is_empty(self, who: str) -> bool:
        """Whether somebody has used up all there is."""
        level, at = self._levels.get(who, (self._burst, 0.0))
        return level + (self._clock() - at) * self._rate < 1
