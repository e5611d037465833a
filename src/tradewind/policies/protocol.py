"""The interface of policies: what they see and what they can ask for.

A *scaler* decides what to rent and return, once per interval. A *placer* decides which waiting unit runs where, on
every event. Both get a `View` of the core: live indexes that must only be read, never a copy. They yield actions one by
one; the core checks and applies each before it asks for the next, so **the view changes under the policy**: after a
`yield` that rents a machine, the machine is in the view, booting.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time
from tradewind.model.vector import Vector
from tradewind.model.workflow import Checkpoint, Task
from tradewind.policies.divisible.protocol import Balancer, DivisionView
from tradewind.policies.divisible.ruper import Ruper


class Run(Protocol):
    """A submitted workflow."""

    @property
    def id(self) -> int: ...
    @property
    def pool(self) -> "Pool":
        """Its tenant's work and machines."""

    @property
    def priority(self) -> int: ...
    @property
    def submitted(self) -> Time: ...
    @property
    def deadline(self) -> Time | None: ...
    @property
    def left(self) -> int:
        """Return the number of its units that have not ended."""

    @property
    def units(self) -> "Sequence[Unit]":
        """Return the units created so far, in order of creation."""

    @property
    def graph(self) -> "Sequence[Unit]":
        """Return the units in topological order, including expected ones, which are never ready."""


class Unit(Protocol):
    """The unit of placement: a task, or a chain of steps."""

    @property
    def id(self) -> int: ...
    @property
    def run(self) -> Run: ...
    @property
    def task(self) -> Task: ...
    @property
    def waits(self) -> int:
        """Return the number of parents that have not finished."""

    @property
    def children(self) -> "Sequence[Unit]": ...
    @property
    def need(self) -> "Need":
        """Return its need."""

    @property
    def kinds(self) -> "Sequence[Kind]":
        """Return the kinds whose machines can run it; none while it waits for a machine of an unknown type to join."""

    @property
    def machine(self) -> "Machine | None":
        """Return the machine it is running on."""

    @property
    def started(self) -> Time:
        """Return when its current attempt started."""

    @property
    def copies(self) -> "Sequence[Attempt]":
        """Return the attempts that run concurrently with the current one."""

    @property
    def division(self) -> DivisionView | None:
        """How an elastic unit at work is divided; of a share, that of its elastic unit."""

    @property
    def rank(self) -> int:
        """Return the rank that the placer gave it when it became ready."""

    @property
    def is_ready(self) -> bool:
        """Return whether it waits only for a machine."""

    @property
    def is_ended(self) -> bool: ...


class Attempt(Protocol):
    """One of several attempts of a unit."""

    @property
    def machine(self) -> "Machine": ...


class Machine(Protocol):
    """A rented machine."""

    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> "Kind": ...
    @property
    def pool(self) -> "Pool": ...
    @property
    def running(self) -> Mapping[int, Unit]: ...
    @property
    def paid_until(self) -> Time: ...
    @property
    def expected(self) -> Time:
        """Return when it is expected to be up, or came up."""

    @property
    def idle_since(self) -> Time: ...
    @property
    def is_idle(self) -> bool:
        """Return whether it is up and runs nothing."""

    @property
    def is_booting(self) -> bool: ...
    @property
    def is_up(self) -> bool:
        """Return whether tasks can be started on it; not if it is draining."""

    @property
    def capacity(self) -> Vector:
        """Return its current capacity, in the order of `Need.demand`."""

    @property
    def free(self) -> Vector:
        """Return the unused part of its capacity."""

    @property
    def changed(self) -> Time:
        """Return when it last changed in size, or came up."""

    @property
    def grew(self) -> bool:
        """Return whether the last change was growth; coming up counts as growth."""

    def has_room_for(self, unit: Unit) -> bool:
        """Return whether it is up and has enough free capacity for a unit."""


class Kind(Protocol):
    """A machine type with its number."""

    @property
    def index(self) -> int: ...
    @property
    def type(self) -> MachineType: ...
    @property
    def capacity(self) -> Vector:
        """Return the capacity of an empty machine."""

    @property
    def rating(self) -> int:
        """Speed of shares on its machines, in millionths of the typical one of their elastic unit; 0: unknown."""

    def serves(self, tenant: str) -> bool:
        """Whether its machines work for a tenant."""


class Need(Protocol):
    """A requirement that occurs in some workflow, with its number."""

    @property
    def index(self) -> int: ...
    @property
    def requirement(self) -> Requirement: ...
    @property
    def kinds(self) -> Sequence[Kind]:
        """Return the kinds whose machines meet it, in the order of configuration."""

    @property
    def demand(self) -> Vector:
        """Return the capacity it takes from a machine."""


class Change(NamedTuple):
    """A spot or harvest machine that changed in size, or is gone."""

    machine: Machine
    at: Time
    since: Time
    """Time of the previous change."""
    grew: bool
    """Whether the previous change was growth."""
    grows: bool | None
    """Whether it grew now; None: it was returned, so its next change is unknown."""
    running: int = 0
    """Number of attempts that were running on it."""
    ended: int = 0
    """Number of attempts that were preempted."""


class Fleet(Protocol):
    """The machines of one kind that one tenant holds."""

    @property
    def kind(self) -> Kind: ...
    @property
    def machines(self) -> Mapping[int, Machine]:
        """Return its machines by number, in order of acquisition."""

    @property
    def completed(self) -> int:
        """Return the number of tasks that have finished on machines of this fleet."""

    def machine_time(self, now: Time) -> Duration:
        """Return the total time for which machines of this fleet have been held."""


class Pool(Protocol):
    """One tenant's work and machines."""

    @property
    def index(self) -> int: ...
    @property
    def tenant(self) -> Tenant: ...
    @property
    def fleets(self) -> Sequence[Fleet]:
        """Return one fleet per kind."""

    @property
    def runs(self) -> Mapping[int, Run]:
        """Return the runs that have not ended, in order of submission."""

    def waiting(self) -> Sequence[Need]:
        """Return needs that may have ready units and that some known type meets, in no particular order."""

    def remaining(self, need: Need) -> int:
        """Return the number of ready units of a need."""

    def eligible(self) -> Iterator[Unit]:
        """Yield ready units lazily, in no particular order."""

    def eligible_of(self, run: Run, is_wanted: Callable[[Need], bool]) -> Iterator[Unit]:
        """Yield ready units of a run in order, for each need as long as it is wanted.

        Each unit costs O(log n) in the units yielded; the rest costs nothing.
        """

    def active(self) -> Iterator[Unit]:
        """Yield units that are running, ready, or waiting for a retry, in no particular order."""

    def best_match(self) -> "tuple[Unit, Machine] | None":
        """Return the first ready unit, by rank, that fits on some machine, and the first such machine."""

    def first(self, need: Need) -> Unit | None:
        """Return the first ready unit of a need, by rank."""

    def ranked(self, need: Need, most: int) -> Sequence[Unit]:
        """Return the first ready units of a need, by rank, up to a maximum."""

    def some(self, need: Need, most: int) -> Sequence[Unit]:
        """Return a sample of ready units of a need, mostly among the first, to estimate the others from."""

    def kinds_with_room(self) -> Sequence[Kind]:
        """Return kinds with a machine that could take more work, in the order of configuration."""

    def first_with_room(self, kind: Kind, need: Need) -> Machine | None:
        """Return the machine of a kind with the smallest number that has room for a need."""

    def longest_idle(self, kind: Kind, need: Need) -> Machine | None:
        """Return the machine of a kind with room for a need that has been idle longest."""


class View(Protocol):
    """Everything that a policy may know."""

    @property
    def now(self) -> Time: ...
    @property
    def interval(self) -> Duration:
        """Return the time between two calls of the scaler."""

    @property
    def kinds(self) -> Sequence[Kind]:
        """All that are known; others are added at the end when machines of new types join."""

    def pools(self) -> Sequence[Pool]:
        """Return all tenants' pools in serving order, which is shuffled from the seed at each interval."""

    def unit(self, number: int) -> Unit | None:
        """Return a unit by number, if its run has not ended."""

    def machine(self, number: int) -> Machine | None:
        """Return a machine by number, if it is held."""

    def unsettled(self) -> Iterable[Pool]:
        """Return pools with changes that may allow a unit to start."""

    def freed(self) -> Sequence[Unit]:
        """Return units that have become ready since the placer was last called."""

    def thinned(self) -> Sequence[Unit]:
        """Return running units that have lost one of several attempts since the placer was last called."""

    def vacated(self) -> Sequence[Machine]:
        """Return machines that have gained room since the placer was last called."""

    def changes(self) -> Sequence[Change]:
        """Return changes in size of spot and harvest machines since the placer was last called."""

    def divisions(self) -> Sequence[DivisionView]:
        """Elastic units at work, in the order in which they began."""

    def affordable(self, pool: Pool) -> Money:
        """Return what the tenant may still reserve now, after paying another interval for everything it holds."""

    def worth(self, pool: Pool, kind: Kind) -> Money:
        """Return how much of the tenant's budget one machine of a kind takes in an interval."""

    def vacancies(self, kind: Kind) -> int:
        """Return how many more machines of a kind may be acquired by all tenants; none of a type that joins."""

    def estimate(self, unit: Unit, kind: Kind) -> Duration:
        """Return the estimated run time of a unit on a machine of a kind."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Mark a step of a decision, so that a driver can measure it."""


class Rent(NamedTuple):
    """Acquire a number of machines of a kind for a tenant."""

    pool: Pool
    kind: Kind
    number: int
    because: str


class Return(NamedTuple):
    """Return an idle machine."""

    machine: Machine
    because: str


class Drain(NamedTuple):
    """Start nothing more on a machine, and return it when its tasks have finished."""

    machine: Machine
    because: str


class Place(NamedTuple):
    """Start a ready unit on a machine with room."""

    unit: Unit
    machine: Machine
    because: str


class Copy(NamedTuple):
    """Start another attempt of a running unit on another machine with room; the first to succeed counts."""

    unit: Unit
    machine: Machine
    because: str


class Foresee(NamedTuple):
    """Predict when a run will end: when first known, and whenever it becomes late or on time again."""

    run: Run
    finish: Time
    because: str


class Confine(NamedTuple):
    """Restrict a waiting unit to firm machines, because there is no time left to rerun it."""

    unit: Unit
    because: str


class Split(NamedTuple):
    """Divide an elastic unit at work into more shares, each of which waits for a machine."""

    unit: Unit
    shares: int
    because: str


Scaling: TypeAlias = Rent | Return | Drain | Foresee | Confine | Split
Placing: TypeAlias = Place | Copy


class Scaler(Protocol):
    """Decides what to rent and what to return."""

    on_arrival: bool
    """Whether it is also called at each submission, not only once per interval."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """Yield the changes to make now."""


@runtime_checkable
class Reactive(Protocol):
    """A scaler that is also asked after reports of shares, at most once in the given time."""

    pace: Duration


class Placer(Protocol):
    """Decides which ready unit runs on which machine."""

    def rank(self, unit: Unit) -> int:
        """Return the rank of a unit: smaller ranks come first; among equals, older units."""

    def place(self, view: View) -> Iterator[Placing]:
        """Yield the units to start now."""


@runtime_checkable
class Follower(Protocol):
    """A placer that carries out the plan of its scaler, and so cannot serve another one.

    If another placer takes over, it keeps the plan consistent with that placer's decisions.
    """

    def rank(self, unit: Unit) -> int:
        """Return the rank of a unit, as any placer."""

    def step_back(self) -> None:
        """Let another placer take over."""

    def insist(self, view: View) -> "Iterator[Placing]":
        """Yield units that must be placed as planned, before the other placer is called."""

    def binds(self, pool: Pool) -> bool:
        """Whether all work of a tenant is placed as planned, and none of it by another placer."""

    def placed(self, view: View, unit: Unit, machine: Machine) -> None:
        """Record that the other placer has started a unit."""


class Memory(Protocol):
    """State of a policy beyond the view that survives a restart."""

    def save(self) -> Any:
        """Return the state as plain JSON values."""

    def load(self, saved: Any) -> None:
        """Restore a saved state."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A scaler and a placer that belong together."""

    name: str
    scaler: Scaler
    placer: Placer
    kill: Literal["newest", "oldest"] = "newest"
    """Which attempts are preempted first when a machine shrinks."""
    checkpoint: Checkpoint | None = None
    """How tasks without a checkpoint of their own save their progress."""
    memory: Memory | None = None
    looks_ahead: bool = False
    """Whether it wants to see what a program is expected to run later."""
    hints: bool = True
    """Whether owners of machines that join also get hints for work without room.

    If not, only requests of the scaler itself become hints.
    """
    replans_on_loss: bool = False
    """Whether the scaler is called before units that have lost their machine are placed again."""
    balancer: Callable[[Duration], Balancer] = Ruper
    """Creates a balancer of elastic units, given the shortest time between two reports."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A module's entry in the registry: a policy's name, a one-line summary, and how to build it."""

    name: str
    summary: str
    parameters: type[Any]
    """A dataclass whose fields are the parameters, with defaults, and a help line in their metadata."""
    build: Callable[[Any], Policy]
