"""Plain data read from a file, and the line of each value."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tradewind.formats.errors import Place, Problems

DEEPEST = 64
"""Maximum nesting depth: no format here needs more than ten levels."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Mappings, lists and scalars as read from a file."""

    file: str
    data: Any
    find_lines: Callable[[frozenset[Place]], Mapping[Place, int]]
    """Reads the file again to find the lines of the given places, as far as they exist."""

    def locate(self, places: Sequence[Place]) -> list[int | None]:
        """Return the line of each place, or of the nearest enclosing place that exists."""
        ways = frozenset(place[:length] for place in places for length in range(len(place) + 1))
        lines = self.find_lines(ways)
        return [self._nearest(place, lines) for place in places]

    def problems(self) -> Problems:
        """Return an empty list of problems with this file."""
        return Problems(self.file, self.locate)

    @staticmethod
    def _nearest(place: Place, lines: Mapping[Place, int]) -> int | None:
        return next((lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines), None)
