"""Native files as Pydantic models: what may stand in them, and how an editor explains it.

These classes mirror the text a person writes; `native` and `scenario` turn them into the model. A field that may take
several shapes is a union told apart by the shape alone, so that an error speaks of the shape that was written.
"""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, Discriminator, Field, Tag, WithJsonSchema, model_validator

from tradewind.formats.fields import (
    STRICT,
    AmountField,
    Count,
    Deviation,
    DurationField,
    Factor,
    MoneyField,
    Name,
    PeriodField,
    Positive,
    PositiveDuration,
    PriceField,
    Probability,
    SizeField,
    Text,
)
from tradewind.model.machine import Market

LIST, MAPPING, VALUE = "<list>", "<mapping>", "<value>"
GIVEN, GENERATED = "<given>", "<generated>"
SHAPES = frozenset({LIST, MAPPING, VALUE, GIVEN, GENERATED})
"""Tags that Pydantic puts into the place of an error; no part of the file has them as its name."""


def _shape(value: Any) -> str:
    if isinstance(value, dict | BaseModel):
        return MAPPING
    return LIST if isinstance(value, list) else VALUE


BY_SHAPE = Discriminator(_shape, custom_error_type="shape", custom_error_message="has the wrong shape")


class _Part(BaseModel):
    model_config = STRICT


class FilePart(_Part):
    """A file that a task reads or writes."""

    name: Name
    size: SizeField = 0


class RetryPart(_Part):
    """How often a failed task is tried, and how long to wait in between."""

    attempts: Positive = Field(1, description="How often it may be tried in all.")
    by_cause: dict[Name, Positive] = Field(
        default_factory=dict, description="How often it may fail for one cause, where that differs from `attempts`."
    )
    lost: Count = Field(100, description="How many machines may be lost under it; they do not count as attempts.")
    preempted: Count = Field(1_000, description="How often it may give way to a machine that shrinks or is taken back.")
    memory_growth: Annotated[float, Field(ge=1, le=1000)] = Field(
        1.0, description="By how much its demand for memory grows each time it lacked memory."
    )
    delay: DurationField = Field(0, description="How long to wait after the first failure.")
    factor: Annotated[float, Field(ge=1, le=1000)] = Field(2.0, description="By how much the delay grows each time.")
    max_delay: DurationField = Field(600_000_000, description="The longest delay.")


class CheckpointPart(_Part):
    """How a task saves its progress."""

    interval: PositiveDuration = Field(description="Work between two checkpoints.")
    cost: DurationField = Field(0, description="How long work rests for each.")


FileField: TypeAlias = Annotated[Annotated[Name, Tag(VALUE)] | Annotated[FilePart, Tag(MAPPING)], BY_SHAPE]
RetryField: TypeAlias = Annotated[Annotated[Count, Tag(VALUE)] | Annotated[RetryPart, Tag(MAPPING)], BY_SHAPE]


class _Amounts(_Part):
    cpus: Count | None = None
    memory: SizeField | None = None
    gpus: Count | None = None
    amounts: dict[Name, AmountField] = Field(default_factory=dict, description="Other countable things, by name.")


class TaskPart(_Amounts):
    """One step of a workflow."""

    name: Name | None = Field(None, description="What kind of step it is; by default the id without its number.")
    needs: list[Name] = Field(default_factory=list, description="Ids of the tasks that must finish first.")
    runtime: DurationField | None = Field(None, description="Expected run time on a machine of speed 1.")
    runtimes: dict[Name, DurationField] = Field(default_factory=dict, description="Expected run times by machine type.")
    capabilities: list[Name] = Field(default_factory=list, description="What the machine must offer.")
    inputs: list[FileField] = Field(default_factory=list)
    outputs: list[FileField] = Field(default_factory=list)
    retries: RetryField = Field(0, description="How many more times a failed task is tried, or the details.")
    timeout: PositiveDuration | None = Field(None, description="Longest time that one attempt may run.")
    run: Text = Field("", description="The command.")
    checkpoint: CheckpointPart | None = Field(None, description="How it saves its progress; none: it begins anew.")


class ListedTaskPart(TaskPart):
    """One step of a workflow, in a list."""

    id: Name


TasksField: TypeAlias = Annotated[
    Annotated[dict[Name, TaskPart], Tag(MAPPING)] | Annotated[list[ListedTaskPart], Tag(LIST)], BY_SHAPE
]


class WorkflowDocument(_Part):
    """A Tradewind workflow: tasks and which of them wait for which others."""

    name: Name | None = Field(None, description="By default the name of the file.")
    priority: Annotated[int, Field(ge=-(10**9), le=10**9)] = Field(0, description="Higher goes first.")
    deadline: PositiveDuration | None = Field(None, description="Wanted response time, counted from submission.")
    tasks: TasksField = Field(description="Tasks by id, or a list of tasks with an `id` each.")


class BillingPart(_Part):
    """How the use of a machine is charged."""

    period: PeriodField = Field(60_000_000, description="The time that a price is for, paid ahead.")
    rounding: PeriodField | None = Field(None, description="On release, use is rounded up to a multiple of this.")
    minimum: DurationField = Field(0, description="At least this much is charged.")

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.rounding is not None and self.period % self.rounding:
            raise ValueError("the period must be a multiple of the rounding, for it is paid ahead")
        return self


class BootPart(_Part):
    """Time until a machine can work: normally distributed, never below zero."""

    mean: DurationField = 0
    deviation: DurationField = 0
    declared: DurationField | None = Field(
        None, description="What policies are told as long as nothing is learned; by default the mean."
    )


BillingField: TypeAlias = Annotated[Annotated[PeriodField, Tag(VALUE)] | Annotated[BillingPart, Tag(MAPPING)], BY_SHAPE]
BootField: TypeAlias = Annotated[Annotated[DurationField, Tag(VALUE)] | Annotated[BootPart, Tag(MAPPING)], BY_SHAPE]


class MachinePart(_Amounts):
    """A kind of machine that can be rented."""

    price: PriceField = Field("0", description="For one billing period (`5`), or for a stated time (`0.085/h`).")
    core_price: PriceField = Field(
        "0", description="What is paid back for each core that it lacks after it has shrunk, as a price."
    )
    billing: BillingField = Field(60_000_000, description="The billing period, or the details.")
    boot: BootField = Field(0, description="How long a machine takes until it can work, or the details.")
    limit: Count = Field(1_000_000, description="How many may be held at once.")
    keep: Count = Field(0, description="How many are held at least, as long as there is any work.")
    idle: DurationField = Field(0, description="How long one is kept at least after it has run out of work.")
    capabilities: list[Name] = Field(default_factory=list, description="What it offers to tasks that ask for it.")
    slots: Positive | None = Field(None, description="How many tasks run at once; by default as many as cpus, or 1.")
    speed: Factor = Field(1.0, description="How many times faster than declared it runs tasks.")
    market: Annotated[Market, Field(strict=False)] = Field(Market.ON_DEMAND, description="How firmly it is ours.")
    minimum: dict[Name, AmountField] = Field(
        default_factory=dict, description="What a machine that shrinks keeps, or is gone, such as `{cpus: 2}`."
    )
    trace: Name | None = Field(
        None, description="A file from which spot and harvest machines are played on this host, such as `free.csv`."
    )
    trace_speed: Factor = Field(1.0, description="How many times faster the trace passes than time does.")


MachinesField: TypeAlias = Annotated[dict[Name, MachinePart], Field(min_length=1)]


class MachinesDocument(_Part):
    """Machine types that Tradewind may rent."""

    machines: MachinesField = Field(description="Machine types by name.")


class TenantPart(_Part):
    """Someone who submits work and pays for it."""

    budget: MoneyField | None = Field(None, description="What may be spent in each interval; none: no limit.")
    interval: PositiveDuration = Field(60_000_000, description="The stretch of time a budget is for.")
    weight: Factor = Field(1.0, description="Share where tenants compete.")


def _parameter(value: Any) -> Any:
    simple = value if isinstance(value, list) else [value]
    if not all(item is None or isinstance(item, str | int | float) for item in simple):
        raise ValueError("a parameter must be text, a number, true, false or a list of such values")
    return value


Parameter: TypeAlias = Annotated[
    Any,
    AfterValidator(_parameter),
    WithJsonSchema({"type": ["string", "number", "boolean", "array", "null"], "description": "A parameter."}),
]


class ArrivalsPart(BaseModel):
    """When workflows arrive; what else is given are parameters of the process."""

    model_config = STRICT | {"extra": "allow"}
    __pydantic_extra__: dict[str, Parameter]

    process: Literal["at-once", "poisson", "stable", "growing", "cyclic", "on-off", "trace"] = "at-once"


class GivenPart(_Part):
    """Workflows from files, submitted one after the other."""

    file: Name | None = Field(None, description="A workflow file; the path is relative to this file.")
    files: list[Name] = Field(default_factory=list, description="Workflow files; paths are relative to this file.")
    arrivals: ArrivalsPart = Field(default_factory=ArrivalsPart)
    tenants: list[Name] = Field(default_factory=list, description="Served in turn; by default all tenants.")


class GeneratedPart(_Part):
    """Workflows made by a generator."""

    generate: Name = Field(description="The family of workflows, such as `montage`.")
    count: Annotated[int, Field(ge=1, le=10**7)] = Field(1, description="How many workflows.")
    tasks: Annotated[int, Field(ge=1, le=10**7)] = Field(100, description="About how many tasks in each.")
    arrivals: ArrivalsPart = Field(default_factory=ArrivalsPart)
    tenants: list[Name] = Field(default_factory=list, description="Served in turn; by default all tenants.")
    priorities: Annotated[int, Field(ge=1, le=10**6)] = Field(1, description="Priorities are drawn from 0 up to this.")


def _origin(value: Any) -> str:
    if isinstance(value, GeneratedPart) or (isinstance(value, dict) and "generate" in value):
        return GENERATED
    return GIVEN


WorkField: TypeAlias = Annotated[
    Annotated[GivenPart, Tag(GIVEN)] | Annotated[GeneratedPart, Tag(GENERATED)], Discriminator(_origin)
]


class PolicyPart(BaseModel):
    """A policy by name; what else is given are its parameters."""

    model_config = STRICT | {"extra": "allow"}
    __pydantic_extra__: dict[str, Parameter]

    name: Name


class FaultsPart(_Part):
    """What goes wrong in a simulated cloud."""

    task_failure: Probability = Field(0.0, description="Probability that an attempt ends with an error.")
    machine_loss: Annotated[float, Field(ge=0, le=3600)] = Field(0.0, description="Machines lost per machine-hour.")
    boot_failure: Probability = Field(0.0, description="Probability that a machine never comes up.")


class NoisePart(_Part):
    """How far real run times stray from the declared ones."""

    deviation: Deviation = Field(0.0, description="Coefficient of variation of the factor.")


class EstimatesPart(_Part):
    """What policies are told of run times."""

    kind: Literal["exact", "declared", "noisy", "learned"] = "exact"
    deviation: Deviation = Field(0.0, description="Coefficient of variation of noisy estimates.")
    quantile: Probability = Field(0.5, description="Of what was seen, the share that learned estimates are to cover.")


class ServersPart(_Part):
    """Servers that machines which are not firm come from."""

    cluster: Literal["C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8"] = Field("C2", description="A made-up cluster.")
    file: Name | None = Field(None, description="Free cores as CSV instead; the path is relative to this file.")
    count: Annotated[int, Field(ge=1, le=100_000)] = Field(256, description="How many servers of a made-up cluster.")
    length: PositiveDuration = Field(604_800_000_000, description="How long they change.")
    placement: Literal["random", "balancing", "packing"] = Field("random", description="Which server a machine gets.")


class ScenarioDocument(_Part):
    """A Tradewind scenario: work, machines, tenants and a policy to simulate."""

    workload: Annotated[list[WorkField], Field(min_length=1)] = Field(description="What is submitted, and when.")
    machines: Annotated[Annotated[Name, Tag(VALUE)] | Annotated[MachinesField, Tag(MAPPING)], BY_SHAPE] = Field(
        description="Machine types by name, or the path of a machines file."
    )
    tenants: Annotated[dict[Name, TenantPart], Field(min_length=1)] = Field(
        default_factory=lambda: {"default": TenantPart()}, description="Who submits work, by name."
    )
    policy: Annotated[Annotated[Name, Tag(VALUE)] | Annotated[PolicyPart, Tag(MAPPING)], BY_SHAPE] = Field(
        "demand", description="A policy, or its name and parameters."
    )
    interval: PositiveDuration = Field(60_000_000, description="How often the policy decides what to rent.")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(0, description="The same seed gives the same event log.")
    servers: ServersPart | None = Field(None, description="Where spot and harvest machines come from.")
    faults: FaultsPart = Field(default_factory=FaultsPart)
    noise: Annotated[Annotated[Deviation, Tag(VALUE)] | Annotated[NoisePart, Tag(MAPPING)], BY_SHAPE] = Field(
        0.0, description="How far real run times stray, or the details."
    )
    estimates: Annotated[
        Annotated[Literal["exact", "declared", "noisy", "learned"], Tag(VALUE)]
        | Annotated[EstimatesPart, Tag(MAPPING)],
        BY_SHAPE,
    ] = Field("exact", description="What policies are told of run times, or the details.")
    chains: bool = Field(default=False, description="Place chains of tasks, as real runs do, rather than single tasks.")
