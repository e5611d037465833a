"""Native programs as Pydantic models: what may stand in a file with `steps:`, and how an editor explains it."""

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
    SizeField,
    Text,
)
from tradewind.model.program import LOSSES, MOST_ITEMS, Kind


class _Part(BaseModel):
    model_config = STRICT


class OutputPart(_Part):
    """What a step leaves behind under a name."""

    path: Text | None = Field(None, description="A file, or a pattern for files, seen from the step's folder.")
    many: bool | None = Field(None, description="Whether the output is a list of files; by default if there is a `*`.")
    value: Name | None = Field(None, description="`stdout`, `json`, `return`, or the name of a file that holds JSON.")
    optional: bool = Field(default=False, description="Whether there may be no file: then it is null, or empty.")


class ContainerPart(_Part):
    """A command in a container."""

    image: Text
    run: Text
    options: list[Text] = Field(default_factory=list, description="More words for the tool that runs it, as volumes.")
    entrypoint: bool = Field(default=False, description="Whether `run` is arguments for what the image itself starts.")


class ReducePart(_Part):
    """How results become one."""

    run: Text | None = Field(None, description="A command; it finds the files on its standard input, one per line.")
    python: Name | None = Field(None, description="A function, as module:function, called with the list of results.")


class LotPart(_Part):
    """Slots of a site, as a simulation takes them to be."""

    slots: Positive = Field(1, description="How many.")
    speed: Annotated[float, Field(gt=0, le=1e12)] = Field(description="Iterations that a slot does in a second.")


class DivisiblePart(_Part):
    """Independent iterations, spread over partitions while they run."""

    iterations: int | str = Field(description="How many, or an expression that gives that.")
    run: Text | None = Field(None, description="A command for each partition, which asks for its iterations.")
    python: Name | None = Field(None, description="A function, as module:function, called with each chunk.")
    within: PositiveDuration | None = Field(None, description="When it should have ended; else nothing is balanced.")
    reduce: Annotated[
        Annotated[Literal["concatenate", "sum"], Tag(VALUE)] | Annotated[ReducePart, Tag(MAPPING)], BY_SHAPE
    ] = Field("concatenate", description="How results become one: `concatenate`, `sum`, or a command or function.")
    partitions: Positive | None = Field(None, description="At the start; by default one for each slot.")
    most: Positive = Field(1_000, description="Partitions at once.")
    balancer: Literal["ruper", "ruper-original", "static"] = Field("ruper", description="How iterations are spread.")
    sites: dict[Name, LotPart] = Field(default_factory=dict, description="Sites to be simulated, by name.")


class LimitsPart(_Part):
    """How long a step may take."""

    run: PositiveDuration | None = Field(None, description="Longest time that one attempt may run.")
    silence: PositiveDuration | None = Field(None, description="Longest time without any output.")
    total: PositiveDuration | None = Field(None, description="Longest time over all attempts.")


CauseField: TypeAlias = Annotated[Annotated[Count, Tag(VALUE)] | Annotated[RetryPart, Tag(MAPPING)], BY_SHAPE]


class RetriesPart(_Part):
    """How often a step is tried again, by the cause of its failure."""

    error: CauseField = Field(0, description="When it ends with an error.")
    memory: CauseField = Field(0, description="When it runs out of memory.")
    timeout: CauseField = Field(0, description="When it runs, or is silent, for too long.")
    lost: Count = Field(LOSSES, description="When its machine is lost.")
    memory_growth: Annotated[float, Field(ge=1, le=1000)] = Field(
        2.0, description="By how much the memory it asks for grows each time it ran out of it."
    )
    delay: DurationField = Field(0, description="How long to wait after the first failure, for causes given by number.")
    factor: Annotated[float, Field(ge=1, le=1000)] = Field(2.0, description="By how much the delay grows each time.")
    max_delay: DurationField = Field(600_000_000, description="The longest delay.")


class RepeatPart(_Part):
    """A loop that feeds its own input."""

    add: Text = Field(description="What each item adds to the list that is looped over.")
    most: Positive = Field(MOST_ITEMS, description="More items than this are an error.")


class StepPart(_Part):
    """One step of a program."""

    name: Name | None = Field(None, description="What kind of step it is; by default the id without its number.")
    needs: list[Name] = Field(default_factory=list, description="Ids of steps that must have ended before.")
    run: Text | None = Field(None, description="A shell command.")
    python: Name | None = Field(None, description="A Python function, as module:function.")
    container: ContainerPart | None = Field(None, description="A command in a container.")
    divisible: DivisiblePart | None = Field(None, description="A divisible job.")
    steps: "StepsField | None" = Field(None, description="Steps that belong together, or are run for each item.")
    include: Name | None = Field(None, description="A program of this file, or the path of another file.")
    for_each: Annotated[Annotated[list[Any], Tag(LIST)] | Annotated[Text, Tag(VALUE)], BY_SHAPE] | None = Field(
        None, description="A list, or an expression that gives one: the step is run for each item."
    )
    as_: Name = Field("item", alias="as", description="What the item is called in expressions.")
    repeat: Annotated[Annotated[Text, Tag(VALUE)] | Annotated[RepeatPart, Tag(MAPPING)], BY_SHAPE] | None = Field(
        None, description="An expression: items that are added to the list that is looped over."
    )
    when: bool | str = Field(default=True, description="A condition; if it is false the step is skipped.")
    inputs: dict[Name, Any] = Field(default_factory=dict, description="Values by name.")
    outputs: Annotated[Annotated[dict[Name, Any], Tag(MAPPING)] | Annotated[list[Name], Tag(LIST)], BY_SHAPE] = Field(
        default_factory=dict, description="What the step leaves behind, by name."
    )
    capabilities: list[Name] = Field(default_factory=list, description="What the machine must offer.")
    cpus: Count | None = None
    memory: SizeField | None = None
    gpus: Count | None = None
    amounts: dict[Name, AmountField] = Field(default_factory=dict, description="Other countable things, by name.")
    runtime: DurationField | None = Field(None, description="Expected run time on a machine of speed 1.")
    runtimes: dict[Name, DurationField] = Field(default_factory=dict, description="Expected run times by machine type.")
    retries: Annotated[Annotated[Count, Tag(VALUE)] | Annotated[RetriesPart, Tag(MAPPING)], BY_SHAPE] = Field(
        0, description="How many more times a failed step is tried, or the details by cause."
    )
    timeout: (
        Annotated[Annotated[PositiveDuration, Tag(VALUE)] | Annotated[LimitsPart, Tag(MAPPING)], BY_SHAPE] | None
    ) = Field(None, description="Longest time that one attempt may run, or the details.")
    env: dict[Name, str | int | float | bool] = Field(default_factory=dict, description="Environment variables.")
    checkpoint: bool = Field(default=False, description="Whether the step gets a folder that is kept over attempts.")
    alone: bool = Field(
        default=False, description="Whether the step is placed on its own, never in a chain with others."
    )
    cache: bool = Field(
        default=True, description="Whether its outputs may be taken from an equal step of an earlier run."
    )


class ListedStepPart(StepPart):
    """One step of a program, in a list."""

    id: Name


StepsField: TypeAlias = Annotated[
    Annotated[dict[Name, StepPart], Tag(MAPPING)] | Annotated[list[ListedStepPart], Tag(LIST)], BY_SHAPE
]


class ParameterPart(_Part):
    """A value that a program is given when it is started."""

    type: Annotated[Kind, Field(strict=False)] = Field(Kind.ANY, description="What values it takes.")
    default: Any = Field(None, description="Its value where none is given.")
    required: bool | None = Field(None, description="Whether it must be given; by default if it has no default.")
    description: Text = ""


class ProgramPart(_Part):
    """Steps, what they are given, and what they give."""

    params: dict[Name, Any] = Field(default_factory=dict, description="Parameters: a default, nothing, or the details.")
    steps: StepsField = Field(description="Steps by id, or a list of steps with an `id` each.")
    outputs: dict[Name, Any] = Field(default_factory=dict, description="What the program gives, by name.")


class ProgramDocument(ProgramPart):
    """A Tradewind program: a workflow that does real work, and that may grow while it runs."""

    name: Name | None = Field(None, description="By default the name of the file.")
    priority: Annotated[int, Field(ge=-(10**9), le=10**9)] = Field(0, description="Higher goes first.")
    deadline: PositiveDuration | None = Field(None, description="Wanted response time, counted from submission.")
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
"""Which part stands below which field, for the remedies of errors."""
