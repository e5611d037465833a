"""Jobs: runs with a deadline, their remaining tasks, and the windows of these.

Windows are recomputed each time a task has made others ready, from the time that is actually left (section 3.3.2).
Running tasks are part of the remaining work, with their remaining time in whole minutes, so that jobs of one class in
the same state share one answer.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.model.units import MINUTE, Duration, Time
from tradewind.policies.deadline.assign import Assignment, assign, keep
from tradewind.policies.deadline.shape import NEVER, Shape, Shapes
from tradewind.policies.deadline.windows import Window, task_windows
from tradewind.policies.protocol import Run, Unit, View

BUCKET: Duration = MINUTE
"""Granularity of the remaining time, which is rounded down."""


class Wanted(NamedTuple):
    """A unit that has not started, its window, and its run time on its assigned type."""

    unit: Unit
    kind: int
    begin: Time
    due: Time
    time: Duration
    times: Sequence[Duration]
    """By machine type."""
    after: int | None
    """The number of the previous unit in its bundle."""
    slots: Sequence[float]
    """Number of slots it is worth, by machine type."""


class Job:
    """A run with a deadline."""

    __slots__ = ("deadline", "finish", "given", "is_late", "run", "shape", "size", "wanted")

    def __init__(self, run: Run, shape: Shape, deadline: Time) -> None:
        self.run = run
        self.shape = shape
        self.size = len(run.graph)
        self.deadline = deadline
        self.given = run.deadline
        """The deadline that its run states, if any."""
        self.wanted: list[Wanted] = []
        """Units that have not started, in order of their windows."""
        self.finish: Time = 0
        """The end if every task starts as early as possible on its assigned type."""
        self.is_late: bool | None = None
        """Whether a miss is predicted; None: nothing has been predicted yet."""


def deadline_of(run: Run, shape: Shape, prices: Sequence[float], lag: Duration, patience: float) -> Time:
    """Return the deadline of a run; without one, a multiple of its makespan on its cheapest types."""
    if run.deadline is not None:
        return run.deadline
    return run.submitted + lag + round(patience * assign(shape, prices, NEVER).makespan)


def plan(view: View, job: Job, shapes: Shapes, prices: Sequence[float], lag: Duration) -> None:
    """Compute machine types, windows and end of the remaining work of a job."""
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
        _wanted(
            left, place, begin, answer, window, shape, before.get(place), shapes.slots(view.kinds, left[place].need)
        )
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
    """Return a new plan for the remaining work if there is time for new machines, otherwise keep the assigned types."""
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
    slots: Sequence[float],
) -> Wanted:
    kind = answer.kinds[place]
    times = shape.times[place]
    after = None if before is None else left[before].id
    return Wanted(left[place], kind, begin + window.begin, begin + window.end, times[kind], times, after, slots)


def _left(view: View, job: Job, shapes: Shapes) -> tuple[list[Unit], tuple[int, ...], Shape]:
    """Return unfinished units, the positions of running ones, and the class of the remaining work."""
    places: dict[int, int] = {}
    left: list[Unit] = []
    fixed: list[int] = []
    rows: list[tuple[Duration, ...]] = []
    work: list[tuple[Duration, ...]] = []
    parents: list[tuple[int, ...]] = []
    times = job.shape.times
    for place, unit in enumerate(job.run.graph):
        if unit.is_ended:
            continue
        if unit.machine is not None:
            end = unit.started + times[place][unit.machine.kind.index]
            still = -(-max(0, end - view.now) // BUCKET) * BUCKET
            fixed.append(len(left))
            rows.append(tuple(still if time < NEVER else NEVER for time in times[place]))
            work.append(rows[-1])  # its machine is already chosen
        else:
            rows.append(times[place])
            work.append(job.shape.work[place])
        parents.append(tuple(places[parent] for parent in job.shape.parents[place] if parent in places))
        places[place] = len(left)
        left.append(unit)
    if len(left) == job.size and not fixed:
        return left, (), job.shape
    return (
        left,
        tuple(fixed),
        shapes.intern(tuple(rows), tuple(parents), tuple(work) if job.shape.given is not None else None),
    )


def _answer(shape: Shape, prices: Sequence[float], available: Duration, fixed: tuple[int, ...]) -> Assignment:
    """Return the plan of a class with some time left, computed once."""
    key = ("assign", tuple(prices), available, fixed)
    found = shape.memory.get(key)
    if not isinstance(found, Assignment):
        found = shape.memory[key] = assign(shape, prices, available, fixed)
    return found
