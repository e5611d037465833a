"""Job classes: the graph of a run, and how long each of its tasks takes on each machine type.

Runs of the same graph and the same estimates share one `Shape`, and with it all that is worked out for their class
(section 3.3.1 of the SCS paper: "the result can be cached after the first calculation").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import add

from tradewind.model.machine import MachineType
from tradewind.model.units import HOUR, Duration
from tradewind.policies.protocol import Run, View

NEVER: Duration = 1 << 60
"""The time of a task on a machine type that cannot run it."""

Rows = tuple[tuple[Duration, ...], ...]
"""Times by task and machine type."""
Links = tuple[tuple[int, ...], ...]
"""For each task the places of others; parents always stand before."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A job class: tasks in topological order with their times by machine type, and who waits for whom."""

    times: Rows
    parents: Links
    memory: dict[object, object] = field(default_factory=dict, repr=False)
    """What has been worked out for this class, by whoever worked it out."""

    @cached_property
    def children(self) -> Links:
        """For each task the places of those that wait for it."""
        return reversed_links(self.parents)

    @cached_property
    def fastest(self) -> tuple[Duration, ...]:
        """The least time of each task."""
        return tuple(map(min, self.times))

    @cached_property
    def tails(self) -> tuple[Duration, ...]:
        """For each task the longest way from its end to the end of the job, with every task on its fastest type."""
        return tuple(longest_tails(self.fastest, self.children))

    @cached_property
    def tightest(self) -> Duration:
        """The makespan with every task on its fastest type."""
        return max((time + tail for time, tail in zip(self.fastest, self.tails, strict=True)), default=0)

    def part(self, kinds: tuple[int, ...]) -> "Shape":
        """The same class where its tasks may run on some machine types only."""
        key = ("part", kinds)
        found = self.memory.get(key)
        if not isinstance(found, Shape):
            rows = tuple(tuple(time if kind in kinds else NEVER for kind, time in enumerate(row)) for row in self.times)
            found = self.memory[key] = Shape(rows, self.parents)
        return found


def reversed_links(parents: Sequence[Sequence[int]]) -> Links:
    """Children from parents."""
    children: list[list[int]] = [[] for _ in parents]
    for child, row in enumerate(parents):
        for parent in row:
            children[parent].append(child)
    return tuple(map(tuple, children))


def longest_tails(times: Sequence[Duration], children: Sequence[Sequence[int]]) -> list[Duration]:
    """For each task the longest way from its end to the end of the job."""
    tails = [0] * len(times)
    for task in range(len(times) - 1, -1, -1):
        if children[task]:
            tails[task] = max(times[child] + tails[child] for child in children[task])
    return tails


def longest_heads(times: Sequence[Duration], parents: Sequence[Sequence[int]]) -> list[Duration]:
    """For each task the longest way from the beginning of the job to its own."""
    heads = [0] * len(times)
    for task, row in enumerate(parents):
        if row:
            heads[task] = max(heads[parent] + times[parent] for parent in row)
    return heads


def makespan(times: Sequence[Duration], parents: Sequence[Sequence[int]]) -> Duration:
    """The longest way through a job."""
    return max(map(add, longest_heads(times, parents), times), default=0)


def rates(types: Sequence[MachineType]) -> tuple[float, ...]:
    """What an hour in one slot of each machine type costs."""
    return tuple(type.price * HOUR / type.billing.period / type.slots for type in types)


class Shapes:
    """Finds the class of a run, and keeps classes as long as the policy lives."""

    def __init__(self) -> None:
        self._known: dict[tuple[Rows, Links], Shape] = {}

    def of(self, view: View, run: Run) -> Shape:
        """The class of a run, by what is estimated now."""
        units = run.units
        estimate, kinds = view.estimate, view.kinds
        rows = []
        for unit in units:
            able = unit.kinds
            if len(able) == len(kinds):
                rows.append(tuple(estimate(unit, kind) for kind in kinds))
            else:
                row = [NEVER] * len(kinds)
                for kind in able:
                    row[kind.index] = estimate(unit, kind)
                rows.append(tuple(row))
        return self.intern(tuple(rows), parents_of(run))

    def intern(self, times: Rows, parents: Links) -> Shape:
        """The one shape of these times and links."""
        key = (times, parents)
        shape = self._known.get(key)
        if shape is None:
            if len(self._known) > 10_000:  # estimates that never repeat: start afresh
                self._known.clear()
            shape = self._known[key] = Shape(times, parents)
        return shape


def parents_of(run: Run) -> Links:
    """Who waits for whom in a run, by places."""
    first = {unit.id: place for place, unit in enumerate(run.units)}
    parents: list[list[int]] = [[] for _ in run.units]
    for place, unit in enumerate(run.units):
        for child in unit.children:
            parents[first[child.id]].append(place)
    return tuple(map(tuple, parents))
