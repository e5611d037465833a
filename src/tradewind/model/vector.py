"""Vectors of slots and amounts: the capacity of a machine, its free part, and the demand of a unit."""

from operator import add, ge, sub
from typing import TypeAlias

Vector: TypeAlias = tuple[int, ...]
"""Slots first, then the amounts that the machine types name, in the order of their names."""


def covers(have: Vector, want: Vector) -> bool:
    """Return whether there is enough of everything."""
    if len(have) == 1:  # fast path: slots alone, by far the most frequent case
        return have[0] >= want[0]
    return all(map(ge, have, want))


def minus(have: Vector, taken: Vector) -> Vector:
    """Return what is left."""
    return (have[0] - taken[0],) if len(have) == 1 else tuple(map(sub, have, taken))


def plus(have: Vector, given: Vector) -> Vector:
    """Return the sum."""
    return (have[0] + given[0],) if len(have) == 1 else tuple(map(add, have, given))


def fitting(have: Vector, demand: Vector) -> int:
    """Return how many units of a demand fit at once."""
    if len(have) == 1:
        return have[0] // demand[0]
    return min(each // want for each, want in zip(have, demand, strict=True) if want)
