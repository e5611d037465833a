"""Native files as Pydantic models, with the descriptions that editors show.

These classes mirror the text that a person writes; `native` and `scenario` convert them into the model. A field with
several possible shapes is a union discriminated by the shape alone, so that errors refer to the shape that was written.
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
    ShellField,
    SizeField,
    Text,
)
from tradewind.model.machine import Market

LIST, MAPPING, VALUE = "<list>", "<mapping>", "<value>"
GIVEN, GENERATED = "<given>", "<generated>"
SHAPES = frozenset({LIST, MAPPING, VALUE, GIVEN, GENERATED})
"""Tags that Pydantic adds to the place of an error, and that are not names in the file."""


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
    """How often to retry a failed task, and how long to wait in between."""

    attempts: Positive = Field(1, description="Maximum number of attempts, including the first.")
    by_cause: dict[Name, Positive] = Field(
        default_factory=dict, description="Maximum number of attempts by cause, where it differs from `attempts`."
    )
    lost: Count = Field(
        100, description="Maximum number of machines lost while running it; they do not count as attempts."
    )
    preempted: Count = Field(
        1_000, description="Maximum number of preemptions by machines that shrink or are reclaimed."
    )
    memory_growth: Annotated[float, Field(ge=1, le=1000)] = Field(
        1.0, description="Factor by which its memory request grows after each out-of-memory failure."
    )
    delay: DurationField = Field(0, description="Delay after the first failure.")
    factor: Annotated[float, Field(ge=1, le=1000)] = Field(
        2.0, description="Factor by which the delay grows each time."
    )
    max_delay: DurationField = Field(600_000_000, description="Maximum delay.")


class CheckpointPart(_Part):
    """How a task saves its progress."""

    interval: PositiveDuration = Field(description="Run time between two checkpoints.")
    cost: DurationField = Field(0, description="Time that each checkpoint takes.")


class DivisiblePart(_Part):
    """How several machines share the iterations of a task."""

    iterations: Annotated[int, Field(ge=1, le=10**15)] = Field(description="Number of independent iterations.")
    initial: Positive = Field(1, description="Number of shares at the start.")
    maximum: Positive = Field(1_000, description="Maximum number of concurrent shares.")
    within: PositiveDuration | None = Field(
        None, description="Maximum time from when the task becomes ready; the deadline of the run also applies."
    )
    balancer: Literal["ruper", "ruper-original", "static"] | None = Field(
        None, description="Balancer of the iterations; defaults to that of the policy."
    )
    weights: list[Positive] = Field(
        default_factory=list, description="Relative sizes of the initial shares, for the balancer `static`."
    )

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.initial > self.maximum:
            raise ValueError(f"initial: must be at most the maximum of {self.maximum}, not {self.initial}")
        if self.weights and len(self.weights) != self.initial:
            raise ValueError(f"weights: must be {self.initial} numbers, one for each initial share")
        return self


FileField: TypeAlias = Annotated[Annotated[Name, Tag(VALUE)] | Annotated[FilePart, Tag(MAPPING)], BY_SHAPE]
RetryField: TypeAlias = Annotated[Annotated[Count, Tag(VALUE)] | Annotated[RetryPart, Tag(MAPPING)], BY_SHAPE]


class _Amounts(_Part):
    cpus: Count | None = None
    memory: SizeField | None = None
    gpus: Count | None = None
    amounts: dict[Name, AmountField] = Field(default_factory=dict, description="Custom amounts by name.")


class TaskPart(_Amounts):
    """A task of a workflow."""

    name: Name | None = Field(None, description="Kind of task; defaults to the id without its number.")
    needs: list[Name] = Field(default_factory=list, description="Ids of tasks that must finish first.")
    runtime: DurationField | None = Field(None, description="Expected run time on a machine of speed 1.")
    runtimes: dict[Name, DurationField] = Field(default_factory=dict, description="Expected run times by machine type.")
    capabilities: list[Name] = Field(default_factory=list, description="Capabilities that the machine must have.")
    inputs: list[FileField] = Field(default_factory=list)
    outputs: list[FileField] = Field(default_factory=list)
    retries: RetryField = Field(0, description="Number of retries, or a retry policy.")
    timeout: PositiveDuration | None = Field(None, description="Maximum run time of an attempt.")
    run: Text = Field("", description="Command to run.")
    shell: ShellField | None = Field(None, description="Shell that runs the command; defaults to that of the file.")
    checkpoint: CheckpointPart | None = Field(None, description="How it saves its progress; none: it starts over.")
    divisible: DivisiblePart | None = Field(
        None, description="How several machines share its iterations; run times are for all of them on one slot."
    )


class ListedTaskPart(TaskPart):
    """A task of a workflow, in a list."""

    id: Name


TasksField: TypeAlias = Annotated[
    Annotated[dict[Name, TaskPart], Tag(MAPPING)] | Annotated[list[ListedTaskPart], Tag(LIST)], BY_SHAPE
]


class WorkflowDocument(_Part):
    """A Tradewind workflow: tasks and their dependencies."""

    name: Name | None = Field(None, description="Name; defaults to the name of the file.")
    priority: Annotated[int, Field(ge=-(10**9), le=10**9)] = Field(0, description="Higher runs first.")
    deadline: PositiveDuration | None = Field(None, description="Maximum response time, counted from submission.")
    shell: ShellField | None = Field(
        None,
        description="Shell for commands: bash, sh, ksh or zsh, optionally with options; default: bash -euo pipefail.",
    )
    tasks: TasksField = Field(description="Tasks by id, or a list of tasks with `id`.")


class BillingPart(_Part):
    """How a machine is billed."""

    period: PeriodField = Field(60_000_000, description="Billing period, paid in advance.")
    rounding: PeriodField | None = Field(None, description="On release, usage is rounded up to a multiple of this.")
    minimum: DurationField = Field(0, description="Minimum usage that is charged.")

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.rounding is not None and self.period % self.rounding:
            raise ValueError("the period must be a multiple of the rounding, because it is paid in advance")
        return self


class BootPart(_Part):
    """Time until a machine is ready: normally distributed, never below zero."""

    mean: DurationField = 0
    deviation: DurationField = 0
    declared: DurationField | None = Field(
        None, description="Estimate that policies use until it is learned; defaults to the mean."
    )


BillingField: TypeAlias = Annotated[Annotated[PeriodField, Tag(VALUE)] | Annotated[BillingPart, Tag(MAPPING)], BY_SHAPE]
BootField: TypeAlias = Annotated[Annotated[DurationField, Tag(VALUE)] | Annotated[BootPart, Tag(MAPPING)], BY_SHAPE]


class JoinsPart(_Part):
    """Machines that their owner starts; a simulation lets them join and leave as this says."""

    present: Count = Field(0, description="How many join by themselves; hints bring more, up to the limit.")
    after: DurationField = Field(0, description="When these join.")
    until: DurationField | None = Field(None, description="When all leave; none: they stay.")
    churn: Annotated[float, Field(ge=0, le=1e6)] = Field(
        0.0, description="How often each leaves an hour, at random; another takes its place after the boot lag."
    )
    tenants: list[Name] = Field(default_factory=list, description="Tenants that they serve; none: every tenant.")


class MachinePart(_Amounts):
    """A type of machine that can be rented, or that joins by itself."""

    price: PriceField = Field("0", description="Price per billing period (`5`), or per time (`0.085/h`).")
    core_price: PriceField = Field(
        "0", description="Refund for each missing core of a machine that has shrunk, as a price."
    )
    billing: BillingField = Field(60_000_000, description="Billing period, or a mapping.")
    boot: BootField = Field(0, description="Time until a machine is ready, or a mapping.")
    limit: Count = Field(1_000_000, description="Maximum number held.")
    keep: Count = Field(0, description="Minimum number held while there is work.")
    idle: DurationField = Field(0, description="Minimum time to keep an idle machine.")
    capabilities: list[Name] = Field(default_factory=list, description="Capabilities that it offers.")
    slots: Positive | None = Field(
        None, description="Number of concurrent tasks; defaults to the number of cpus, or 1."
    )
    speed: Factor = Field(1.0, description="Speed relative to declared run times.")
    market: Annotated[Market, Field(strict=False)] = Field(
        Market.ON_DEMAND, description="Market: on-demand, spot or harvest."
    )
    minimum: dict[Name, AmountField] = Field(
        default_factory=dict,
        description="Minimum size of a shrinking machine, such as `{cpus: 2}`; below that it is evicted.",
    )
    trace: Name | None = Field(
        None, description="Trace file that drives spot and harvest machines on this host, such as `free.csv`."
    )
    trace_speed: Factor = Field(1.0, description="How much faster than real time the trace plays.")
    joins: JoinsPart | None = Field(
        None, description="It cannot be rented: its machines join by themselves, such as `{present: 4}`."
    )


MachinesField: TypeAlias = Annotated[dict[Name, MachinePart], Field(min_length=1)]


class MachinesDocument(_Part):
    """Machine types that Tradewind may rent, or whose machines may join."""

    machines: MachinesField = Field(description="Machine types by name.")


class TenantPart(_Part):
    """A user or group that submits work and pays for it."""

    budget: MoneyField | None = Field(None, description="Budget per interval; none: no limit.")
    interval: PositiveDuration = Field(60_000_000, description="Period of the budget.")
    weight: Factor = Field(1.0, description="Relative share when tenants compete.")


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
    """When workflows arrive; other fields are parameters of the process."""

    model_config = STRICT | {"extra": "allow"}
    __pydantic_extra__: dict[str, Parameter]

    process: Literal["at-once", "poisson", "stable", "growing", "cyclic", "on-off", "trace"] = "at-once"


class GivenPart(_Part):
    """Workflows from files, submitted one after the other."""

    file: Name | None = Field(None, description="Workflow file, relative to this file.")
    files: list[Name] = Field(default_factory=list, description="Workflow files, relative to this file.")
    arrivals: ArrivalsPart = Field(default_factory=ArrivalsPart)
    tenants: list[Name] = Field(default_factory=list, description="Tenants that submit in turn; defaults to all.")


class GeneratedPart(_Part):
    """Workflows created by a generator."""

    generate: Name = Field(description="Workflow family, such as `montage`.")
    count: Annotated[int, Field(ge=1, le=10**7)] = Field(1, description="Number of workflows.")
    tasks: Annotated[int, Field(ge=1, le=10**7)] = Field(100, description="Approximate number of tasks in each.")
    arrivals: ArrivalsPart = Field(default_factory=ArrivalsPart)
    tenants: list[Name] = Field(default_factory=list, description="Tenants that submit in turn; defaults to all.")
    priorities: Annotated[int, Field(ge=1, le=10**6)] = Field(
        1, description="Number of priorities, drawn at random from 0 up."
    )


def _origin(value: Any) -> str:
    if isinstance(value, GeneratedPart) or (isinstance(value, dict) and "generate" in value):
        return GENERATED
    return GIVEN


WorkField: TypeAlias = Annotated[
    Annotated[GivenPart, Tag(GIVEN)] | Annotated[GeneratedPart, Tag(GENERATED)], Discriminator(_origin)
]


class RolePart(BaseModel):
    """A policy by name, for one of its roles; other fields are its parameters."""

    model_config = STRICT | {"extra": "allow"}
    __pydantic_extra__: dict[str, Parameter]

    name: Name


class PolicyPart(BaseModel):
    """A policy by name, or the policies that its roles come from; other fields are parameters."""

    model_config = STRICT | {"extra": "allow"}
    __pydantic_extra__: dict[str, Parameter]

    name: Name = Field("", description="Name of the policy.")
    scaler: Name = Field("", description="Policy that decides what to rent; the same as `name`.")
    placer: Annotated[Annotated[Name, Tag(VALUE)] | Annotated[RolePart, Tag(MAPPING)], BY_SHAPE] = Field(
        "", description="Policy that decides what runs where; defaults to the same policy."
    )
    balancer: Name = Field("", description="Balancer of divisible tasks; defaults to `ruper`.")

    @model_validator(mode="after")
    def _named(self) -> Self:
        if bool(self.name) == bool(self.scaler):
            raise ValueError("name: give the policy as `name`, or as `scaler` with a `placer`")
        return self


class FaultsPart(_Part):
    """Faults of a simulated cloud."""

    task_failure: Probability = Field(0.0, description="Probability that an attempt fails with an error.")
    machine_loss: Annotated[float, Field(ge=0, le=3600)] = Field(0.0, description="Machines lost per machine-hour.")
    boot_failure: Probability = Field(0.0, description="Probability that a machine never comes up.")


class NoisePart(_Part):
    """Variation of actual run times around the declared ones."""

    deviation: Deviation = Field(0.0, description="Coefficient of variation of the factor.")


class EstimatesPart(_Part):
    """Run-time estimates that policies see."""

    kind: Literal["exact", "declared", "noisy", "learned"] = "exact"
    deviation: Deviation = Field(0.0, description="Coefficient of variation of noisy estimates.")
    quantile: Probability = Field(0.5, description="Quantile of the observations that learned estimates use.")


class ServersPart(_Part):
    """Servers that spot and harvest machines come from."""

    cluster: Literal["C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8"] = Field("C2", description="Synthetic cluster.")
    file: Name | None = Field(None, description="CSV file of free cores instead, relative to this file.")
    count: Annotated[int, Field(ge=1, le=100_000)] = Field(256, description="Number of servers in a synthetic cluster.")
    length: PositiveDuration = Field(604_800_000_000, description="Length of the trace.")
    placement: Literal["random", "balancing", "packing"] = Field(
        "random", description="How machines are assigned to servers."
    )


class ScenarioDocument(_Part):
    """A Tradewind scenario: work, machines, tenants and a policy to simulate."""

    workload: Annotated[list[WorkField], Field(min_length=1)] = Field(description="Workflows to submit, and when.")
    machines: Annotated[Annotated[Name, Tag(VALUE)] | Annotated[MachinesField, Tag(MAPPING)], BY_SHAPE] = Field(
        description="Machine types by name, or the path of a machines file."
    )
    tenants: Annotated[dict[Name, TenantPart], Field(min_length=1)] = Field(
        default_factory=lambda: {"default": TenantPart()}, description="Tenants by name."
    )
    policy: Annotated[Annotated[Name, Tag(VALUE)] | Annotated[PolicyPart, Tag(MAPPING)], BY_SHAPE] = Field(
        "demand", description="A policy, or its name and parameters."
    )
    interval: PositiveDuration = Field(60_000_000, description="Time between two scaling decisions of the policy.")
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(0, description="The same seed gives the same event log.")
    servers: ServersPart | None = Field(None, description="Servers that spot and harvest machines come from.")
    faults: FaultsPart = Field(default_factory=FaultsPart)
    noise: Annotated[Annotated[Deviation, Tag(VALUE)] | Annotated[NoisePart, Tag(MAPPING)], BY_SHAPE] = Field(
        0.0, description="Variation of actual run times, or a mapping."
    )
    estimates: Annotated[
        Annotated[Literal["exact", "declared", "noisy", "learned"], Tag(VALUE)]
        | Annotated[EstimatesPart, Tag(MAPPING)],
        BY_SHAPE,
    ] = Field("exact", description="Run-time estimates that policies see, or a mapping.")
    chains: bool = Field(default=False, description="Place chains of tasks, as real runs do, instead of single tasks.")
