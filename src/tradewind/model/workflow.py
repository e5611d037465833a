"""Workflows: tasks and their dependencies.

A workflow is acyclic by construction: every task comes after its parents. `arrange` sorts tasks into such an order, or
names the cycle that prevents it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tradewind.model.elastic import Elastic
from tradewind.model.requirement import ANYTHING, Requirement
from tradewind.model.units import SECOND, Duration

NO_RUNTIMES: Mapping[str, Duration] = MappingProxyType({})
NO_CAUSES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class File:
    """A file that a task reads or writes."""

    name: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Retry:
    """How often to retry a failed task, and how long to wait in between."""

    attempts: int = 1
    """Maximum number of attempts, including the first."""
    by_cause: Mapping[str, int] = field(default_factory=lambda: NO_CAUSES)
    """Maximum number of attempts by cause (`error`, `memory`, `timeout`, …), where it differs from `attempts`."""
    lost: int = 100
    """Maximum number of lost machines before it fails; they do not count as attempts."""
    preempted: int = 1_000
    """Maximum number of preemptions, by machines that shrink or are reclaimed, before it fails."""
    memory_growth: float = 1.0
    """Factor by which its memory demand grows after each out-of-memory failure."""
    delay: Duration = 0
    factor: float = 2.0
    """Factor by which the delay grows from one attempt to the next."""
    max_delay: Duration = 600 * SECOND
    within: Duration | None = None
    """Maximum time from the first start over all attempts and delays; None: no limit."""

    def pause_after(self, failures: int) -> Duration:
        """Return the delay after the given number of failures."""
        if not self.delay:
            return 0
        exponent = min(failures - 1, 64)  # larger exponents only overflow: the maximum is reached long before
        return min(self.max_delay, round(self.delay * self.factor**exponent))

    def allows(self, cause: str, failures: Mapping[str, int]) -> bool:
        """Return whether to retry, given the failures by cause and the cause of the last one."""
        limit = self.by_cause.get(cause)
        if limit is not None:
            return failures.get(cause, 0) < limit
        return sum(count for each, count in failures.items() if each not in self.by_cause) < self.attempts


ONCE = Retry()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How a task saves its progress, so that it does not have to start over."""

    interval: Duration
    """Run time between two checkpoints."""
    cost: Duration = 0
    """Time that each checkpoint takes."""

    def needed(self, work: Duration) -> Duration:
        """Return how long some work takes with its checkpoints; there is none at the end."""
        return work + self.cost * max(0, -(-work // self.interval) - 1)

    def saved(self, time: Duration) -> Duration:
        """Return the work that is saved after a time."""
        return time // (self.interval + self.cost) * self.interval


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a workflow."""

    id: str
    """Unique in its workflow."""
    name: str
    """The kind of task; tasks of one name resemble each other."""
    requirement: Requirement = ANYTHING
    runtime: Duration | None = None
    """Declared run time on a machine of speed 1."""
    runtimes: Mapping[str, Duration] = field(default_factory=lambda: NO_RUNTIMES)
    """Declared run times by machine type; these take precedence over `runtime`."""
    inputs: tuple[File, ...] = ()
    outputs: tuple[File, ...] = ()
    retry: Retry = ONCE
    timeout: Duration | None = None
    """Maximum run time of one attempt."""
    command: str = ""
    checkpoint: Checkpoint | None = None
    """How it saves its progress; None: it starts over after each interruption."""
    elastic: Elastic | None = None
    """How its iterations are shared; run times are then for all iterations on one slot. None: it is not divisible."""
    shell: str = ""
    """The shell of the command; see `tradewind.model.action.Shell`."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """Tasks in topological order."""

    name: str
    tasks: tuple[Task, ...]
    parents: tuple[tuple[int, ...], ...]
    """For each task the indices of its parents, all smaller than its own."""
    priority: int = 0
    """Higher runs first."""
    deadline: Duration | None = None
    """Maximum response time, counted from submission."""

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.tasks):
            raise ValueError("a workflow needs one tuple of parents for each task")
        for index, parents in enumerate(self.parents):
            if parents and (max(parents) >= index or min(parents) < 0):
                raise ValueError(f"task {self.tasks[index].id!r} comes before one of its parents")

    def children(self) -> list[list[int]]:
        """Return for each task the indices of its children."""
        children: list[list[int]] = [[] for _ in self.tasks]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(child)
        return children

    def levels(self) -> list[int]:
        """Return for each task the length of the longest chain of tasks before it."""
        levels: list[int] = []
        for parents in self.parents:
            levels.append(1 + max(map(levels.__getitem__, parents)) if parents else 0)
        return levels


class CycleError(ValueError):
    """Tasks that wait for each other; `cycle` names them in the order in which they wait."""

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        shown = self.cycle if len(self.cycle) <= 8 else (*self.cycle[:4], "…", *self.cycle[-3:])
        super().__init__("tasks wait for each other: " + " -> ".join((*shown, self.cycle[0])))


def arrange(
    name: str,
    tasks: Sequence[Task],
    parents: Sequence[Sequence[int]],
    *,
    priority: int = 0,
    deadline: Duration | None = None,
) -> Workflow:
    """Build a workflow from tasks in any order, keeping their order where their parents allow it."""
    order = list(range(len(tasks))) if _is_arranged(parents) else _topological_order(tasks, parents)
    place = [0] * len(order)
    for position, index in enumerate(order):
        place[index] = position
    return Workflow(
        name=name,
        tasks=tuple(tasks[index] for index in order),
        parents=tuple(tuple(sorted({place[p] for p in parents[index]})) for index in order),
        priority=priority,
        deadline=deadline,
    )


def _is_arranged(parents: Sequence[Sequence[int]]) -> bool:
    return all(parent < index for index, row in enumerate(parents) for parent in row)


def _topological_order(tasks: Sequence[Task], parents: Sequence[Sequence[int]]) -> list[int]:
    missing = [len(set(row)) for row in parents]
    children: list[list[int]] = [[] for _ in tasks]
    for child, row in enumerate(parents):
        for parent in set(row):
            children[parent].append(child)
    order = [index for index, count in enumerate(missing) if count == 0]
    for index in order:  # grows during the iteration
        for child in sorted(children[index]):
            missing[child] -= 1
            if missing[child] == 0:
                order.append(child)
    if len(order) < len(tasks):
        left = {index for index, count in enumerate(missing) if count > 0}
        raise CycleError([tasks[index].id for index in _cycle_among(left, parents)])
    return order


def _cycle_among(left: set[int], parents: Sequence[Sequence[int]]) -> list[int]:
    """Find a cycle by walking from parent to parent among tasks that all have one left."""
    walk: list[int] = []
    seen: dict[int, int] = {}
    at = min(left)
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = min(parent for parent in parents[at] if parent in left)
    return walk[seen[at] :][::-1]


def edges(workflow: Workflow) -> Iterator[tuple[int, int]]:
    """Yield all pairs of parent and child."""
    for child, parents in enumerate(workflow.parents):
        for parent in parents:
            yield parent, child
