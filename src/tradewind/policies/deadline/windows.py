"""Windows: when each task of a job may run so that the job meets its deadline (the end of step 2 of section 3.3.1).

Slack is distributed along the longest path, in proportion to the time on the chosen type; a task on a shorter path gets
what that leaves. Tasks can then be treated independently of each other.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tradewind.model.units import Duration
from tradewind.policies.deadline.assign import Assignment
from tradewind.policies.deadline.shape import longest_heads, longest_tails, reversed_links


class Window(NamedTuple):
    """When a task may run, relative to the start of its job's time."""

    begin: Duration
    end: Duration


def spread(
    times: Sequence[Duration],
    parents: Sequence[Sequence[int]],
    available: Duration,
    children: Sequence[Sequence[int]] | None = None,
) -> tuple[Window, ...]:
    """Return a window for each task; shorter than its task only if the available time is shorter than the makespan."""
    tails = longest_tails(times, reversed_links(parents) if children is None else children)
    heads = longest_heads(times, parents)
    makespan = max((head + time for head, time in zip(heads, times, strict=True)), default=0)
    if makespan == 0:
        return tuple(Window(0, available) for _ in times)
    windows: list[Window] = []
    for task, row in enumerate(parents):
        begin = max((windows[parent].end for parent in row), default=0)
        windows.append(Window(begin, max(begin, available * (makespan - tails[task]) // makespan)))
    return tuple(windows)


def task_windows(
    plan: Assignment, shape_times: Sequence[Sequence[Duration]], available: Duration
) -> tuple[Window, ...]:
    """Return the window of each task of a job; within a bundle, in proportion to the times of its parts."""
    windows = [Window(0, 0)] * len(plan.kinds)
    for bundle, window in zip(plan.bundles, spread(plan.times, plan.parents, available), strict=True):
        times = [shape_times[task][plan.kinds[task]] for task in bundle]
        total = sum(times)
        begin, passed = window.begin, 0
        for task, time in zip(bundle, times, strict=True):
            passed += time
            end = window.begin + (window.end - window.begin) * passed // total if total else window.end
            windows[task] = Window(begin, end)
            begin = end
    return tuple(windows)
