"""Programs: workflows that do real work, and that may grow while they run.

A program is a body of steps. A step acts (shell, Python, container), or holds a body of its own: as a group, once for
each item of a list, or by including another program. Loops over outputs, conditions and feedback are only unfolded
once what they look at is known (section 3 of the Steep paper and its `for` actions with `yieldToInput`).
`tradewind.core.chains` unfolds a program into chains; a graph that is known beforehand is a `Workflow` instead.

Values in steps may hold `{{ expressions }}` (see `tradewind.model.expression`).
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
"""How many items a loop may have, those it feeds to itself included."""

LOSSES = 100
"""After how many lost machines a step is given up, unless it says otherwise."""


PATIENT = Retry(attempts=LOSSES)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a step is tried, counted apart for each cause of failure."""

    error: Retry = ONCE
    memory: Retry = ONCE
    """When it ran out of memory."""
    timeout: Retry = ONCE
    """When it ran too long, or was silent for too long."""
    lost: Retry = PATIENT
    """When its machine was lost under it."""
    growth: float = 1.0
    """By how much the memory it asks for grows each time it ran out of it."""


NO_RETRIES = Retries()


@dataclass(frozen=True, slots=True)
class Loop:
    """A body run once for each item of a list."""

    over: Json
    """A list, or a template that gives one."""
    variable: str = "item"
    """What the body calls the item."""
    feed: str = ""
    """A template, evaluated where the body has ended: a list of items to be appended to the loop's own input, or one
    item, or null; the loop ends when nothing more comes."""
    most: int = MOST_ITEMS
    """More items than this are a fault."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a program; it has an action, or steps, or a program that it includes."""

    id: str
    """Unique in its program."""
    name: str = ""
    """What kind of step it is; steps of one name resemble each other. By default its id."""
    action: Action | None = None
    steps: tuple["Step", ...] = ()
    include: str = ""
    """The name of a program among the program's `includes`."""
    needs: tuple[str, ...] = ()
    """Steps that must have ended before, besides those whose outputs it uses; skipped ones count as ended."""
    inputs: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """Values by name: for the command, as arguments of the function, or as parameters of the included program."""
    outputs: Mapping[str, Output] = field(default_factory=lambda: NOTHING)
    """What its action leaves behind; the paths may be templates."""
    gives: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """What a step with a body gives: templates over the steps of the body; a loop gives a list of each."""
    requirement: Requirement = ANYTHING
    runtime: Duration | None = None
    runtimes: Mapping[str, Duration] = field(default_factory=lambda: NO_RUNTIMES)
    retries: Retries = NO_RETRIES
    limits: Limits = NO_LIMITS
    total: Duration | None = None
    """Longest time from when it could first start until it ends, over all attempts; such a step is a chain of its
    own."""
    environment: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    checkpoint: bool = False
    """Whether it gets a folder that is kept over attempts."""
    alone: bool = False
    """Whether it must be a chain of its own."""
    cache: bool = True
    """Whether what an equal call gave before may be taken instead; of no matter to a step without outputs."""
    when: Json = True
    """A condition, decided once what it looks at is known; where it is false, the step is skipped."""
    loop: Loop | None = None


class Kind(StrEnum):
    """What values a parameter takes."""

    ANY = "any"
    TEXT = "text"
    INT = "int"
    NUMBER = "number"
    BOOL = "bool"
    LIST = "list"
    MAPPING = "mapping"
    FILE = "file"
    """A path or URL; a relative path is taken from the folder of whoever gives it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a program is given when it is started."""

    default: Json = None
    required: bool = False
    kind: Kind = Kind.ANY
    description: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """Steps, what they are given, and what they give."""

    name: str
    steps: tuple[Step, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=lambda: NOTHING)
    outputs: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    """Templates over the program's steps."""
    includes: Mapping[str, "Program"] = field(default_factory=lambda: NOTHING)
    priority: int = 0
    """Higher goes first."""
    deadline: Duration | None = None
    """Wanted response time, counted from submission."""


class Phase(StrEnum):
    """When a value of a step must be known."""

    BEFORE = "before"
    """Before the step can be unfolded or made part of a chain."""
    WITHIN = "within"
    """When its call runs: it may come from an earlier call of the same chain."""
    AFTER = "after"
    """When the body of the step has ended; it speaks of the steps of the body."""


class Field(NamedTuple):
    """A value of a step that may hold expressions."""

    place: tuple[str, ...]
    """As it stands in a native file."""
    value: Json
    phase: Phase


def fields(step: Step) -> Iterator[Field]:
    """All values of a step that may hold expressions, those of the steps in its body left out."""
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
    """The names of what a step of a program gives."""
    if step.include:
        included = program.includes.get(step.include)
        return frozenset(included.outputs) if included is not None else frozenset()
    return frozenset(step.outputs) | frozenset(step.gives)
