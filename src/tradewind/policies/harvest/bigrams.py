"""Which way a machine changes after the way it changed last: bigrams over a rolling window (SlackSched, 3.1.1)."""

from collections import deque
from typing import Any

from tradewind.model.units import DAY, Duration, Time


class Bigrams:
    """How often a machine shrinks after it has grown, and after it has shrunk; O(1) for each change."""

    def __init__(self, window: Duration = DAY) -> None:
        self.window = window
        """For how long changes are kept; may grow."""
        self._seen: deque[tuple[Time, bool, bool]] = deque()
        self._counts = [[0, 0], [0, 0]]

    def observe(self, at: Time, *, grew: bool, grows: bool) -> None:
        """A machine that grew, or shrank, last time grows or shrinks now."""
        self._seen.append((at, grew, grows))
        self._counts[grew][grows] += 1
        while self._seen[0][0] <= at - self.window:
            _, before, now = self._seen.popleft()
            self._counts[before][now] -= 1

    def shrinks(self, grew: bool) -> float:  # reads like the probability it is
        """The probability that the next change is a shrink; one of each kind counts as seen, so it is never certain."""
        shrunk, grown = self._counts[grew]
        return (shrunk + 1) / (shrunk + grown + 2)

    def save(self) -> list[list[Any]]:
        """What was observed, as plain values."""
        return [list(each) for each in self._seen]

    def load(self, saved: list[list[Any]]) -> None:
        """Replace what was observed."""
        self._seen = deque((at, bool(grew), bool(grows)) for at, grew, grows in saved)
        self._counts = [[0, 0], [0, 0]]
        for _, grew, grows in self._seen:
            self._counts[grew][grows] += 1
