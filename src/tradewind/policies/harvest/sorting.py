"""A sorted multiset of integers in blocks: adding and removing move at most one block."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import chain

_BLOCK = 512


class Sorted:
    """Numbers in order; each operation takes O(log n) comparisons."""

    __slots__ = ("_blocks", "_count", "_firsts")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        ordered = sorted(numbers)
        self._blocks = [ordered[at : at + _BLOCK] for at in range(0, len(ordered), _BLOCK)]
        self._firsts = [block[0] for block in self._blocks]
        self._count = len(ordered)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._blocks)

    def add(self, number: int) -> None:
        """Add a number."""
        self._count += 1
        if not self._blocks:
            self._blocks.append([number])
            self._firsts.append(number)
            return
        place = max(0, bisect_right(self._firsts, number) - 1)
        block = self._blocks[place]
        insort(block, number)
        self._firsts[place] = block[0]
        if len(block) > 2 * _BLOCK:
            self._blocks[place : place + 1] = [block[:_BLOCK], block[_BLOCK:]]
            self._firsts.insert(place + 1, block[_BLOCK])

    def remove(self, number: int) -> None:
        """Remove a number, which must be present."""
        place = max(0, bisect_left(self._firsts, number) - 1)
        while number > self._blocks[place][-1]:
            place += 1
        block = self._blocks[place]
        del block[bisect_left(block, number)]
        self._count -= 1
        if block:
            self._firsts[place] = block[0]
        else:
            del self._blocks[place], self._firsts[place]
