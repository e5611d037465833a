"""Actions of steps and their outputs: the plain data that travels from workflow file to executor."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from tradewind.model.units import Duration

Json: TypeAlias = Any
"""None, bool, int, float, str, or lists and mappings (with text keys) of these."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell command; `{{ name }}` stands for an input, quoted for the shell."""

    command: str
    shell: str = ""
    """The shell, one of `SHELLS`, optionally with options; empty: bash, or sh if that is not installed."""


@dataclass(frozen=True, slots=True)
class Function:
    """A Python function, `module:function`, called with the inputs as keyword arguments."""

    target: str
    version: str = ""
    """The identity of its code in the cache; empty: the file of its module."""


@dataclass(frozen=True, slots=True)
class Container:
    """A shell command inside a container image."""

    image: str
    command: str
    options: tuple[str, ...] = ()
    """Additional options for the container tool, such as volumes."""
    entrypoint: bool = False
    """Whether the command consists of arguments for the image's entry point, which no shell reads."""
    shell: str = ""
    """As in `Shell`, inside the container."""


@dataclass(frozen=True, slots=True)
class Lot:
    """Slots of a simulated site."""

    slots: int
    speed: float
    """Iterations per second and slot."""


@dataclass(frozen=True, slots=True)
class Divisible:
    """Independent iterations, distributed over any number of machines at run time."""

    iterations: Json
    """The number of iterations, or a template for it."""
    command: str = ""
    """The command of a share, which asks for its iterations over HTTP."""
    target: str = ""
    """Alternatively a Python function, `module:function`, called with each chunk of iterations and the inputs."""
    within: Duration | None = None
    """Time by which it should finish; None: nothing is rebalanced."""
    initial: int | None = None
    """Shares at the start; None: as many as fit on machines that are held or free of charge."""
    maximum: int = 1_000
    """Maximum number of concurrent shares."""
    balancer: str = ""
    """The balancer; empty: that of the policy."""
    reducer: str = "concatenate"
    """How results are combined: `concatenate`, `sum`, `run` or `python`."""
    reduce: str = ""
    """The command or function that combines them."""
    lots: Mapping[str, Lot] = field(default_factory=lambda: NOTHING)
    """Sites by name, for simulation."""
    shell: str = ""
    """As in `Shell`, for the command and for that of the reducer."""


SHELLS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("bash", "ksh", "zsh"), ("-euo", "pipefail")),
    **dict.fromkeys(("dash", "sh"), ("-eu",)),
}
"""Shells that read quotes as `tradewind.model.shell` writes them, with the options that make errors fatal."""


def shell_words(shell: str) -> tuple[str, ...]:
    """Return the words that start a shell: with its own options, or with those that make errors fatal."""
    words = tuple(shell.split())
    return words + SHELLS[shell_name(shell)] if len(words) == 1 else words


def shell_name(shell: str) -> str:
    """Return the name of a shell without its folder and options."""
    return shell.split(None, 1)[0].rpartition("/")[2] if shell.strip() else ""


Action: TypeAlias = Shell | Function | Container | Divisible


@dataclass(frozen=True, slots=True)
class Output:
    """A named output of a step: files that match a pattern, or a value."""

    path: str = ""
    """Pattern relative to the attempt's folder; the value of the output is the path, or the list of paths."""
    many: bool = False
    """Whether the output is a list of files."""
    value: str = ""
    """The source of a value instead: `stdout` (its text, stripped), `json` (the last line of stdout, parsed), `return`
    (of a function, or an entry of the mapping that it returns), or the name of a JSON file."""
    optional: bool = False
    """Whether the file may be missing: the value is then null, or an empty list."""


@dataclass(frozen=True, slots=True)
class Ref:
    """An output of an earlier call in the same chain, unknown before the chain runs."""

    call: str
    output: str
    path: tuple[str | int, ...] = ()
    """Keys and indices to follow inside the output's value."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A value computed from outputs of earlier calls in the same chain (see `tradewind.model.expression.resolve`)."""

    template: str
    """Text with `{{ expressions }}`."""
    names: Mapping[str, Json]
    """The values of the names in the expressions, including `Ref`s and other derived values."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The time and memory limits of an attempt."""

    run: Duration | None = None
    """Maximum run time of a call."""
    silence: Duration | None = None
    """Maximum time of a call without any output."""


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Call:
    """A step with its concrete inputs, ready to be run by an executor."""

    id: str
    """The step's id, with the position in its loops: `align`, `align[2]`, `align[2][0]`."""
    action: Action
    inputs: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """Values by name; a `Ref` or `Derived` anywhere inside stands for outputs of earlier calls in the chain."""
    outputs: Mapping[str, Output] = field(default_factory=lambda: NOTHING)
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    limits: Limits = NO_LIMITS
    cache: bool = True
    """Whether the result of an identical earlier call may be reused."""
