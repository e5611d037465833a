"""Ready units by run: in order, and only as many as are asked for.

Planners go through the ready work of each run in order, and stop where machines or money end. A heap for each run and
need lets them do so without sorting, or even looking at, what waits behind that. Only pools whose policy asks for it
keep these heaps; `benchmarks backlog` shows what they are for.
"""

from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from tradewind.core.work import READY, Unit
from tradewind.policies import protocol


class Line:
    """Ready units of one run and need, by number; entries that no longer hold are skipped when met."""

    __slots__ = ("_index", "_numbers", "_skipped", "_units", "need")

    def __init__(self, need: protocol.Need, units: Mapping[int, Unit]) -> None:
        self.need = need
        self._index = need.index
        self._units = units
        self._numbers: list[int] = []
        """A heap."""
        self._skipped = 0
        """How many entries have been met that no longer held, since these were last removed."""

    def add(self, number: int) -> None:
        """A unit has become ready."""
        heappush(self._numbers, number)

    def in_order(self) -> Iterator[Unit]:
        """Its ready units, lazily; O(log n) for each in those that came before."""
        numbers = self._numbers
        if self._skipped > len(numbers):
            numbers[:] = {number for number in numbers if self._ready(number) is not None}
            heapify(numbers)
            self._skipped = 0
        while numbers and self._ready(numbers[0]) is None:
            heappop(numbers)
        last = -1
        for number in ascending(numbers):
            unit = self._ready(number)
            if unit is None or number == last:
                self._skipped += 1
            else:
                yield unit
            last = number

    def _ready(self, number: int) -> Unit | None:
        unit = self._units.get(number)
        return unit if unit is not None and unit.state == READY and unit.need.index == self._index else None


Lines: TypeAlias = dict[int, dict[int, Line]]
"""By run, then by need."""


def add(lines: Lines, unit: Unit, units: Mapping[int, Unit]) -> None:
    """A unit has become ready."""
    by_need = lines.setdefault(unit.run.id, {})
    line = by_need.get(unit.need.index)
    if line is None:
        line = by_need[unit.need.index] = Line(unit.need, units)
    line.add(unit.id)


def merged(lines: Mapping[int, Line], is_wanted: Callable[[protocol.Need], bool]) -> Iterator[Unit]:
    """Ready units of a run in order, those of a need as long as it is wanted."""
    heads: list[tuple[int, int, Unit, Iterator[Unit]]] = []
    for place, line in enumerate(lines.values()):
        units = line.in_order()
        for first in units:
            heads.append((first.id, place, first, units))
            break
    heapify(heads)
    while heads:
        _, place, unit, units = heappop(heads)
        if is_wanted(unit.need):
            yield unit
            for following in units:
                heappush(heads, (following.id, place, following, units))
                break


def ascending(heap: list[int]) -> Iterator[int]:
    """The entries of a heap in order, lazily, which leaves it as it is; O(log n) for each in those before it."""
    ahead = [(heap[0], 0)] if heap else []  # a heap of entries whose parents in the other heap have been passed
    while ahead:
        entry, place = heappop(ahead)
        yield entry
        for child in (2 * place + 1, 2 * place + 2):
            if child < len(heap):
                heappush(ahead, (heap[child], child))
