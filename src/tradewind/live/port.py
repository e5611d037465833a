"""The ports of the live driver: what it needs of whatever runs work, and what comes back.

An engine carries out commands and answers with reports, at any time and in any order; a report may come twice, or for
an attempt long given up: the core's attempt numbers tell. Machines and attempts may outlive the control plane. The next
one compares what the engine has with what the store says (`check`) before it does anything else. An end is reported
until it is confirmed, by whichever control plane has saved it. `tradewind.live.engines` has the implementations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from tradewind.model.action import NOTHING, Call
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Amounts


class ShareOrder(NamedTuple):
    """What a process needs to report how far its share of an elastic unit is, or to reduce the results of one."""

    path: str
    """Where its calls go, on the control plane."""
    lease: str
    """The secret that each of them shows."""
    iterations: int
    """Of the elastic unit; 0: the process reduces its results."""


@dataclass(frozen=True, slots=True)
class Order:
    """An attempt to be run on a machine."""

    run: str
    """Public id of the run, for folders and for the step's environment."""
    unit: int
    attempt: int
    machine: int
    chain: str
    """Name of the chain, unique in its run and fit for a folder's name."""
    calls: tuple[Call, ...]
    """Run one after the other, in the same attempt."""
    folder: str
    """Where the attempt's files go; made anew, and not there before."""
    checkpoint: str = ""
    """A folder kept over attempts; empty: none."""
    cpus: int = 1
    memory: int | None = None
    """Bytes that the attempt may use; None: no limit of its own."""
    most: int = 0
    """It is lined up, and begins once fewer attempts than this run on its machine; 0: at once."""
    share: ShareOrder | None = None
    """Set for shares of elastic units, and for what reduces their results."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an attempt took."""

    cpu: float = 0.0
    """Seconds of processor time, children included."""
    memory: int = 0
    """Most bytes resident at once."""


class Up(NamedTuple):
    """A machine can work."""

    machine: int


class Down(NamedTuple):
    """A machine never came up, or is gone with all that ran on it."""

    machine: int
    reason: str


class Done(NamedTuple):
    """An attempt has ended well, with the outputs of each call."""

    unit: int
    attempt: int
    machine: int
    results: Mapping[str, Mapping[str, Any]] = NOTHING
    usage: Usage = Usage()


class Broke(NamedTuple):
    """An attempt has ended with an error."""

    unit: int
    attempt: int
    machine: int
    cause: str
    """`error`, `memory`, `timeout`, `silence`, `missing` (an output), `start` (it could not be started),
    `lost` (nobody knows of it any more), `returned` (it was lined up, and its turn did not come)."""
    reason: str
    """In a line, for people."""
    call: str = ""
    tail: str = ""
    """The last lines of its output."""
    usage: Usage = Usage()


class Resized(NamedTuple):
    """A machine offers other amounts from now on; told before it is up, it begins with them."""

    machine: int
    amounts: Amounts


class Joined(NamedTuple):
    """A machine that was not rented offers its service; repeated after a restart, it is the same machine."""

    name: str
    """Unique among joined machines and stable over reconnects, such as `cluster/3`."""
    type: MachineType
    """Says that it `joins`."""
    tenants: tuple[str, ...] = ()
    """Tenants that it serves; none: every tenant."""


class Left(NamedTuple):
    """A joined machine has signed off or fallen silent, with all that ran on it."""

    name: str
    reason: str


class Failure(NamedTuple):
    """A chain that has failed for good, and the last report of it."""

    chain: str
    folder: str
    report: Broke


class Expected(NamedTuple):
    """A machine that an engine should have, as the core sees it."""

    type: MachineType
    is_up: bool
    """Whether it was heard of; else it is still awaited."""
    attempts: Sequence[tuple[int, int]] = ()
    """Units and attempts that run there."""
    name: str = ""
    """The name under which it joined; empty: it was rented."""


Report: TypeAlias = Up | Down | Resized | Joined | Left | Done | Broke


class Engine(Protocol):
    """Runs attempts on machines; never blocks, and calls back from its own thread of events."""

    @property
    def ends_with_us(self) -> bool:
        """Whether all that it runs ends with this process, in whatever way that ends, and is never reported later.

        What is started need not be saved first then: a crash leaves nothing running of which the store knows nothing.
        """

    @property
    def ahead(self) -> int:
        """How many orders a machine takes beyond what it can run at once, to begin each as another ends."""

    def acquire(self, machine: int, type: MachineType) -> None:
        """Bring a machine up; `Up` or `Down` will be reported."""

    def welcome(self, name: str, machine: int) -> None:
        """Give a machine that joined its number: it is recorded, and orders may follow.

        Repeated for a machine that joins under a name already held.
        """

    def release(self, machine: int) -> None:
        """Let a machine go; nothing is reported. One that joined gets no more orders until it joins again."""

    def start(self, orders: Sequence[Order]) -> None:
        """Begin attempts; each ends in `Done` or `Broke`, or in `Down` of its machine."""

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """End an attempt with all its processes; nothing is reported.

        They are asked to end, and made to after a grace; or made to at once.
        """

    def check(self, expected: Mapping[int, Expected]) -> Sequence[Report]:
        """Compare what is there with what should be: after a restart before anything else, then from time to time.

        What is missing is reported, `Down` for a machine and `Broke` with the cause `lost` for an attempt, unless its
        end is yet to be confirmed. `Up` is reported for a machine that is up but still awaited. Machines and attempts
        that are not expected are ended. Returned is what can be said at once; the rest is reported.
        """

    def confirm(self, ends: Sequence[tuple[int, int, int]]) -> None:
        """Stop reporting the ends of attempts (unit, attempt and machine): they are recorded."""

    def detach(self) -> None:
        """Let go of everything without ending it, for the next control plane; where nothing can go on, end it."""

    def close(self) -> None:
        """End everything that is left, and wait for it."""


Listener: TypeAlias = Callable[[Sequence[Report]], None]
"""Takes reports in the order in which they came."""
