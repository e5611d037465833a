"""Jobs: runs with a deadline, what is left of them, and when each of their tasks may run.

Windows are worked out again each time a task has made others ready, from the time that is really left (section 3.3.2).
Running tasks are part of what is left, with the time they still need in whole minutes, so that jobs of one class in the
same position share one answer.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.model.units import MINUTE, Duration, Time
from tradewind.policies.deadline.assign import Assignment, assign, keep
from tradewind.policies.deadline.shape import NEVER, Shape, Shapes
from tradewind.policies.deadline.windows import Window, task_windows
from tradewind.policies.protocol import Run, Unit, View

BUCKET: Duration = MINUTE
"""Time left is counted in steps of this, rounded down."""


class Wanted(NamedTuple):
    """A unit that has not started, when it may run, and how long it takes on the type meant for it."""

    unit: Unit
    kind: int
    begin: Time
    due: Time
    time: Duration
    times: Sequence[Duration]
    """By machine type."""
    after: int | None
    """The number of the unit before it in its bundle."""


class Job:
    """A run on its way to its deadline."""

    __slots__ = ("deadline", "finish", "given", "is_late", "run", "shape", "size", "wanted")

    def __init__(self, run: Run, shape: Shape, deadline: Time) -> None:
        self.run = run
        self.shape = shape
        self.size = len(run.units)
        self.deadline = deadline
        self.given = run.deadline
        """What its run names, if anything."""
        self.wanted: list[Wanted] = []
        """What has not started yet, in order of when it may."""
        self.finish: Time = 0
        """When it would end if everything ran at once, on the types meant for it."""
        self.is_late: bool | None = None
        """Whether a miss is foreseen; None: nothing has been said yet."""


def deadline_of(run: Run, shape: Shape, prices: Sequence[float], lag: Duration, patience: float) -> Time:
    """When a run is to end; one that names no deadline has so many times what it takes on its cheapest types."""
    if run.deadline is not None:
        return run.deadline
    return run.submitted + lag + round(patience * assign(shape, prices, NEVER).makespan)


def plan(view: View, job: Job, shapes: Shapes, prices: Sequence[float], lag: Duration) -> None:
    """Work out what is left of a job: machine types, windows, and when it would end."""
    left, fixed, shape = _left(view, job, shapes)
    is_new = len(left) == job.size
    begin = max(view.now, job.run.submitted + lag) if is_new else view.now
    available = job.deadline - begin
    if is_new:
        answer = _answer(shape, prices, available // BUCKET * BUCKET, fixed)
    else:
        answer = _again(job, left, shape, prices, available, lag, fixed)
    windows = task_windows(answer, shape.times, max(available, answer.makespan))
    before = {task: bundle[place - 1] for bundle in answer.bundles for place, task in enumerate(bundle) if place}
    job.finish = begin + answer.makespan
    job.wanted = [
        _wanted(left, place, begin, answer, window, shape, before.get(place))
        for place, window in enumerate(windows)
        if place not in fixed
    ]
    job.wanted.sort(key=lambda each: each.begin)


def _again(
    job: Job,
    left: Sequence[Unit],
    shape: Shape,
    prices: Sequence[float],
    available: Duration,
    lag: Duration,
    fixed: tuple[int, ...],
) -> Assignment:
    """The plan of what is left: a new one if it leaves time for new machines, else the types machines come for."""
    roomy = _answer(shape, prices, (available - lag) // BUCKET * BUCKET, fixed)
    if roomy.is_feasible:
        return roomy
    before = {each.unit.id: each.kind for each in job.wanted}
    kinds = [before.get(unit.id, 0) for unit in left]
    kept = keep(shape, prices, kinds, available)
    return kept if kept.is_feasible else _answer(shape, prices, available // BUCKET * BUCKET, fixed)


def _wanted(
    left: Sequence[Unit],
    place: int,
    begin: Time,
    answer: Assignment,
    window: Window,
    shape: Shape,
    before: int | None,
) -> Wanted:
    kind = answer.kinds[place]
    times = shape.times[place]
    after = None if before is None else left[before].id
    return Wanted(left[place], kind, begin + window.begin, begin + window.end, times[kind], times, after)


def _left(view: View, job: Job, shapes: Shapes) -> tuple[list[Unit], tuple[int, ...], Shape]:
    """Units that have not ended, places of those that run, and the class of what is left."""
    places: dict[int, int] = {}
    left: list[Unit] = []
    fixed: list[int] = []
    rows = []
    parents: list[tuple[int, ...]] = []
    times = job.shape.times
    for place, unit in enumerate(job.run.units):
        if unit.is_ended:
            continue
        if unit.machine is not None:
            end = unit.started + times[place][unit.machine.kind.index]
            still = -(-max(0, end - view.now) // BUCKET) * BUCKET
            fixed.append(len(left))
            rows.append(tuple(still if time < NEVER else NEVER for time in times[place]))
        else:
            rows.append(times[place])
        parents.append(tuple(places[parent] for parent in job.shape.parents[place] if parent in places))
        places[place] = len(left)
        left.append(unit)
    if len(left) == job.size and not fixed:
        return left, (), job.shape
    return left, tuple(fixed), shapes.intern(tuple(rows), tuple(parents))


def _answer(shape: Shape, prices: Sequence[float], available: Duration, fixed: tuple[int, ...]) -> Assignment:
    """The plan of a class with so much time left, worked out once."""
    key = ("assign", tuple(prices), available, fixed)
    found = shape.memory.get(key)
    if not isinstance(found, Assignment):
        found = shape.memory[key] = assign(shape, prices, available, fixed)
    return found
