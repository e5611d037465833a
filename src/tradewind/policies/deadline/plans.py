"""Plans of a job class that are tried out: on which machine types its tasks may run, and by when each has to end.

Windows made for the cheapest types leave no time for a task whose type is short of machines to run on a slower one, so
plans are tried with windows made for fewer types too. What is worked out is kept with the class.
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
"""So many different plans are tried at most; with four machine types there are no more."""
_ALONE = 4
"""So many machine types are tried by themselves."""


def window_ends(
    shape: Shape, prices: tuple[float, ...], available: Duration, bucket: Duration
) -> tuple[Sequence[Duration], ...]:
    """By when each task has to end, counted from the beginning of the job's time, in each of the plans with windows.

    Times are chosen for the time available in whole buckets. The last answer is kept: of jobs that are planned as they
    come, all of a class have the same time.
    """
    found = cast("tuple[Duration, tuple[Sequence[Duration], ...]] | None", shape.memory.get("windows"))
    if found is None or found[0] != available:
        plans = timings(shape, prices, available // bucket * bucket)
        windows = (spread(times, shape.parents, available, shape.children) for times in plans)
        ends = tuple([window.end for window in row] for row in windows)
        found = shape.memory["windows"] = (available, ends)
    return found[1]


def fastest_ways(shape: Shape, kinds: tuple[int, ...]) -> tuple[list[Duration], list[Duration]]:
    """The least time of each task on some machine types, and the longest way from its end on them."""
    key = ("ways", kinds)
    if key not in shape.memory:
        fastest = [min(row[kind] for kind in kinds) for row in shape.times]
        shape.memory[key] = (fastest, longest_tails(fastest, shape.children))
    return cast("tuple[list[Duration], list[Duration]]", shape.memory[key])


def timings(shape: Shape, prices: tuple[float, ...], available: Duration) -> tuple[Sequence[Duration], ...]:
    """Times of the tasks that windows are made for: of the cheapest plans on various machine types, if in time."""
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
    """The machine types that a job costs least on if all of it runs on one, each by itself."""
    if "alone" not in shape.memory:
        cost = [price * sum(row[kind] for row in shape.times) for kind, price in enumerate(prices)]
        shape.memory["alone"] = tuple(
            (kind,) for kind in sorted(nsmallest(_ALONE, range(len(prices)), cost.__getitem__))
        )
    return cast("tuple[tuple[int, ...], ...]", shape.memory["alone"])


@cache
def subsets(prices: tuple[float, ...]) -> tuple[tuple[int, ...], ...]:
    """Machine types that windows are made for: all, all but the dearest, and so on; each alone; all but one."""
    by_price = sorted(range(len(prices)), key=lambda kind: (prices[kind], kind))
    found = [tuple(sorted(by_price[:count])) for count in range(len(prices), 0, -1)]
    found += [(kind,) for kind in by_price]
    found += [tuple(kind for kind in sorted(by_price) if kind != other) for other in by_price]
    return tuple(dict.fromkeys(kinds for kinds in found if kinds))
