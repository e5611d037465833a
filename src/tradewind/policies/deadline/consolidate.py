"""Consolidation: move work that would need a new machine to spare paid time on other types (Algorithm 2).

For each type that is short of machines, its first task is moved to a type on which it still meets its window and which
has enough machines for it. Its successors keep their windows, and so their types. Only the first task is tried, as in
the paper: if it cannot move, the type stays short.
"""

from collections.abc import Sequence

from tradewind.model.units import Time
from tradewind.policies.deadline.job import Wanted
from tradewind.policies.deadline.load import LoadVector, density
from tradewind.policies.deadline.peak import Peak


def consolidate(
    queues: Sequence[list[Wanted]],
    loads: Sequence[LoadVector],
    machines: Sequence[int],
    slots: Sequence[int],
    now: Time,
    until: Time,
) -> list[tuple[Wanted, int]]:
    """Return moves of tasks to other types; queues (earliest deadline first) and loads are updated."""
    peaks = [Peak(*each, now, until) for each in zip(loads, machines, slots, strict=True)]
    moves: list[tuple[Wanted, int]] = []
    for short, queue in enumerate(queues):
        moved = 0
        while moved < len(queue) and peaks[short].is_short():
            task = queue[moved]
            spare = _spare(task, short, peaks, now)
            if spare is None:
                break
            moved += 1
            begin = max(now, task.begin)
            peaks[short].remove(begin, task.due, min(1.0, density(task.time, begin, task.due)) * task.slots[short])
            moves.append((task, spare))
        del queue[:moved]
    return moves


def _spare(task: Wanted, short: int, peaks: Sequence[Peak], now: Time) -> int | None:
    """Return a type with spare time for a task, and add the task to its load."""
    begin = max(now, task.begin)
    for kind, peak in enumerate(peaks):
        share = density(task.times[kind], begin, task.due)
        if kind == short or share > 1 or not peak.machines:
            continue
        if peak.takes(begin, task.due, share * task.slots[kind]):
            return kind
    return None
