"""Bundling: a task and its only child become one if both prefer the same machine type (step 1 of section 3.3.1).

Only one-to-one dependencies are bundled, as in the paper. A bundle runs on one machine, back to back.
"""

from collections.abc import Collection, Iterable, Sequence

from tradewind.model.units import HOUR, Duration
from tradewind.policies.deadline.shape import NEVER, Shape, reversed_links

Bundle = tuple[int, ...]
"""Places of tasks that run one after the other on one machine."""


def preferred(times: Sequence[Duration], prices: Sequence[float]) -> int:
    """The machine type on which a task costs least (time x price); of equals the faster one."""
    able = [kind for kind, time in enumerate(times) if time < NEVER]
    return min(able, key=lambda kind: (times[kind] * prices[kind], times[kind], kind))


def by_preference(times: Sequence[Duration], prices: Sequence[float]) -> Sequence[int]:
    """The machine types that can run a task, the one on which it costs least first."""
    able = [kind for kind, time in enumerate(times) if time < NEVER]
    return sorted(able, key=lambda kind: (times[kind] * prices[kind], times[kind], kind))


def cost(time: Duration, price: float) -> float:
    """What running so long costs at a price per hour, as if time could be bought by the moment."""
    return time * price / HOUR


def bundles_of(shape: Shape, prices: Sequence[float], opened: Collection[int] = ()) -> tuple[Bundle, ...]:
    """All tasks in bundles, in an order in which each stands after its parents; those opened stay alone."""
    choice = [preferred(row, prices) for row in shape.times]
    member: dict[int, list[int]] = {}
    for task, row in enumerate(shape.parents):
        if len(row) == 1 and task not in opened:
            (parent,) = row
            if parent not in opened and len(shape.children[parent]) == 1 and choice[parent] == choice[task]:
                member[task] = member[parent]
                member[task].append(task)
                continue
        member[task] = [task]
    return tuple(tuple(tasks) for task, tasks in member.items() if tasks[0] == task)


def bundled(shape: Shape, bundles: Sequence[Bundle]) -> Shape:
    """The job with each bundle as one task."""
    place = {task: index for index, tasks in enumerate(bundles) for task in tasks}
    kinds = range(len(shape.times[0]) if shape.times else 0)
    times = tuple(tuple(_sum(shape.times[task][kind] for task in tasks) for kind in kinds) for tasks in bundles)
    parents = tuple(tuple(sorted({place[parent] for parent in shape.parents[b[0]]})) for b in bundles)
    return Shape(times, parents)


def _sum(times: Iterable[Duration]) -> Duration:
    return min(NEVER, sum(times))


def siblings(shape: Shape, choice: Sequence[int]) -> list[list[int]]:
    """Tasks with the same parents, the same children and the same machine type, two or more together, breadth first."""
    depth = [0] * len(shape.parents)
    groups: dict[tuple[object, ...], list[int]] = {}
    children = reversed_links(shape.parents)
    for task, row in enumerate(shape.parents):
        depth[task] = 1 + max((depth[parent] for parent in row), default=-1)
        groups.setdefault((row, children[task], choice[task]), []).append(task)
    return sorted((group for group in groups.values() if len(group) > 1), key=lambda group: depth[group[0]])
