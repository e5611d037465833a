"""What policies see and what they may ask for.

A *scaler* decides what to rent and give back, once a period; a *placer* decides which waiting unit runs where, on every
event. Both get a `View` of the core: live indexes, to be read only, never a copy. They yield actions one by one; the
core checks and applies each before it asks for the next, so **the view moves under the policy**: a machine asked for in
one `yield` is there, booting, after it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time
from tradewind.model.workflow import Checkpoint, Task


class Run(Protocol):
    """A submitted workflow."""

    @property
    def id(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def submitted(self) -> Time: ...
    @property
    def deadline(self) -> Time | None: ...
    @property
    def units(self) -> "Sequence[Unit]":
        """In topological order."""


class Unit(Protocol):
    """What is placed as a whole: one task."""

    @property
    def id(self) -> int: ...
    @property
    def run(self) -> Run: ...
    @property
    def task(self) -> Task: ...
    @property
    def waits(self) -> int:
        """How many of its parents have not finished."""

    @property
    def children(self) -> "Sequence[Unit]": ...
    @property
    def need(self) -> "Need":
        """What it needs of a machine."""

    @property
    def kinds(self) -> "Sequence[Kind]":
        """Those whose machines can run it."""

    @property
    def machine(self) -> "Machine | None":
        """Where it runs now."""

    @property
    def started(self) -> Time:
        """When its present attempt began."""

    @property
    def copies(self) -> "Sequence[Attempt]":
        """Attempts of it that run beside that."""

    @property
    def is_ready(self) -> bool:
        """Whether it waits for nothing but a machine."""

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
        """When it is expected to be up, or came up."""

    @property
    def idle_since(self) -> Time: ...
    @property
    def is_idle(self) -> bool:
        """Whether it is up and runs nothing."""

    @property
    def is_booting(self) -> bool: ...
    @property
    def is_up(self) -> bool:
        """Whether work can be started on it; one that is being drained is not."""

    @property
    def capacity(self) -> tuple[int, ...]:
        """What it offers now, in the order of `Need.demand`."""

    @property
    def free(self) -> tuple[int, ...]:
        """What of that is not in use."""

    @property
    def changed(self) -> Time:
        """When it last changed in size, or came up."""

    @property
    def grew(self) -> bool:
        """Whether it grew then; so it counts when it comes up."""

    def has_room_for(self, unit: Unit) -> bool:
        """Whether it is up and what is free on it suffices for a unit."""


class Kind(Protocol):
    """A machine type with its number."""

    @property
    def index(self) -> int: ...
    @property
    def type(self) -> MachineType: ...


class Need(Protocol):
    """A requirement met with in some workflow, with its number."""

    @property
    def index(self) -> int: ...
    @property
    def requirement(self) -> Requirement: ...
    @property
    def kinds(self) -> Sequence[Kind]:
        """Those whose machines meet it, in the order in which machine types are configured."""

    @property
    def demand(self) -> tuple[int, ...]:
        """What it takes from a machine."""


class Change(NamedTuple):
    """A machine that is not firm has changed in size, or is gone."""

    machine: Machine
    at: Time
    since: Time
    """When it last changed before."""
    grew: bool
    """Whether it grew then."""
    grows: bool | None
    """Whether it has grown now; None: it was given back, and nobody knows how long it would have stayed as it was."""
    running: int = 0
    """How many attempts ran on it."""
    ended: int = 0
    """How many of them had to give way."""


class Fleet(Protocol):
    """The machines of one kind that one tenant holds."""

    @property
    def kind(self) -> Kind: ...
    @property
    def machines(self) -> Mapping[int, Machine]:
        """By number, in the order in which they were acquired."""

    @property
    def completed(self) -> int:
        """Tasks that have finished on machines of this fleet so far."""

    def machine_time(self, now: Time) -> Duration:
        """Time for which machines of this fleet have been held so far, added up."""


class Pool(Protocol):
    """One tenant's work and machines."""

    @property
    def index(self) -> int: ...
    @property
    def tenant(self) -> Tenant: ...
    @property
    def fleets(self) -> Sequence[Fleet]:
        """One for each kind."""

    @property
    def runs(self) -> Mapping[int, Run]:
        """Those not yet ended, in order of submission."""

    def waiting(self) -> Sequence[Need]:
        """Needs of which units may be ready, in no special order."""

    def remaining(self, need: Need) -> int:
        """How many units of a need are ready."""

    def eligible(self) -> Iterator[Unit]:
        """Units that wait for nothing but a machine, in no special order."""

    def active(self) -> Iterator[Unit]:
        """Units that are running, eligible, or about to be tried again; in no special order."""

    def best_match(self) -> "tuple[Unit, Machine] | None":
        """The first ready unit, by rank, for which there is room, and the first machine that has it."""

    def first(self, need: Need) -> Unit | None:
        """The first ready unit of a need, by rank."""

    def ranked(self, need: Need, most: int) -> Sequence[Unit]:
        """The first ready units of a need, so many at most, by rank."""

    def some(self, need: Need, most: int) -> Sequence[Unit]:
        """A few ready units of a need, mostly among the first: enough to judge the others by."""

    def kinds_with_room(self) -> Sequence[Kind]:
        """Kinds of which some machine could take more work, in the order in which they are configured."""

    def first_with_room(self, kind: Kind, need: Need) -> Machine | None:
        """The machine of a kind with the smallest number that has room for a need."""

    def longest_idle(self, kind: Kind, need: Need) -> Machine | None:
        """The machine of a kind with room for a need that has been idle the longest."""


class View(Protocol):
    """All that a policy may know."""

    @property
    def now(self) -> Time: ...
    @property
    def interval(self) -> Duration:
        """Time between two calls of the scaler."""

    @property
    def kinds(self) -> Sequence[Kind]: ...
    def pools(self) -> Sequence[Pool]:
        """All tenants, in the order in which they are served this time (shuffled, from the seed, at each interval)."""

    def unit(self, number: int) -> Unit | None:
        """The unit of a number, if its run has not ended."""

    def machine(self, number: int) -> Machine | None:
        """The machine of a number, if it is held."""

    def unsettled(self) -> Iterable[Pool]:
        """Pools whose work or machines have changed in a way that may let a unit start."""

    def freed(self) -> Sequence[Unit]:
        """Units that have become ready since the placer was last asked."""

    def thinned(self) -> Sequence[Unit]:
        """Units that have lost one of several attempts since the placer was last asked, and run on."""

    def vacated(self) -> Sequence[Machine]:
        """Machines that have gained room since the placer was last asked."""

    def changes(self) -> Sequence[Change]:
        """Changes in size of machines that are not firm, since the placer was last asked."""

    def affordable(self, pool: Pool) -> Money:
        """What the tenant may still reserve now, after all it holds has been paid for another interval."""

    def worth(self, pool: Pool, kind: Kind) -> Money:
        """What holding one machine of a kind takes from the tenant's budget in an interval."""

    def vacancies(self, kind: Kind) -> int:
        """How many more machines of a kind may be acquired by anybody."""

    def estimate(self, unit: Unit, kind: Kind) -> Duration:
        """How long the unit is thought to run on a machine of a kind."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Marks a step of a decision, so that a driver may measure it."""


class Rent(NamedTuple):
    """Acquire so many machines of a kind for a tenant."""

    pool: Pool
    kind: Kind
    number: int
    because: str


class Return(NamedTuple):
    """Give an idle machine back."""

    machine: Machine
    because: str


class Drain(NamedTuple):
    """Start nothing more on a machine, and give it back when what runs on it has ended."""

    machine: Machine
    because: str


class Place(NamedTuple):
    """Start a ready unit on a machine with room."""

    unit: Unit
    machine: Machine
    because: str


class Copy(NamedTuple):
    """Start another attempt of a unit that runs, on another machine with room; the first to end well counts."""

    unit: Unit
    machine: Machine
    because: str


class Foresee(NamedTuple):
    """Say when a run is thought to end: when that is first known, and whenever it turns late or in time again."""

    run: Run
    finish: Time
    because: str


Scaling: TypeAlias = Rent | Return | Drain | Foresee
Placing: TypeAlias = Place | Copy


class Scaler(Protocol):
    """Decides what to rent and what to give back."""

    on_arrival: bool
    """Whether it is also asked at each submission, not only once a period."""

    def scale(self, view: View) -> Iterator[Scaling]:
        """What to change now."""


class Placer(Protocol):
    """Decides which ready unit runs on which machine."""

    def rank(self, unit: Unit) -> int:
        """Ready units with smaller ranks come first; among equals the older one."""

    def place(self, view: View) -> Iterator[Placing]:
        """What to start now."""


class Memory(Protocol):
    """What a policy remembers beyond the view, so that a restart does not make it forget."""

    def save(self) -> Any:
        """As plain JSON values."""

    def load(self, saved: Any) -> None:
        """Remember what was saved."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A scaler and a placer that go together."""

    name: str
    scaler: Scaler
    placer: Placer
    kill: Literal["newest", "oldest"] = "newest"
    """Which attempts give way first on a machine that shrinks."""
    checkpoint: Checkpoint | None = None
    """How tasks save their progress that do not say so themselves."""
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What a module gives to the registry: a policy's name, what it does in a line, and how to build it."""

    name: str
    summary: str
    parameters: type[Any]
    """A dataclass whose fields are the parameters, with defaults, and with a line on each in its metadata."""
    build: Callable[[Any], Policy]
