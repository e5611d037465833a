"""The longest paths through a job, updated incrementally as tasks get faster.

The questions of the upgrade loop are answered for all candidates in one pass over the edges.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise

from tradewind.model.units import Duration
from tradewind.policies.deadline.shape import longest_heads, longest_tails, reversed_links


class Network:
    """A job with a time for each task."""

    def __init__(self, times: Sequence[Duration], parents: Sequence[Sequence[int]]) -> None:
        self.times = list(times)
        self.parents = list(map(tuple, parents))
        self.children = list(reversed_links(parents))
        self.heads = longest_heads(self.times, parents)
        """The longest path from the start of the job to the start of each task."""
        self.tails = longest_tails(self.times, self.children)
        """The longest path from the end of each task to the end of the job."""
        self._last = [task for task, row in enumerate(self.children) if not row]
        self.makespan = self._longest()

    def critical(self) -> list[int]:
        """Return the tasks on a longest path."""
        makespan = self.makespan
        ways = zip(self.heads, self.times, self.tails, strict=True)
        return [task for task, (head, time, tail) in enumerate(ways) if head + time + tail == makespan]

    def decisive(self, critical: Sequence[int]) -> list[int]:
        """Return critical tasks that are on every longest path: no other critical task runs at the same time."""
        spans = sorted((self.heads[task], self.heads[task] + self.times[task], task) for task in critical)
        found = []
        reach = -1
        # Sorted by start: a task is alone if it starts after all earlier ones end, and ends before the next starts.
        for index, (begin, end, task) in enumerate(spans):
            following = spans[index + 1][0] if index + 1 < len(spans) else end
            if begin >= reach and following >= end:
                found.append(task)
            reach = max(reach, end)
        return found

    def without(self, tasks: Sequence[int], above: Duration) -> dict[int, Duration]:
        """Return, for each of some tasks in order, the longest path that avoids it, at least the given bound.

        Positions increase along every path, so a path that avoids a task has exactly one edge that jumps over its
        position.
        """
        longest = [above] * len(tasks)
        heads, times, tails = self.heads, self.times, self.tails
        count = len(self.times)
        for place in range(count):
            way = times[place] + tails[place]
            # A path that starts at this task avoids all tasks before it.
            if not self.parents[place] and way > above:
                _raise(longest, 0, bisect_left(tasks, place), way)
            end = heads[place] + times[place]
            # No path through this task exceeds the bound, so it cannot raise any of the results.
            if end + tails[place] <= above:
                continue
            after = bisect_right(tasks, place)
            # A path that ends at this task avoids all tasks after it.
            if not self.children[place]:
                _raise(longest, after, len(tasks), end)
            for child in self.children[place]:
                way = end + times[child] + tails[child]
                if way > above and child > place + 1:
                    # An edge from `place` to `child` avoids the tasks between the two.
                    _raise(longest, after, bisect_left(tasks, child), way)
        return dict(zip(tasks, longest, strict=True))

    def change(self, times: Mapping[int, Duration]) -> None:
        """Change the times of some tasks."""
        for task, time in times.items():
            self.times[task] = time
        self.heads = longest_heads(self.times, self.parents)
        self.tails = longest_tails(self.times, self.children)
        self.makespan = self._longest()

    def put_in_sequence(self, group: Sequence[int]) -> None:
        """Make each of these tasks wait for the previous one; positions must increase."""
        for earlier, later in pairwise(group):
            self.parents[later] = (*self.parents[later], earlier)
            self.children[earlier] = (*self.children[earlier], later)
        for each, head in self._carry_on(group[0]).items():
            self.heads[each] = head
        self._carry_back(group[-1])
        self._last = [task for task in self._last if not self.children[task]]
        self.makespan = self._longest()

    def _longest(self) -> Duration:
        return max((self.heads[task] + self.times[task] for task in self._last), default=0)

    def _carry_on(self, task: int) -> dict[int, Duration]:
        """Return the new heads of all tasks affected by a change of one task."""
        heads, times, parents, children = self.heads, self.times, self.parents, self.children
        changed: dict[int, Duration] = {}
        waiting = sorted(children[task])
        queued = set(waiting)
        while waiting:
            # Positions are topological, so popping the smallest first visits every task after all its changed parents.
            place = heappop(waiting)
            head = max(changed.get(parent, heads[parent]) + times[parent] for parent in parents[place])
            if head != heads[place]:
                changed[place] = head
                for child in children[place]:
                    if child not in queued:
                        queued.add(child)
                        heappush(waiting, child)
        return changed

    def _carry_back(self, task: int) -> None:
        """Update the tails of all tasks before one."""
        tails, times, parents, children = self.tails, self.times, self.parents, self.children
        waiting = [-parent for parent in parents[task]]
        waiting.sort()
        queued = set(waiting)
        while waiting:
            # Negated, so that the heap yields the last position first: children are done before their parents.
            place = -heappop(waiting)
            tail = max(times[child] + tails[child] for child in children[place])
            if tail != tails[place]:
                tails[place] = tail
                for parent in parents[place]:
                    if -parent not in queued:
                        queued.add(-parent)
                        heappush(waiting, -parent)


def _raise(values: list[Duration], begin: int, end: int, to: Duration) -> None:
    for place in range(begin, end):
        if values[place] < to:
            values[place] = to
