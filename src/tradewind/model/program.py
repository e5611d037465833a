"""Programs: workflows that do real work, and may create further steps while they run.

A program is a body of steps. A step acts (shell, Python, container), or has a body of its own: as a group, once for
each item of a list, or by including another program. Loops over outputs, conditions and feedback are expanded only when
their inputs are known (section 3 of the Steep paper and its `for` actions with `yieldToInput`). `tradewind.core.chains`
expands a program into chains; a graph that is known in advance is a `Workflow` instead.

Values in steps may contain `{{ expressions }}` (see `tradewind.model.expression`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from tradewind.model.action import (
    NO_LIMITS,
    NOTHING,
    Action,
    Container,
    Divisible,
    Function,
    Json,
    Limits,
    Output,
    Shell,
)
from tradewind.model.requirement import ANYTHING, Requirement
from tradewind.model.units import Duration
from tradewind.model.workflow import NO_RUNTIMES, ONCE, Retry

MOST_ITEMS = 1_000_000
"""Maximum number of items of a loop, including those it adds itself."""

LOSSES = 100
"""Number of lost machines after which a step is given up, by default."""


PATIENT = Retry(attempts=LOSSES)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a step is tried, counted separately for each cause of failure."""

    error: Retry = ONCE
    memory: Retry = ONCE
    """After it ran out of memory."""
    timeout: Retry = ONCE
    """After it ran, or was silent, for too long."""
    lost: Retry = PATIENT
    """After its machine was lost."""
    growth: float = 1.0
    """Factor by which its memory request grows after each out-of-memory failure."""


NO_RETRIES = Retries()


@dataclass(frozen=True, slots=True)
class Loop:
    """A body that runs once for each item of a list."""

    over: Json
    """A list, or a template for one."""
    variable: str = "item"
    """The name of the item in the body."""
    feed: str = ""
    """A template, evaluated when the body has ended: a list of items, a single item or null, which is appended to the
    loop's own list; the loop ends when nothing is added."""
    most: int = MOST_ITEMS
    """Maximum number of items."""
    expected: int | None = None
    """Expected number of items according to the author, for policies that look ahead."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program, with an action, nested steps, or an included program."""

    id: str
    """Unique in its program."""
    name: str = ""
    """The kind of step; steps of one name resemble each other. Defaults to its id."""
    action: Action | None = None
    steps: tuple["Step", ...] = ()
    include: str = ""
    """The name of a program among the program's `includes`."""
    needs: tuple[str, ...] = ()
    """Steps that must finish first, besides those whose outputs it uses; skipped ones count as finished."""
    inputs: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """Values by name: for the command, as arguments of the function, or as parameters of the included program."""
    outputs: Mapping[str, Output] = field(default_factory=lambda: NOTHING)
    """The outputs of its action; the paths may be templates."""
    gives: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """The outputs of a step with a body: templates over the steps of the body; a loop returns a list of each."""
    requirement: Requirement = ANYTHING
    runtime: Duration | None = None
    runtimes: Mapping[str, Duration] = field(default_factory=lambda: NO_RUNTIMES)
    retries: Retries = NO_RETRIES
    limits: Limits = NO_LIMITS
    total: Duration | None = None
    """Maximum time from when it could first start until it ends, over all attempts; implies a chain of its own."""
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    checkpoint: bool = False
    """Whether it gets a folder that survives between attempts."""
    alone: bool = False
    """Whether it must be a chain of its own."""
    cache: bool = True
    """Whether the result of an identical earlier call may be reused; irrelevant for a step without outputs."""
    when: Json = True
    """A condition, evaluated when its inputs are known; if it is false, the step is skipped."""
    loop: Loop | None = None


class Kind(StrEnum):
    """The type of a parameter."""

    ANY = "any"
    TEXT = "text"
    INT = "int"
    NUMBER = "number"
    BOOL = "bool"
    LIST = "list"
    MAPPING = "mapping"
    FILE = "file"
    """A path or URL; a relative path is resolved against the folder of the caller."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a program takes when it is started."""

    default: Json = None
    required: bool = False
    kind: Kind = Kind.ANY
    description: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """Steps with their parameters and outputs."""

    name: str
    steps: tuple[Step, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=lambda: NOTHING)
    outputs: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """Templates over the program's steps."""
    includes: Mapping[str, "Program"] = field(default_factory=lambda: NOTHING)
    priority: int = 0
    """Higher runs first."""
    deadline: Duration | None = None
    """Maximum response time, counted from submission."""


class Phase(StrEnum):
    """When a value of a step must be known."""

    BEFORE = "before"
    """Before the step can be expanded or made part of a chain."""
    WITHIN = "within"
    """When its call runs: it may come from an earlier call of the same chain."""
    AFTER = "after"
    """When the body of the step has ended; it refers to the steps of the body."""


class Field(NamedTuple):
    """A value of a step that may contain expressions."""

    place: tuple[str, ...]
    """As it is called in a native file."""
    value: Json
    phase: Phase


def fields(step: Step) -> Iterator[Field]:
    """Yield all values of a step that may contain expressions, without those of nested steps."""
    yield Field(("when",), step.when, Phase.BEFORE)
    if step.loop is not None:
        yield Field(("for_each",), step.loop.over, Phase.BEFORE)
    phase = Phase.BEFORE if step.include else Phase.WITHIN
    for name, value in step.inputs.items():
        yield Field(("inputs", name), value, phase)
    match step.action:
        case Shell(command):
            yield Field(("run",), command, Phase.WITHIN)
        case Container(image, command):
            yield Field(("container", "image"), image, Phase.BEFORE)
            yield Field(("container", "run"), command, Phase.WITHIN)
        case Divisible(iterations, command):
            yield Field(("divisible", "iterations"), iterations, Phase.BEFORE)
            yield Field(("divisible", "run"), command, Phase.WITHIN)
        case Function() | None:
            pass
    for name, text in step.environment.items():
        yield Field(("env", name), text, Phase.BEFORE)
    for name, output in step.outputs.items():
        yield Field(("outputs", name), output.path, Phase.BEFORE)
    for name, value in step.gives.items():
        yield Field(("outputs", name), value, Phase.AFTER)
    if step.loop is not None:
        yield Field(("repeat",), step.loop.feed, Phase.AFTER)


def output_names(step: Step, program: Program) -> frozenset[str]:
    """Return the names of the outputs of a step."""
    if step.include:
        included = program.includes.get(step.include)
        return frozenset(included.outputs) if included is not None else frozenset()
    return frozenset(step.outputs) | frozenset(step.gives)


def is_divisible(program: Program) -> bool:
    """Whether any step of a program, or of those that it includes, is divisible."""
    walk = list(program.steps)
    for step in walk:  # grows while it is walked
        walk += step.steps
    return any(isinstance(step.action, Divisible) for step in walk) or any(map(is_divisible, program.includes.values()))
