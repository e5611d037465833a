"""What a step does, and what it leaves behind: the plain data that travels from workflow file to executor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from tradewind.model.units import Duration

Json: TypeAlias = Any
"""None, bool, int, float, str, or lists and mappings (with text for keys) of these."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell command; `{{ name }}` stands for an input, quoted for the shell."""

    command: str


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function, `module:function`, called with the inputs as keyword arguments."""

    target: str
    version: str = ""
    """What stands for its code in the cache; empty: the file of its module."""


@dataclass(frozen=True, slots=True)
class Container:
    """A shell command inside a container image."""

    image: str
    command: str
    options: tuple[str, ...] = ()
    """More words for the tool that runs it, such as volumes."""
    entrypoint: bool = False
    """Whether the words of the command are arguments for what the image itself starts, and no shell reads them."""


@dataclass(frozen=True, slots=True)
class Lot:
    """Slots of a site, as a simulation takes them to be."""

    slots: int
    speed: float
    """Iterations that a slot does in a second."""


@dataclass(frozen=True, slots=True)
class Divisible:
    """A divisible job: independent iterations, spread over partitions while they run.

    On a machine of its own the step has a slot for each of its cpus; on a server with sites, these do the work.
    """

    iterations: Json
    """How many, or a template that gives that."""
    command: str = ""
    """What a partition runs; it asks for its iterations by the worker protocol."""
    target: str = ""
    """Or a Python function, `module:function`, called with each chunk of iterations and the inputs."""
    within: Duration | None = None
    """Time after which it should have ended; None: nothing is balanced."""
    initial: int | None = None
    """Partitions at the start; None: one for each slot."""
    maximum: int = 1_000
    """Partitions at once."""
    balancer: str = "ruper"
    reducer: str = "concatenate"
    """What becomes of the results: `concatenate`, `sum`, `run` or `python`."""
    reduce: str = ""
    """The command, or the function, that reduces them."""
    lots: Mapping[str, Lot] = field(default_factory=lambda: NOTHING)
    """Sites by name, for simulation."""


Action: TypeAlias = Shell | Function | Container | Divisible


@dataclass(frozen=True, slots=True)
class Output:
    """What a step leaves behind under a name: files that match a pattern, or a value."""

    path: str = ""
    """Pattern relative to the attempt's folder; the value of the output is the path, or the list of paths."""
    many: bool = False
    """Whether the pattern names a list of files."""
    value: str = ""
    """Where a value is read from instead: `stdout` (its text, stripped), `json` (the last line of stdout, parsed),
    `return` (of a function, or an entry of the mapping that it returns), or a file that holds JSON."""
    optional: bool = False
    """Whether there may be no file: the value is then null, or an empty list."""


@dataclass(frozen=True, slots=True)
class Ref:
    """An output of an earlier call of the same chain, not known before the chain runs."""

    call: str
    output: str
    path: tuple[str | int, ...] = ()
    """Keys and indices to follow inside the output's value."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A value computed from outputs of earlier calls of the same chain (see `tradewind.model.expression.resolve`)."""

    template: str
    """Text with `{{ expressions }}`."""
    names: Mapping[str, Json]
    """What the names in the expressions stand for; there are `Ref`s, or other derived values, among them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an attempt may take, and how much room it has."""

    run: Duration | None = None
    """Longest time a call may run."""
    silence: Duration | None = None
    """Longest time a call may go without writing any output."""


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Call:
    """One step made concrete: an action with its inputs, ready to be run by an executor."""

    id: str
    """The step's id, with the position in its loops: `align`, `align[2]`, `align[2][0]`."""
    action: Action
    inputs: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """Values by name; a `Ref` or `Derived` anywhere inside stands for what earlier calls of the chain will leave."""
    outputs: Mapping[str, Output] = field(default_factory=lambda: NOTHING)
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    limits: Limits = NO_LIMITS
    cache: bool = True
    """Whether what an equal call gave before may be taken instead."""
