"""A sorted multiset of whole numbers in blocks: adding, removing and ranking move no more than one block."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

_BLOCK = 512


class Sorted:
    """Numbers in order; each operation takes O(log n) comparisons."""

    __slots__ = ("_blocks", "_counts", "_firsts")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        ordered = sorted(numbers)
        self._blocks = [ordered[at : at + _BLOCK] for at in range(0, len(ordered), _BLOCK)]
        self._index()

    def __len__(self) -> int:
        return self._counts[-1]

    def __iter__(self) -> Iterator[int]:
        for block in self._blocks:
            yield from block

    def add(self, number: int) -> None:
        """Put a number in."""
        if not self._blocks:
            self._blocks.append([number])
            self._index()
            return
        place = max(0, bisect_right(self._firsts, number) - 1)
        block = self._blocks[place]
        insort(block, number)
        if len(block) > 2 * _BLOCK:
            self._blocks[place : place + 1] = [block[:_BLOCK], block[_BLOCK:]]
            self._index()
        else:
            self._firsts[place] = block[0]
            self._count_from(place)

    def remove(self, number: int) -> None:
        """Take a number out, which must be there."""
        place = max(0, bisect_left(self._firsts, number) - 1)
        while number > self._blocks[place][-1]:
            place += 1
        block = self._blocks[place]
        del block[bisect_left(block, number)]
        if not block:
            del self._blocks[place]
            self._index()
        else:
            self._firsts[place] = block[0]
            self._count_from(place)

    def up_to(self, number: int) -> int:
        """How many are at most as large as a number."""
        place = bisect_right(self._firsts, number) - 1
        return self._counts[place] + bisect_right(self._blocks[place], number) if place >= 0 else 0

    def _index(self) -> None:
        self._firsts = [block[0] for block in self._blocks]
        self._counts = [0] * (len(self._blocks) + 1)
        self._count_from(0)

    def _count_from(self, place: int) -> None:
        """`_counts` holds how many stand before each block."""
        count = self._counts[place]
        for at in range(place, len(self._blocks)):
            count += len(self._blocks[at])
            self._counts[at + 1] = count
