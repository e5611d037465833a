"""The ports of the live driver: what it needs of whatever runs work, in four verbs, and what comes back.

An engine carries out commands and answers with reports, at any time and in any order; a report may come twice, or for
an attempt long given up: the core's attempt numbers tell. `tradewind.live.engines` has the implementations.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from tradewind.model.action import NOTHING, Call
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Amounts


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


class Failure(NamedTuple):
    """A chain that has failed for good, and the last report of it."""

    chain: str
    folder: str
    report: Broke


Report: TypeAlias = Up | Down | Resized | Done | Broke


class Engine(Protocol):
    """Runs attempts on machines; never blocks, and calls back from its own thread of events."""

    @property
    def ends_with_us(self) -> bool:
        """Whether all that it runs ends with this process, in whatever way that ends, and nobody reports it later.

        What is started need not be saved first then: a crash leaves nothing running of which the store knows nothing.
        """

    @property
    def ahead(self) -> int:
        """How many orders a machine takes beyond what it can run at once, to begin each as another ends."""

    def acquire(self, machine: int, type: MachineType) -> None:
        """Bring a machine up; `Up` or `Down` will be reported."""

    def release(self, machine: int) -> None:
        """Let a machine go; nothing is reported."""

    def start(self, orders: Sequence[Order]) -> None:
        """Begin attempts; each ends in `Done` or `Broke`, or in `Down` of its machine."""

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """End an attempt with all its processes; nothing is reported.

        They are asked to end, and made to after a grace; or made to at once.
        """

    def check(self, held: Mapping[int, Sequence[tuple[int, int]]], awaited: Collection[int]) -> None:
        """See whether machines are there with their attempts (units and numbers), and whether those awaited are up.

        What is missing is reported, `Down` for a machine and `Broke` with the cause `lost` for an attempt; `Up` is
        reported again for a machine that is up but still awaited.
        """

    def close(self) -> None:
        """End everything that is left, and wait for it."""


Listener: TypeAlias = Callable[[Sequence[Report]], None]
"""Takes reports in the order in which they came."""
