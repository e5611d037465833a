"""Native programs (`steps:`) as Pydantic models, with the descriptions that editors show."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, Tag

from tradewind.formats.documents import BY_SHAPE, LIST, MAPPING, VALUE, RetryPart
from tradewind.formats.fields import (
    STRICT,
    AmountField,
    Count,
    DurationField,
    Name,
    Positive,
    PositiveDuration,
    ShellField,
    SizeField,
    Text,
)
from tradewind.model.program import LOSSES, MOST_ITEMS, Kind


class _Part(BaseModel):
    model_config = STRICT


class OutputPart(_Part):
    """A named output of a step."""

    path: Text | None = Field(None, description="File or glob pattern, relative to the step's folder.")
    many: bool | None = Field(
        None, description="Whether the output is a list of files; default: if the path contains `*`."
    )
    value: Name | None = Field(None, description="`stdout`, `json`, `return`, or the name of a JSON file.")
    optional: bool = Field(
        default=False, description="Whether the file may be missing; the output is then null or empty."
    )


class ContainerPart(_Part):
    """A command in a container."""

    image: Text
    run: Text
    options: list[Text] = Field(
        default_factory=list, description="Additional options for the container tool, such as volumes."
    )
    entrypoint: bool = Field(default=False, description="Whether `run` contains arguments for the image's entry point.")


class ReducePart(_Part):
    """How results are combined."""

    run: Text | None = Field(None, description="Command that reads the file names from standard input, one per line.")
    python: Name | None = Field(None, description="Function, as module:function, called with the list of results.")


class LotPart(_Part):
    """Slots of a simulated site."""

    slots: Positive = Field(1, description="Number of slots.")
    speed: Annotated[float, Field(gt=0, le=1e12)] = Field(description="Iterations per second and slot.")


class DivisiblePart(_Part):
    """Independent iterations, distributed over machines at run time."""

    iterations: int | str = Field(description="Number of iterations, or an expression.")
    run: Text | None = Field(None, description="Command for each share, which asks for its iterations.")
    python: Name | None = Field(None, description="Function, as module:function, called with each chunk.")
    within: PositiveDuration | None = Field(
        None, description="Time by which it should finish; without it nothing is rebalanced."
    )
    reduce: Annotated[
        Annotated[Literal["concatenate", "sum"], Tag(VALUE)] | Annotated[ReducePart, Tag(MAPPING)], BY_SHAPE
    ] = Field("concatenate", description="How results are combined: `concatenate`, `sum`, or a command or function.")
    partitions: Positive | None = Field(
        None, description="Number of shares at the start; defaults to one per free slot."
    )
    most: Positive = Field(1_000, description="Maximum number of concurrent shares.")
    balancer: Name | None = Field(None, description="Balancer of the shares; defaults to that of the policy.")
    sites: dict[Name, LotPart] = Field(default_factory=dict, description="Simulated sites by name.")


class LimitsPart(_Part):
    """Time limits of a step."""

    run: PositiveDuration | None = Field(None, description="Maximum run time of an attempt.")
    silence: PositiveDuration | None = Field(None, description="Maximum time without any output.")
    total: PositiveDuration | None = Field(None, description="Maximum time over all attempts.")


CauseField: TypeAlias = Annotated[Annotated[Count, Tag(VALUE)] | Annotated[RetryPart, Tag(MAPPING)], BY_SHAPE]


class RetriesPart(_Part):
    """How often to retry a step, by the cause of its failure."""

    error: CauseField = Field(0, description="Retries after an error.")
    memory: CauseField = Field(0, description="Retries after running out of memory.")
    timeout: CauseField = Field(0, description="Retries after a time-out.")
    lost: Count = Field(LOSSES, description="Retries after the loss of its machine.")
    memory_growth: Annotated[float, Field(ge=1, le=1000)] = Field(
        2.0, description="Factor by which its memory request grows after each out-of-memory failure."
    )
    delay: DurationField = Field(0, description="Delay after the first failure, for causes given as a number.")
    factor: Annotated[float, Field(ge=1, le=1000)] = Field(
        2.0, description="Factor by which the delay grows each time."
    )
    max_delay: DurationField = Field(600_000_000, description="Maximum delay.")


class RepeatPart(_Part):
    """A loop that extends its own list."""

    add: Text = Field(description="Items that each item adds to the list.")
    most: Positive = Field(MOST_ITEMS, description="Maximum number of items.")


class StepPart(_Part):
    """One step of a program."""

    name: Name | None = Field(None, description="Kind of step; defaults to the id without its number.")
    needs: list[Name] = Field(default_factory=list, description="Ids of steps that must finish first.")
    run: Text | None = Field(None, description="A shell command.")
    python: Name | None = Field(None, description="A Python function, as module:function.")
    container: ContainerPart | None = Field(None, description="A command in a container.")
    shell: ShellField | None = Field(None, description="Shell that runs the command; defaults to that of the file.")
    divisible: DivisiblePart | None = Field(None, description="A divisible job.")
    steps: "StepsField | None" = Field(None, description="Nested steps, as a group or for each item.")
    include: Name | None = Field(None, description="Program of this file, or path of another file.")
    for_each: Annotated[Annotated[list[Any], Tag(LIST)] | Annotated[Text, Tag(VALUE)], BY_SHAPE] | None = Field(
        None, description="List or expression; the step runs once per item."
    )
    expect: Count | None = Field(None, description="Expected number of items, for policies that look ahead.")
    as_: Name = Field("item", alias="as", description="Name of the item in expressions.")
    repeat: Annotated[Annotated[Text, Tag(VALUE)] | Annotated[RepeatPart, Tag(MAPPING)], BY_SHAPE] | None = Field(
        None, description="Expression whose items are added to the list."
    )
    when: bool | str = Field(default=True, description="Condition; if it is false the step is skipped.")
    inputs: dict[Name, Any] = Field(default_factory=dict, description="Values by name.")
    outputs: Annotated[Annotated[dict[Name, Any], Tag(MAPPING)] | Annotated[list[Name], Tag(LIST)], BY_SHAPE] = Field(
        default_factory=dict, description="Outputs of the step by name."
    )
    capabilities: list[Name] = Field(default_factory=list, description="Capabilities that the machine must have.")
    cpus: Count | None = None
    memory: SizeField | None = None
    gpus: Count | None = None
    amounts: dict[Name, AmountField] = Field(default_factory=dict, description="Custom amounts by name.")
    runtime: DurationField | None = Field(None, description="Expected run time on a machine of speed 1.")
    runtimes: dict[Name, DurationField] = Field(default_factory=dict, description="Expected run times by machine type.")
    retries: Annotated[Annotated[Count, Tag(VALUE)] | Annotated[RetriesPart, Tag(MAPPING)], BY_SHAPE] = Field(
        0, description="Number of retries, or a mapping by cause."
    )
    timeout: (
        Annotated[Annotated[PositiveDuration, Tag(VALUE)] | Annotated[LimitsPart, Tag(MAPPING)], BY_SHAPE] | None
    ) = Field(None, description="Maximum run time of an attempt, or a mapping.")
    env: dict[Name, str | int | float | bool] = Field(default_factory=dict, description="Environment variables.")
    checkpoint: bool = Field(
        default=False, description="Whether the step gets a folder that survives between attempts."
    )
    alone: bool = Field(default=False, description="Whether the step is never placed in a chain with others.")
    cache: bool = Field(default=True, description="Whether results of an identical earlier step may be reused.")


class ListedStepPart(StepPart):
    """One step of a program, in a list."""

    id: Name


StepsField: TypeAlias = Annotated[
    Annotated[dict[Name, StepPart], Tag(MAPPING)] | Annotated[list[ListedStepPart], Tag(LIST)], BY_SHAPE
]


class ParameterPart(_Part):
    """A value that a program takes when it is started."""

    type: Annotated[Kind, Field(strict=False)] = Field(Kind.ANY, description="Type of its values.")
    default: Any = Field(None, description="Default value.")
    required: bool | None = Field(None, description="Whether it is required; default: if it has no default value.")
    description: Text = ""


class ProgramPart(_Part):
    """Steps with their parameters and outputs."""

    params: dict[Name, Any] = Field(default_factory=dict, description="Parameters: a default, nothing, or a mapping.")
    steps: StepsField = Field(description="Steps by id, or a list of steps with `id`.")
    outputs: dict[Name, Any] = Field(default_factory=dict, description="Outputs of the program by name.")


class ProgramDocument(ProgramPart):
    """A Tradewind program: a workflow that does real work, and may create further steps while it runs."""

    name: Name | None = Field(None, description="Name; defaults to the name of the file.")
    priority: Annotated[int, Field(ge=-(10**9), le=10**9)] = Field(0, description="Higher runs first.")
    deadline: PositiveDuration | None = Field(None, description="Maximum response time, counted from submission.")
    shell: ShellField | None = Field(
        None,
        description="Shell for commands: bash, sh, ksh or zsh, optionally with options; default: bash -euo pipefail.",
    )
    programs: dict[Name, ProgramPart] = Field(default_factory=dict, description="Programs that steps can include.")


PARTS: dict[str, type[BaseModel]] = {
    "steps": StepPart,
    "programs": ProgramPart,
    "container": ContainerPart,
    "divisible": DivisiblePart,
    "reduce": ReducePart,
    "retries": RetriesPart,
    "error": RetryPart,
    "memory": RetryPart,
    "timeout": LimitsPart,
    "repeat": RepeatPart,
}
"""The model below each field, for error messages."""
