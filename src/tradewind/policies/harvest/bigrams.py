"""Predict the direction of a machine's next change from its last: bigrams over a rolling window (SlackSched, 3.1.1)."""

from collections import deque
from typing import Any

from tradewind.model.units import DAY, Duration, Time


class Bigrams:
    """Counts of shrinks after growth and after a shrink; O(1) per change."""

    def __init__(self, window: Duration = DAY) -> None:
        self.window = window
        """How long changes are kept; may grow."""
        self._seen: deque[tuple[Time, bool, bool]] = deque()
        self._counts = [[0, 0], [0, 0]]

    def observe(self, at: Time, *, grew: bool, grows: bool) -> None:
        """Record that a machine that last grew, or shrank, now grows or shrinks."""
        self._seen.append((at, grew, grows))
        self._counts[grew][grows] += 1
        while self._seen[0][0] <= at - self.window:
            _, before, now = self._seen.popleft()
            self._counts[before][now] -= 1

    def shrinks(self, grew: bool) -> float:  # reads like the probability it is
        """Return the probability that the next change is a shrink; add-one smoothing keeps it from being certain."""
        shrunk, grown = self._counts[grew]
        return (shrunk + 1) / (shrunk + grown + 2)

    def save(self) -> list[list[Any]]:
        """Return the observations as plain values."""
        return [list(each) for each in self._seen]

    def load(self, saved: list[list[Any]]) -> None:
        """Replace the observations."""
        self._seen = deque((at, bool(grew), bool(grows)) for at, grew, grows in saved)
        self._counts = [[0, 0], [0, 0]]
        for _, grew, grows in self._seen:
            self._counts[grew][grows] += 1
