"""Job classes: the graph of a run, and the time of each of its tasks on each machine type.

Runs with the same graph and the same estimates share one `Shape`, and with it everything computed for their class
(section 3.3.1 of the SCS paper: "the result can be cached after the first calculation").
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import add

from tradewind.model.machine import MachineType
from tradewind.model.units import HOUR, Duration
from tradewind.model.vector import fitting
from tradewind.policies.protocol import Kind, Need, Run, View

NEVER: Duration = 1 << 60
"""The time of a task on a machine type that cannot run it."""

Rows = tuple[tuple[Duration, ...], ...]
"""Times by task and machine type."""
Links = tuple[tuple[int, ...], ...]
"""For each task the positions of others; parents always come first."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A job class: tasks in topological order with their times by machine type, and their dependencies."""

    times: Rows
    parents: Links
    given: Rows | None = field(default=None, repr=False)
    """Work of each task as the time of one slot, if some tasks take more than a slot."""
    memory: dict[object, object] = field(default_factory=dict, repr=False)
    """A cache of results for this class, shared by all modules."""

    @cached_property
    def children(self) -> Links:
        """Return for each task the positions of its children."""
        return reversed_links(self.parents)

    @property
    def work(self) -> Rows:
        """Return the work of each task as the time of one slot: its cost is the price of a slot times this."""
        return self.times if self.given is None else self.given

    @cached_property
    def fastest(self) -> tuple[Duration, ...]:
        """Return the shortest time of each task."""
        return tuple(map(min, self.times))

    @cached_property
    def tails(self) -> tuple[Duration, ...]:
        """Return for each task the longest path from its end to the end of the job, on the fastest types."""
        return tuple(longest_tails(self.fastest, self.children))

    @cached_property
    def tightest(self) -> Duration:
        """Return the makespan with every task on its fastest type."""
        return max((time + tail for time, tail in zip(self.fastest, self.tails, strict=True)), default=0)

    def part(self, kinds: tuple[int, ...]) -> "Shape":
        """Return the same class restricted to some machine types."""
        key = ("part", kinds)
        found = self.memory.get(key)
        if not isinstance(found, Shape):
            work = None if self.given is None else _part(self.given, kinds)
            found = self.memory[key] = Shape(_part(self.times, kinds), self.parents, work)
        return found


def _part(rows: Rows, kinds: tuple[int, ...]) -> Rows:
    return tuple(tuple(time if kind in kinds else NEVER for kind, time in enumerate(row)) for row in rows)


def reversed_links(parents: Sequence[Sequence[int]]) -> Links:
    """Return children from parents."""
    children: list[list[int]] = [[] for _ in parents]
    for child, row in enumerate(parents):
        for parent in row:
            children[parent].append(child)
    return tuple(map(tuple, children))


def longest_tails(times: Sequence[Duration], children: Sequence[Sequence[int]]) -> list[Duration]:
    """Return for each task the longest path from its end to the end of the job."""
    tails = [0] * len(times)
    for task in range(len(times) - 1, -1, -1):
        if children[task]:
            tails[task] = max(times[child] + tails[child] for child in children[task])
    return tails


def longest_heads(times: Sequence[Duration], parents: Sequence[Sequence[int]]) -> list[Duration]:
    """Return for each task the longest path from the start of the job to its own start."""
    heads = [0] * len(times)
    for task, row in enumerate(parents):
        if row:
            heads[task] = max(heads[parent] + times[parent] for parent in row)
    return heads


def is_plannable(run: Run) -> bool:
    """Whether machines of known types can run all that is left of a run; else it waits for others to join."""
    return all(unit.kinds for unit in run.graph if not unit.is_ended)


def makespan(times: Sequence[Duration], parents: Sequence[Sequence[int]]) -> Duration:
    """Return the longest path through a job."""
    return max(map(add, longest_heads(times, parents), times), default=0)


def rates(types: Sequence[MachineType]) -> tuple[float, ...]:
    """Return the hourly price of one slot of each machine type."""
    return tuple(float(type.price * HOUR / type.billing.period / type.slots) for type in types)


class Shapes:
    """The classes of runs, kept for the lifetime of the policy."""

    def __init__(self) -> None:
        self._known: dict[tuple[Rows, Links, Rows | None], Shape] = {}
        self._slots: dict[int, tuple[float, ...]] = {}
        """By need."""

    def of(self, view: View, run: Run, payable: Collection[int]) -> Shape:
        """Return the class of a run by current estimates, on types that its tenant's budget can ever pay for."""
        units = run.graph
        estimate, kinds = view.estimate, view.kinds
        rows = []
        for unit in units:
            able = unit.kinds
            if len(payable) < len(kinds) and unit.machine is None:
                able = [kind for kind in able if kind.index in payable] or able
            if len(able) == len(kinds):
                rows.append(tuple(estimate(unit, kind) for kind in kinds))
            else:
                row = [NEVER] * len(kinds)
                for kind in able:
                    row[kind.index] = estimate(unit, kind)
                rows.append(tuple(row))
        work = None
        needs = {unit.need.index: unit.need for unit in units}
        if any(max(self.slots(kinds, need)) > 1 for need in needs.values()):
            work = tuple(slot_time(row, self.slots(kinds, unit.need)) for row, unit in zip(rows, units, strict=True))
        return self.intern(tuple(rows), parents_of(run), work)

    def slots(self, kinds: Sequence[Kind], need: Need) -> tuple[float, ...]:
        """Return how many slots of each type a unit of a need is worth: all slots divided by how many units fit."""
        found = self._slots.get(need.index)
        if found is None:
            able = {kind.index for kind in need.kinds}
            found = self._slots[need.index] = tuple(
                kind.capacity[0] / fitting(kind.capacity, need.demand) if kind.index in able else 1.0 for kind in kinds
            )
        return found

    def intern(self, times: Rows, parents: Links, work: Rows | None = None) -> Shape:
        """Return the single shape of these times and links."""
        key = (times, parents, work)
        shape = self._known.get(key)
        if shape is None:
            if len(self._known) > 10_000:  # estimates never repeat: drop the cache
                self._known.clear()
            shape = self._known[key] = Shape(times, parents, work)
        return shape


def slot_time(times: Sequence[Duration], slots: Sequence[float]) -> tuple[Duration, ...]:
    """Return the slot time that a task takes on each machine type."""
    return tuple(
        time if time >= NEVER or taken == 1 else round(time * taken) for time, taken in zip(times, slots, strict=True)
    )


def parents_of(run: Run) -> Links:
    """Return the dependencies of a run, by position."""
    first = {unit.id: place for place, unit in enumerate(run.graph)}
    parents: list[list[int]] = [[] for _ in run.graph]
    for place, unit in enumerate(run.graph):
        for child in unit.children:
            if child.id in first:  # otherwise it was expected, and another unit came in its place
                parents[first[child.id]].append(place)
    return tuple(map(tuple, parents))
