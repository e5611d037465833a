"""What-if placement: earliest deadline first, run ahead on the machines that are held or coming.

"Load below supply, therefore EDF meets deadlines" does not hold for tasks that cannot be interrupted. The result of the
load vectors is therefore checked here, and machines found missing are acquired.
"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappush, heapreplace
from typing import NamedTuple

from tradewind.model.units import Duration, Time
from tradewind.model.vector import Vector
from tradewind.policies.deadline.profile import Profile
from tradewind.policies.deadline.shape import NEVER


class Ahead(NamedTuple):
    """A future task on one machine type."""

    due: Time
    begin: Time
    time: Duration
    demand: Vector = (1,)


def lacking(free: Sequence[Time], tasks: Iterable[Ahead], new: Time) -> int:
    """Return how many more machines, available from `new` on, let tasks end on time that otherwise would not.

    `free` is when each held machine becomes free; they run one task at a time. A task that would be late on a new
    machine as well asks for one only if that makes it less late.
    """
    machines = list(free)
    heapify(machines)
    missing = 0
    for due, begin, time, _ in sorted(tasks):
        start = (begin if begin > machines[0] else machines[0]) if machines else None
        if start is None or (start + time > due and max(new, begin) < start):
            missing += 1
            heappush(machines, max(new, begin) + time)
        else:
            heapreplace(machines, start + time)
    return missing


def lacking_shared(held: Sequence[Profile], tasks: Iterable[Ahead], new: Time, capacity: Vector) -> int:
    """Return the same for machines that run several tasks concurrently; the held profiles are modified."""
    machines = list(held)
    for due, begin, time, demand in sorted(tasks):
        start, chosen = NEVER, None
        for machine in machines:
            found = machine.fit(begin, time, demand, start)
            if found < start:
                start, chosen = found, machine
                if found == begin:
                    break
        if chosen is None or (start + time > due and max(new, begin) < start):
            start, chosen = max(new, begin), opening(capacity, new)
            machines.append(chosen)
        chosen.take(start, start + time, demand)
    return len(machines) - len(held)


def opening(capacity: Vector, at: Time) -> Profile:
    """Return the profile of a machine that comes up at a time."""
    profile = Profile(capacity)
    profile.take(0, at, capacity)
    return profile
