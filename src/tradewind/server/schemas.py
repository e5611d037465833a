"""What goes in and out, as OpenAPI describes it. Answers are made by `shapes`; tests hold the two together.

Times are seconds since 1970, durations seconds, money is in the user's currency.
"""

from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Item = TypeVar("Item")

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""Of a tenant or a token."""
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
RunStatus = Literal["active", "suspended", "done", "failed", "cancelled"]
TaskStatus = Literal["waiting", "ready", "running", "delayed", "done", "failed", "cancelled"]
MachineStatus = Literal["booting", "idle", "busy", "draining", "released", "lost", "spare"]
RoleName = Literal["admin", "user", "viewer"]
Seconds = Annotated[float, Field(ge=0, le=1e11)]
Span = Seconds | Annotated[str, StringConstraints(max_length=40)]
"""A number of seconds, or text such as `90s` or `1h30m`."""
Priority = Annotated[int, Field(ge=-1_000_000, le=1_000_000)]


class Given(BaseModel):
    """What is handed in: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Page(BaseModel, Generic[Item]):
    """Some items of a list."""

    items: list[Item]
    next: str | None = Field(description="Give it as `cursor` to get what follows; null: that was all.")


class ProblemPlace(BaseModel):
    """One thing that is wrong with a document or request."""

    place: str
    line: int | None
    reason: str
    remedy: str


class ProblemDocument(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    problems: list[ProblemPlace] | None = None


class Upload(Given):
    """A file that comes with a submission."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    data: str = Field(description="What is in it, as Base64.")


class Submission(Given):
    """Work to be done."""

    workflow: dict[str, Any] | str = Field(
        description="A document of any format that Tradewind reads: as JSON, or its text."
    )
    file: Line | None = Field(
        None, description="What to call the document in messages, and the run unless it has a name."
    )
    files: dict[str, str] = Field(default={}, description="Programs that the document includes, by name.")
    parameters: dict[str, Any] = {}
    uploads: dict[str, Upload] = Field(default={}, description="Files for parameters of type `file`, by parameter.")
    tenant: Name | None = Field(None, description="Only for tokens of no tenant; `default` if left out.")
    name: Line | None = None
    priority: Priority | None = None
    deadline: Span | None = Field(None, description="Wanted response time.")
    keep_going: bool = Field(default=False, description="Go on with what does not depend on a failure.")
    cache: bool = Field(default=True, description="Take from the cache what has run before.")


class Run(BaseModel):
    """A run in a list."""

    id: str
    number: int
    name: str
    tenant: str
    status: RunStatus
    priority: int
    submitted: float
    ended: float | None
    deadline: float | None
    predicted: float | None = Field(description="When it is thought to end; null: nobody foresees that, or it has.")
    slack: float | None = Field(
        description="Seconds from its end, or from when that is predicted, to its deadline; below zero it is late."
    )
    tasks: dict[TaskStatus, int]


class FailedTask(BaseModel):
    """A task that has failed."""

    task: int
    name: str
    attempt: int
    reason: str


class RunDetail(Run):
    """A run with all that is known of it."""

    parameters: dict[str, Any]
    keep_going: bool
    reason: str | None = Field(description="Why it has failed, if that is no task's fault.")
    impossible: bool = Field(description="Whether it has failed because no machine can ever run what it needs.")
    failures: list[FailedTask] = Field(description="The first of them.")


class Results(BaseModel):
    """What a run has given."""

    run: str
    results: dict[str, Any] | None = Field(
        description="Outputs of a program that is done; null: it has none, or not yet."
    )
    files: dict[str, str] = Field(
        description="The files among them: their places, as in `/runs/{run}/outputs/{place}`, and their names."
    )


class Cancellation(Given):
    """How a run is cancelled."""

    force: bool = Field(default=False, description="Kill what runs at once; do not mind if the run has ended already.")


class NewPriority(Given):
    """A run's priority."""

    priority: Priority


class NewDeadline(Given):
    """A run's deadline."""

    deadline: Span | None = Field(description="Wanted response time, counted from the submission; null: none.")


class Task(BaseModel):
    """A unit of a run."""

    number: int
    run: str
    name: str
    status: TaskStatus
    attempts: int
    failures: int
    lost: int
    preempted: int
    machine: int | None
    started: float | None
    ended: float | None
    message: str
    results: dict[str, Any] | None


class FoundTask(Task):
    """A task that was found."""

    run_name: str


class Attempt(BaseModel):
    """One try to run a task."""

    run: str
    task: int
    attempt: int
    machine: int
    machine_type: str | None
    started: float
    ended: float | None
    outcome: str
    reason: str
    cpu: float
    memory: int


class LogFile(BaseModel):
    """What an attempt wrote."""

    name: str
    bytes: int


class Artefact(BaseModel):
    """A file of an attempt."""

    path: str
    bytes: int
    modified: float | None


class Waits(BaseModel):
    """Why a task is where it is."""

    task: int
    name: str
    status: TaskStatus
    cause: str
    text: str
    until: float | None


class Ended(BaseModel):
    """How an attempt ended that was not the last."""

    attempt: int
    outcome: str
    reason: str
    machine: int


class Again(BaseModel):
    """Why a task ran again."""

    task: int
    name: str
    attempts: int
    why: list[Ended]


class RunExplained(BaseModel):
    """Why a run is where it is."""

    run: str
    status: RunStatus
    summary: str
    waiting: list[Waits]
    again: list[Again]


class Difference(BaseModel):
    """A part of a call's key that was not the same before."""

    part: str
    was: str | None
    now: str | None


class Closest(BaseModel):
    """The most similar earlier call."""

    run: str
    call: str


class Recall(BaseModel):
    """Whether a call of a task was taken from the cache, and if not, what differed."""

    call: str
    cached: bool
    text: str
    closest: Closest | None = None
    differences: list[Difference] = []


class TaskExplained(Waits):
    """Why a task is where it is, why it ran again, and why it ran at all."""

    again: list[Ended]
    cache: list[Recall]


class Counts(BaseModel):
    """How much was found."""

    runs: int
    tasks: int
    exact: bool = Field(description="False: there are at least so many.")


class Found(BaseModel):
    """What a search has found."""

    query: str
    counts: Counts
    runs: list[Run]
    tasks: list[FoundTask]
    next: str | None


class Health(BaseModel):
    """How the server is."""

    status: str
