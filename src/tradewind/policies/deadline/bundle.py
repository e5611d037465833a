"""Bundling: a task and its only child become one if both prefer the same machine type (step 1 of section 3.3.1).

Only one-to-one dependencies are bundled, as in the paper. A bundle runs on one machine, back to back.
"""

from collections.abc import Collection, Iterable, Sequence

from tradewind.model.units import HOUR, Duration
from tradewind.policies.deadline.shape import NEVER, Rows, Shape, reversed_links

Bundle = tuple[int, ...]
"""Positions of tasks that run one after the other on one machine."""


def preferred(work: Sequence[Duration], prices: Sequence[float]) -> int:
    """Return the machine type on which a task costs least (slot time x price); the faster of equals."""
    able = [kind for kind, time in enumerate(work) if time < NEVER]
    return min(able, key=lambda kind: (work[kind] * prices[kind], work[kind], kind))


def by_preference(work: Sequence[Duration], prices: Sequence[float]) -> Sequence[int]:
    """Return the machine types that can run a task, cheapest first."""
    able = [kind for kind, time in enumerate(work) if time < NEVER]
    return sorted(able, key=lambda kind: (work[kind] * prices[kind], work[kind], kind))


def cost(time: Duration, price: float) -> float:
    """Return the cost of some time at an hourly price, as if time could be bought in any amount."""
    return time * price / HOUR


def bundles_of(shape: Shape, prices: Sequence[float], opened: Collection[int] = ()) -> tuple[Bundle, ...]:
    """Return all tasks in bundles, in topological order; opened tasks stay alone."""
    choice = [preferred(row, prices) for row in shape.work]
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
    """Return the job with each bundle as one task."""
    place = {task: index for index, tasks in enumerate(bundles) for task in tasks}
    times = _summed(shape.times, bundles)
    work = None if shape.given is None else _summed(shape.given, bundles)
    parents = tuple(tuple(sorted({place[parent] for parent in shape.parents[b[0]]})) for b in bundles)
    return Shape(times, parents, work)


def _summed(rows: Rows, bundles: Sequence[Bundle]) -> Rows:
    kinds = range(len(rows[0]) if rows else 0)
    return tuple(tuple(_sum(rows[task][kind] for task in tasks) for kind in kinds) for tasks in bundles)


def _sum(times: Iterable[Duration]) -> Duration:
    return min(NEVER, sum(times))


def siblings(shape: Shape, choice: Sequence[int]) -> list[list[int]]:
    """Return groups of at least two tasks with the same parents, children and machine type, breadth first."""
    depth = [0] * len(shape.parents)
    groups: dict[tuple[object, ...], list[int]] = {}
    children = reversed_links(shape.parents)
    for task, row in enumerate(shape.parents):
        depth[task] = 1 + max((depth[parent] for parent in row), default=-1)
        groups.setdefault((row, children[task], choice[task]), []).append(task)
    return sorted((group for group in groups.values() if len(group) > 1), key=lambda group: depth[group[0]])
