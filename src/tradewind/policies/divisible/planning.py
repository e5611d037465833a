"""How many slots each of several jobs must have now, so that all of them can still end in time.

Jobs may run on any number of slots up to a most; their work can be moved freely. Seen backwards from the last due time,
jobs appear when they are due and must all be done by now; as much as possible is put into each stretch between two due
times, first of those that need the longest with all the slots they may have. That leaves as little as can be for the
first stretch (Muntz and Coffman's level algorithm, for slots that are shared).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple


class Claim(NamedTuple):
    """What a job still needs."""

    work: float
    """Time on one slot."""
    left: float
    """Time until it is due; above 0."""
    most: int
    """Slots it can use at once."""


def least_now(claims: Sequence[Claim], slots: int) -> list[float]:
    """Slots for each until the first one is due; O(jobs² log jobs).

    If they are more than there are, or than one of them can use, not all can end in time.
    """
    works = [float(claim.work) for claim in claims]
    edges = sorted({claim.left for claim in claims}, reverse=True)
    for end, begin in pairwise(edges):
        _fill(claims, works, end, end - begin, slots)
    return [work / edges[-1] for work in works]


def _fill(claims: Sequence[Claim], works: list[float], end: float, length: float, slots: int) -> None:
    """Do what can be done in a stretch, first of those with the highest level: the time they need with all slots."""
    active = [(place, claim.most) for place, claim in enumerate(claims) if claim.left >= end and works[place] > 0]
    levels = {place: works[place] / most for place, most in active}
    points = [(levels[place], most) for place, most in active]
    points += [(max(0.0, levels[place] - length), -most) for place, most in active]
    height, rate, room = float("inf"), 0, slots * length
    for level, change in sorted(points, reverse=True):
        if rate and rate * (height - level) >= room:
            height -= room / rate
            break
        room -= rate * (height - level) if rate else 0.0
        height = level
        rate += change
    for place, most in active:
        works[place] = most * max(0.0, levels[place] - length, min(levels[place], height))
