"""Sums on ranges of iterations: short lists of disjoint ranges, in the order in which they are done."""

from collections.abc import Iterable, Sequence

from tradewind.model.elastic import Range


def size(ranges: Iterable[Range]) -> int:
    """How many iterations there are."""
    return sum(end - begin for begin, end in ranges)


def append(ranges: list[Range], new: Range) -> None:
    """Add a range at the end, joined to the last one where it goes on."""
    if ranges and ranges[-1][1] == new[0]:
        ranges[-1] = (ranges[-1][0], new[1])
    else:
        ranges.append(new)


def cut(ranges: list[Range], count: int) -> list[Range]:
    """Take so many iterations off the end."""
    taken: list[Range] = []
    while count > 0 and ranges:
        begin, end = ranges.pop()
        if end - begin > count:
            ranges.append((begin, end - count))
            begin = end - count
        count -= end - begin
        taken.append((begin, end))
    return taken


def without(ranges: Sequence[Range], gone: Iterable[Range]) -> list[Range] | None:
    """What is left of some ranges; None: not all that goes was there, or it goes twice."""
    left = list(ranges)
    for first, last in gone:
        place = next((i for i, (begin, end) in enumerate(left) if begin <= first and last <= end), None)
        if place is None or first >= last:
            return None
        begin, end = left[place]
        left[place : place + 1] = [part for part in ((begin, first), (last, end)) if part[0] < part[1]]
    return left
