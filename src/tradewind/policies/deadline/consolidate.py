"""Consolidation: work for which a machine would have to be acquired moves to paid time that is going spare (Alg. 2).

For each type that is short of machines, the first task meant for it is moved to a type on which it still ends in its
window and which has machines enough with it; its followers keep their windows and so their types. Only the first task
is tried, as in the paper: where it cannot move, the type stays short.
"""

from collections.abc import Sequence

from tradewind.model.units import Time
from tradewind.policies.deadline.job import Wanted
from tradewind.policies.deadline.load import LoadVector, density


def consolidate(
    queues: Sequence[list[Wanted]],
    loads: Sequence[LoadVector],
    machines: Sequence[int],
    slots: Sequence[int],
    now: Time,
    until: Time,
) -> list[tuple[Wanted, int]]:
    """Moves of tasks to other types; queues (earliest deadline first) and loads are changed accordingly."""
    moves: list[tuple[Wanted, int]] = []
    for short, queue in enumerate(queues):
        while queue and loads[short].machines(now, until, slots[short]) > machines[short]:
            task = queue[0]
            spare = _spare(task, short, loads, machines, slots, now, until)
            if spare is None:
                break
            queue.pop(0)
            begin = max(now, task.begin)
            loads[short].remove(begin, task.due, min(1.0, density(task.time, begin, task.due)))
            moves.append((task, spare))
    return moves


def _spare(
    task: Wanted,
    short: int,
    loads: Sequence[LoadVector],
    machines: Sequence[int],
    slots: Sequence[int],
    now: Time,
    until: Time,
) -> int | None:
    """A type with spare time for a task, which then counts among its load."""
    begin = max(now, task.begin)
    for kind, load in enumerate(loads):
        share = density(task.times[kind], begin, task.due)
        if kind == short or share > 1 or not machines[kind]:
            continue
        if load.machines(now, until, slots[kind]) <= machines[kind]:
            load.add(begin, task.due, share)
            if load.machines(now, until, slots[kind]) <= machines[kind]:
                return kind
            load.remove(begin, task.due, share)
    return None
