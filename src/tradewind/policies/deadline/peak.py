"""The peak of a load as work comes and goes, updated from the changes instead of the whole vector.

The changes of a load vector are kept in blocks, each with its sum and its highest level. An update touches two blocks,
and the peak is found by one pass over the blocks: O(sqrt n) in the number of changes.
"""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from math import isqrt

from tradewind.model.units import Time
from tradewind.policies.deadline.load import LoadVector, enough


class Block:
    """A run of consecutive changes of a load vector."""

    __slots__ = ("changes", "sum", "times", "top")

    def __init__(self, times: list[Time], changes: list[float]) -> None:
        self.times = times
        self.changes = changes
        self.measure()

    def measure(self) -> None:
        """Compute the final and the highest level, relative to the start of the block."""
        levels = list(accumulate(self.changes))
        self.sum = levels[-1]
        self.top = max(levels)

    def change(self, at: Time, by: float) -> None:
        """Change the load at a time."""
        place = bisect_left(self.times, at)
        if place < len(self.times) and self.times[place] == at:
            self.changes[place] += by
        else:
            self.times.insert(place, at)
            self.changes.insert(place, by)
        self.measure()


class Peak:
    """The largest load on the machines of a type within the period considered."""

    def __init__(self, load: LoadVector, machines: int, slots: int, now: Time, until: Time) -> None:
        self._load = load
        self.machines = machines
        self._slots = slots
        self._now = now
        self._until = until
        self._blocks: list[Block] = []
        self._firsts: list[Time] = []
        self._size = 0
        """Maximum number of changes in a block; 0: the blocks have not been built yet."""

    def takes(self, begin: Time, end: Time, density: float) -> bool:
        """Return whether the machines are enough with additional work; if so, add it."""
        # Already short without the new work: consolidating here would only move the shortage.
        if self.is_short():
            return False
        self._add(begin, end, density)
        # Try it, and take it back if it does not fit.
        if not self.is_short():
            return True
        self._add(begin, end, -density)
        return False

    def remove(self, begin: Time, end: Time, density: float) -> None:
        """Remove work that has moved elsewhere."""
        self._add(begin, end, -density)

    def is_short(self) -> bool:
        """Return whether more machines are needed than there are."""
        if not self._size:
            self._divide()
        level = most = 0.0
        for block in self._blocks:
            most = max(most, level + block.top)
            level += block.sum
        return enough(most, self._slots) > self.machines

    def _add(self, begin: Time, end: Time, density: float) -> None:
        # A window without length would cancel itself out.
        end = max(end, begin + 1)
        self._load.add(begin, end, density)
        if self._size:
            self._change(begin, density)
            self._change(end, -density)

    def _change(self, at: Time, by: float) -> None:
        if at >= self._until:
            return
        number = max(0, bisect_right(self._firsts, at) - 1)
        block = self._blocks[number]
        block.change(at, by)
        self._firsts[number] = block.times[0]
        # Keep blocks near sqrt(n), so that updates and scans stay balanced.
        if len(block.times) > 2 * self._size:
            self._divide()

    def _divide(self) -> None:
        changes = self._load.changes
        times = sorted(at for at in changes if at < self._until) or [self._now]
        self._size = max(16, isqrt(len(times)))
        parts = [times[place : place + self._size] for place in range(0, len(times), self._size)]
        self._blocks = [Block(part, [changes.get(at, 0.0) for at in part]) for part in parts]
        self._firsts = [part[0] for part in parts]
