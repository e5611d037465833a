"""The longest ways through a job, kept up to date as tasks get faster.

What the upgrade loop asks of it, it is told for all candidates at once, by one look at each edge.
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
        """The longest way from the beginning of the job to that of each task."""
        self.tails = longest_tails(self.times, self.children)
        """The longest way from the end of each task to that of the job."""
        self._last = [task for task, row in enumerate(self.children) if not row]
        self.makespan = self._longest()

    def critical(self) -> list[int]:
        """Tasks on a longest way."""
        makespan = self.makespan
        ways = zip(self.heads, self.times, self.tails, strict=True)
        return [task for task, (head, time, tail) in enumerate(ways) if head + time + tail == makespan]

    def decisive(self, critical: Sequence[int]) -> list[int]:
        """Critical tasks that every longest way goes through: while they run, no other critical one does."""
        spans = sorted((self.heads[task], self.heads[task] + self.times[task], task) for task in critical)
        found = []
        reach = -1
        for index, (begin, end, task) in enumerate(spans):
            following = spans[index + 1][0] if index + 1 < len(spans) else end
            if begin >= reach and following >= end:
                found.append(task)
            reach = max(reach, end)
        return found

    def without(self, tasks: Sequence[int], above: Duration) -> dict[int, Duration]:
        """For each of some tasks, in order, the longest way that avoids it, if longer than a bound, else the bound.

        Places grow along every way, so a way that avoids a task has one step that leads over its place.
        """
        longest = [above] * len(tasks)
        heads, times, tails = self.heads, self.times, self.tails
        count = len(self.times)
        for place in range(count):
            way = times[place] + tails[place]
            if not self.parents[place] and way > above:
                _raise(longest, 0, bisect_left(tasks, place), way)
            end = heads[place] + times[place]
            if end + tails[place] <= above:
                continue
            after = bisect_right(tasks, place)
            if not self.children[place]:
                _raise(longest, after, len(tasks), end)
            for child in self.children[place]:
                way = end + times[child] + tails[child]
                if way > above and child > place + 1:
                    _raise(longest, after, bisect_left(tasks, child), way)
        return dict(zip(tasks, longest, strict=True))

    def change(self, times: Mapping[int, Duration]) -> None:
        """Some tasks take another time from now on."""
        for task, time in times.items():
            self.times[task] = time
        self.heads = longest_heads(self.times, self.parents)
        self.tails = longest_tails(self.times, self.children)
        self.makespan = self._longest()

    def put_in_sequence(self, group: Sequence[int]) -> None:
        """Each of these tasks waits for the one before it from now on; places must grow."""
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
        """New heads of all tasks that a change of one reaches."""
        heads, times, parents, children = self.heads, self.times, self.parents, self.children
        changed: dict[int, Duration] = {}
        waiting = sorted(children[task])
        queued = set(waiting)
        while waiting:
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
        """Bring the tails of all tasks before one up to date."""
        tails, times, parents, children = self.tails, self.times, self.parents, self.children
        waiting = [-parent for parent in parents[task]]
        waiting.sort()
        queued = set(waiting)
        while waiting:
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
