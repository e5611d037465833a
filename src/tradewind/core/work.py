"""Runs and units: the work as the core holds it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tradewind.core.transitions import ILLEGAL, UNIT_ROWS, IllegalTransitionError, UnitState, UnitStep
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.units import Duration, Time
from tradewind.model.workflow import NO_CAUSES, Task, Workflow

if TYPE_CHECKING:
    from tradewind.core.elastic.division import Division, Share
    from tradewind.core.machines import Kind, Machine
    from tradewind.core.outline import Expected
    from tradewind.core.pool import Pool

WAITING, READY, RUNNING, DELAYED, DONE, FAILED, CANCELLED = map(int, UnitState)
ID_BITS = 40
"""Numbers of units and machines stay below this many bits, so that a rank or a time fits above them in one key."""
ID_MASK = (1 << ID_BITS) - 1
IS_ENDED = tuple(state >= UnitState.DONE for state in UnitState)


class Need:
    """A requirement met with in some workflow, numbered, and what it takes from a machine."""

    __slots__ = ("demand", "index", "kinds", "requirement", "top_speed")

    def __init__(
        self, index: int, requirement: Requirement, demand: tuple[int, ...], kinds: "tuple[Kind, ...]"
    ) -> None:
        self.index = index
        self.requirement = requirement
        self.demand = demand
        self.kinds = kinds
        self.top_speed = max((kind.type.speed for kind in kinds), default=1.0)

    def add(self, kind: "Kind") -> None:
        """Machines of another kind can meet it, too."""
        self.kinds = (*self.kinds, kind)
        self.top_speed = max(each.type.speed for each in self.kinds)


class Run:
    """A submitted workflow on its way."""

    __slots__ = (
        "deadline",
        "expected",
        "graph",
        "id",
        "is_elastic",
        "is_open",
        "is_stopping",
        "is_suspended",
        "keeps_going",
        "left",
        "name",
        "pool",
        "predicted",
        "priority",
        "status",
        "submitted",
        "units",
    )

    def __init__(self, id: int, name: str, pool: "Pool", priority: int, submitted: Time, deadline: Time | None) -> None:
        self.id = id
        self.name = name
        self.pool = pool
        self.priority = priority
        self.submitted = submitted
        self.deadline = deadline
        self.predicted: Time | None = None
        """When it was last thought to end, by a policy that foresees that."""
        self.units: Sequence[Unit] = ()
        self.graph: Sequence[Unit] = ()
        """The same, with what is expected to come, in topological order."""
        self.expected: Expected | None = None
        """What is expected and has not come; None: nothing is."""
        self.left = 0
        self.is_open = False
        """Whether it may still grow."""
        self.is_elastic = False
        """Whether it has elastic units."""
        self.status = "done"
        """What it will end as, as things stand: `done`, `failed` or `cancelled`."""
        self.keeps_going = False
        """Whether the rest goes on where a unit has failed."""
        self.is_stopping = False
        """Whether nothing of it is started any more."""
        self.is_suspended = False
        """Whether nothing of it is started for now."""

    @property
    def is_overdue(self) -> bool:
        """Whether something was expected by now that has not come."""
        return self.expected is not None and bool(self.expected.due)


class Attempt(NamedTuple):
    """One of the attempts of a unit that run at once."""

    number: int
    machine: "Machine"
    started: Time


class Unit:
    """One task of a run, as it is placed.

    Mostly one attempt of it runs at a time: `attempt`, on `machine`, since `started`. Where a policy wants several, the
    others are its `copies`; the one that an event is about is made the first of them before anything else is done.
    """

    __slots__ = (
        "attempt",
        "checkpoint",
        "children",
        "copies",
        "elastic",
        "failures",
        "id",
        "kept",
        "key",
        "last",
        "lost",
        "machine",
        "need",
        "preempted",
        "queued",
        "run",
        "started",
        "state",
        "task",
        "waits",
    )

    def __init__(self, id: int, run: Run, task: Task, need: Need, waits: int) -> None:
        self.id = id
        self.run = run
        self.task = task
        self.need = need
        self.waits = waits
        self.children: Sequence[Unit] = ()
        self.state: int = WAITING
        self.attempt = 0
        self.last = 0
        """The largest number that an attempt of it ever had."""
        self.copies: Sequence[Attempt] = ()
        """Attempts that run beside the first, the oldest first."""
        self.failures: Mapping[str, int] = NO_CAUSES
        """How often it has failed, by cause."""
        self.lost = 0
        """How many machines have been lost under it."""
        self.preempted = 0
        """How often it had to give way to a machine that shrank or was taken back."""
        self.checkpoint = task.checkpoint
        self.kept: Duration = 0
        """Work that checkpoints have saved, as on a machine of speed 1."""
        self.machine: Machine | None = None
        self.started: Time = 0
        self.elastic: Division | Share | None = None
        """How it is divided, or which share of an elastic unit it is."""
        self.key = 0
        self.queued = False
        """Whether an entry with its present key is in a queue of its pool."""

    @property
    def kinds(self) -> "tuple[Kind, ...]":
        """Those whose machines can run it."""
        return self.need.kinds

    @property
    def division(self) -> "Division | None":
        """How it is divided, or how the elastic unit is of which it is a share."""
        found = self.elastic
        return None if found is None else found.division

    @property
    def rank(self) -> int:
        """What the placer ranked it by when it became ready."""
        return self.key >> ID_BITS

    @property
    def is_ready(self) -> bool:
        """Whether it waits for nothing but a machine."""
        return self.state == READY

    @property
    def is_ended(self) -> bool:
        """Whether nothing will happen to it any more."""
        return IS_ENDED[self.state]

    def adopt(self, child: "Unit") -> None:
        """Another unit waits for this one."""
        if self.children:
            self.children.append(child)  # type: ignore[attr-defined]  # a list from the first child on
        else:
            self.children = [child]

    def attempts(self) -> "Sequence[Attempt]":
        """All that run."""
        return () if self.machine is None else (Attempt(self.attempt, self.machine, self.started), *self.copies)

    def on(self, machine: int) -> "Attempt | None":
        """The attempt that runs on a machine."""
        where = self.machine
        if where is not None and where.id == machine:  # mostly there is only this one
            return Attempt(self.attempt, where, self.started)
        return next((each for each in self.copies if each.machine.id == machine), None)

    def runs(self, number: int, machine: int) -> bool:
        """Whether the attempt of a number runs on a machine."""
        where = self.machine
        if where is not None and where.id == machine:
            return self.attempt == number
        return any(each.number == number and each.machine.id == machine for each in self.copies)

    def lead(self, wanted: "Attempt") -> None:
        """Make one of its attempts the first."""
        self.copies = tuple(each for each in self.attempts() if each.number != wanted.number)
        self.attempt, self.machine, self.started = wanted

    def move(self, step: UnitStep) -> None:
        """Take a step that the table allows."""
        state = UNIT_ROWS[self.state][step]
        if state == ILLEGAL:
            raise IllegalTransitionError(f"unit {self.id}: {step.name} while {UnitState(self.state).name}")
        self.state = state


def left(unit: Unit, kind: "Kind", time: Duration) -> Duration:
    """What remains, checkpoints included, of a unit that would run so long on a kind if it began anew."""
    if unit.checkpoint is None:
        return time
    return unit.checkpoint.needed(max(0, time - round(unit.kept / kind.type.speed)))


def declared_time(unit: Unit, kind: "Kind") -> Duration:
    """The declared run time of a unit on a kind."""
    task, type = unit.task, kind.type
    return declared(task, type) if task.runtimes or type.speed != 1 else task.runtime or 0


def declared(task: Task, type: MachineType) -> Duration:
    """The declared run time of a task on a type; a task that declares none counts as instant."""
    if task.runtimes:
        time = task.runtimes.get(type.name)
        if time is not None:
            return time
    time = task.runtime or 0
    return time if type.speed == 1 else round(time / type.speed)


def ideal_makespan(workflow: Workflow, needs: "Sequence[Need]") -> Duration:
    """The critical path with every task on its fastest kind, without waiting and without boot lag."""
    ends: list[Duration] = []
    longest = 0
    for task, need, parents in zip(workflow.tasks, needs, workflow.parents, strict=True):
        if task.runtimes:
            end = min((declared(task, kind.type) for kind in need.kinds), default=task.runtime or 0)
        else:
            end = task.runtime or 0
            if need.top_speed != 1:
                end = round(end / need.top_speed)
        if task.elastic is not None:
            end //= min(task.elastic.maximum, task.elastic.iterations)
        if parents:
            end += max(map(ends.__getitem__, parents))
        ends.append(end)
        if end > longest:
            longest = end
    return longest
