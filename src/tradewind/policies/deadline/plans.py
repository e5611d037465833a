"""Candidate plans of a job class: the machine types of its tasks, and by when each has to end.

Windows computed for the cheapest types leave no time to run a task on a slower type if its own is short of machines.
Plans are therefore tried with windows for fewer types, too. Results are cached with the class.
"""

from collections.abc import Sequence
from functools import cache
from heapq import nsmallest
from typing import cast

from tradewind.model.units import Duration
from tradewind.policies.deadline.demand import cheapest_times
from tradewind.policies.deadline.shape import Shape, longest_tails
from tradewind.policies.deadline.windows import spread

_PLANS = 12
"""Maximum number of different plans; with four machine types there are no more."""
_ALONE = 4
"""Maximum number of machine types tried alone."""


def window_ends(
    shape: Shape, prices: tuple[float, ...], available: Duration, bucket: Duration
) -> tuple[Sequence[Duration], ...]:
    """Return by when each task has to end, relative to the start of the job's time, in each plan with windows.

    Times are chosen for the available time in whole buckets. The last answer is cached: jobs of one class that are
    planned on arrival all have the same time.
    """
    found = cast("tuple[Duration, tuple[Sequence[Duration], ...]] | None", shape.memory.get("windows"))
    if found is None or found[0] != available:
        plans = timings(shape, prices, available // bucket * bucket)
        windows = (spread(times, shape.parents, available, shape.children) for times in plans)
        ends = tuple([window.end for window in row] for row in windows)
        found = shape.memory["windows"] = (available, ends)
    return found[1]


def fastest_ways(shape: Shape, kinds: tuple[int, ...]) -> tuple[list[Duration], list[Duration]]:
    """Return the shortest time of each task on some machine types, and the longest path from its end on them."""
    key = ("ways", kinds)
    if key not in shape.memory:
        fastest = [min(row[kind] for kind in kinds) for row in shape.times]
        shape.memory[key] = (fastest, longest_tails(fastest, shape.children))
    return cast("tuple[list[Duration], list[Duration]]", shape.memory[key])


def timings(shape: Shape, prices: tuple[float, ...], available: Duration) -> tuple[Sequence[Duration], ...]:
    """Return task times to compute windows for: those of the cheapest plans on various machine types, if on time."""
    key = ("timings", available)
    if key not in shape.memory:
        plans: dict[Sequence[Duration], None] = {}
        for kinds in subsets(prices):
            plan = cheapest_times(shape, prices, kinds, available)
            if plan is not None:
                plans[plan] = None
            if len(plans) == _PLANS:
                break
        shape.memory[key] = tuple(plans)
    return cast("tuple[Sequence[Duration], ...]", shape.memory[key])


def cheapest_alone(shape: Shape, prices: tuple[float, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the machine types on which a whole job costs least, one at a time."""
    if "alone" not in shape.memory:
        cost = [price * sum(row[kind] for row in shape.work) for kind, price in enumerate(prices)]
        shape.memory["alone"] = tuple(
            (kind,) for kind in sorted(nsmallest(_ALONE, range(len(prices)), cost.__getitem__))
        )
    return cast("tuple[tuple[int, ...], ...]", shape.memory["alone"])


@cache
def subsets(prices: tuple[float, ...]) -> tuple[tuple[int, ...], ...]:
    """Return sets of machine types: all, all but the most expensive, and so on; each alone; all but one."""
    by_price = sorted(range(len(prices)), key=lambda kind: (prices[kind], kind))
    found = [tuple(sorted(by_price[:count])) for count in range(len(prices), 0, -1)]
    found += [(kind,) for kind in by_price]
    found += [tuple(kind for kind in sorted(by_price) if kind != other) for other in by_price]
    return tuple(dict.fromkeys(kinds for kinds in found if kinds))
