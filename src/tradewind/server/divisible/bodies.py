"""What callers send, checked at the door, and the shapes of what they get."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Whole = Annotated[int, Field(ge=0, le=10**15)]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Argument = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewJob(_Body):
    """A divisible job."""

    iterations: Annotated[int, Field(ge=1, le=10**15)]
    name: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f]*$")] = ""
    tenant: Word | None = None
    initial: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Partitions at the start."""
    maximum: Annotated[int, Field(ge=1, le=100_000)] = 1_000
    """Partitions at once."""
    target: Annotated[float, Field(gt=0, le=10**9)] | None = None
    """Seconds within which it should end; none: nothing is balanced."""
    from_start: bool = False
    """Whether the target counts from the first start instead of from submission."""
    priority: Annotated[int, Field(ge=-1_000, le=1_000)] = 0
    balancer: Literal["ruper", "ruper-original", "static"] = "ruper"
    reducer: Literal["concatenate", "sum", "run", "python"] = "concatenate"
    """`run` and `python` reduce on a site that is willing to."""
    reduce: Argument = ""
    """For `run` a shell command, for `python` a function, `module:function`."""
    command: Annotated[list[Argument], Field(max_length=100)] = []
    """What workers run for each partition."""
    input: Annotated[str, StringConstraints(max_length=200)] = ""
    """`key` of an uploaded input."""


class NewToken(_Body):
    """A token for a site."""

    site: Word
    tenants: Annotated[list[Word], Field(max_length=100)] = []
    """Whom the site serves; an administrator may leave it empty for everybody."""
    expires_in: Annotated[float, Field(gt=0, le=10**9)] | None = None
    """Seconds."""


class SiteState(_Body):
    """How many slots a site has."""

    slots: Annotated[int, Field(ge=0, le=100_000)]
    max_slots: Annotated[int, Field(ge=0, le=100_000)]


class Fetch(_Body):
    """What a site asks for."""

    key: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00]*$")]
    """A new one for each request; a repeated one gets the same answer."""
    slots: Annotated[int, Field(ge=1, le=10_000)]
    """Free ones."""
    reduces: bool = False
    """Whether the site runs what a job reduces its results with."""


class Delivered(_Body):
    """Results of some iterations."""

    number: Annotated[int, Field(ge=1, le=10**12)]
    """1, 2, 3, … within the partition."""
    ranges: Annotated[list[tuple[Whole, Whole]], Field(min_length=1, max_length=64)]
    result: Any = None
    """The result itself."""
    object: Annotated[str, StringConstraints(max_length=300)] = ""
    """Or the `key` of an uploaded one."""
    checkpoint: bool = False
    """Whether it replaces all earlier deliveries of the partition."""


class Progress(_Body):
    """How far a partition is."""

    done: Whole
    """Iterations done since its start, delivered or not."""
    elapsed: Annotated[float, Field(ge=0, le=10**10)]
    """Seconds since its start, by its own clock."""
    deliveries: Annotated[list[Delivered], Field(max_length=64)] = []


class SlotProgress(Progress):
    """The same, told by the site."""

    job: Word
    partition: Whole


class ManyProgress(_Body):
    """How far many partitions of a site are."""

    reports: Annotated[list[SlotProgress], Field(min_length=1, max_length=2_000)]


class Ending(_Body):
    """How a partition ends."""

    failure: Annotated[str, StringConstraints(max_length=2_000)] = ""
    """Why it could not go on; none: of its own will."""


class Upload(_Body):
    """What is to be uploaded."""

    number: Annotated[int, Field(ge=1, le=10**12)]
    """Of the delivery."""


class Ranges(BaseModel):
    """What a partition is to do."""

    next: Literal["go", "wait", "end"]
    ranges: list[tuple[int, int]]
    interval: float
    deliveries: int


class Problems(BaseModel):
    """What is wrong."""

    type: str
    title: str
    status: int
    detail: str
    instance: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {"application/problem+json": {"schema": Problems.model_json_schema()}}}
    for status, text in (
        (401, "No token, or not this one."),
        (404, "Not there, or not for the caller."),
        (409, "The state does not allow it, or the lease is over."),
        (413, "Too large."),
        (422, "Not usable."),
        (503, "The store cannot be used at present."),
    )
}
