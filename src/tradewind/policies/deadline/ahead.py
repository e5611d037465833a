"""What-if placement: the same earliest-deadline-first placement, run ahead on the machines that are there or coming.

"Load below supply, so EDF is in time" is no theorem for machines that cannot be interrupted, so what the load vectors
say is checked here, and what the check lacks is acquired.
"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappush, heapreplace
from typing import NamedTuple

from tradewind.model.units import Duration, Time


class Ahead(NamedTuple):
    """A task to come on one machine type."""

    due: Time
    begin: Time
    time: Duration


def lacking(free: Sequence[Time], tasks: Iterable[Ahead], new: Time) -> int:
    """How many more machines, usable from `new` on, let tasks end when due that otherwise would not.

    `free` says from when on each slot of the machines held is free. A task that would be late on a new machine as well
    asks for one only if that makes it less late.
    """
    slots = list(free)
    heapify(slots)
    missing = 0
    for due, begin, time in sorted(tasks):
        start = (begin if begin > slots[0] else slots[0]) if slots else None
        if start is None or (start + time > due and max(new, begin) < start):
            missing += 1
            heappush(slots, max(new, begin) + time)
        else:
            heapreplace(slots, start + time)
    return missing
