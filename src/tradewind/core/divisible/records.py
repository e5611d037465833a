"""What the service knows: jobs, partitions, sites, tenants, and its own pulse."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from tradewind.model.units import Duration, Time
from tradewind.policies.divisible.protocol import MEAN
from tradewind.policies.divisible.scaling import Need
from tradewind.policies.divisible.speed import Speed

_UNMEASURED = Speed()
_NOTHING = Need()

Range: TypeAlias = tuple[int, int]
"""Iterations from the first up to, not including, the second."""

JobState: TypeAlias = Literal["queued", "running", "reducing", "done", "failed", "cancelled"]
PartitionState: TypeAlias = Literal["leased", "running", "finished", "lost"]


class Spec(NamedTuple):
    """What somebody asks for."""

    iterations: int
    name: str = ""
    tenant: str = "default"
    initial: int = 1
    maximum: int = 1_000
    target: Duration | None = None
    """None: nothing is balanced, only dispatched."""
    is_from_start: bool = False
    """Whether the target counts from the first start instead of from submission."""
    priority: int = 0
    balancer: str = "ruper"
    weights: tuple[int, ...] = ()
    reducer: str = "concatenate"
    """What becomes of the results: `concatenate`, `sum`, or on some site `run` (a command) or `python` (a function)."""
    command: tuple[str, ...] = ()
    """What workers run for a partition; none: they know themselves."""
    input: str = ""
    """Name of the object with its input data; none: there is no input."""
    reduce: str = ""
    """The command or the function that reduces, for `run` and `python`."""


@dataclass(slots=True)
class Job:
    """A divisible job, with sums over its live partitions. At every instant delivered + assigned + unassigned = N."""

    id: str
    number: int
    """In the order of submission."""
    spec: Spec
    submitted: Time
    due: Time
    """When it should have ended; far away if it does not say."""
    state: JobState = "queued"
    started: Time | None = None
    ended: Time | None = None
    cursor: int = 0
    """The first iteration never handed out."""
    unassigned: int = 0
    delivered: int = 0
    computed: int = 0
    queued: int = 0
    live: int = 0
    measured: int = 0
    speeds: int = 0
    paced: int = 0
    silent: int = 0
    made: int = 0
    peak: int = 0
    """Most partitions that lived at once."""
    failures: int = 0
    """Partitions that failed since the last delivery."""
    lost: int = 0
    """Partitions that fell silent."""
    warned: Time | None = None
    """Since when it has been expected to miss its target."""
    message: str = ""
    reducing: int = -1
    """The partition that reduces the results; -1: none does."""
    rated: int = 0
    """Sum over all partitions ever measured of how fast slots of their sites are, in millionths of the mean."""

    @property
    def iterations(self) -> int:
        """All of them."""
        return self.spec.iterations

    @property
    def initial(self) -> int:
        """Partitions at its start."""
        return self.spec.initial

    @property
    def maximum(self) -> int:
        """Partitions there may be at once."""
        return self.spec.maximum

    @property
    def target(self) -> Duration | None:
        """Within which it should end."""
        return self.spec.target

    @property
    def weights(self) -> tuple[int, ...]:
        """Of its initial partitions."""
        return self.spec.weights

    @property
    def since(self) -> Time:
        """From when the target counts."""
        return self.started or self.submitted if self.spec.is_from_start else self.submitted

    @property
    def assigned(self) -> int:
        """Iterations held by partitions."""
        return self.spec.iterations - self.delivered - self.unassigned

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in ("done", "failed", "cancelled")


@dataclass(slots=True)
class Partition:
    """A part of a job on a slot, under a lease. A number is used once, so that nobody can act for a later lease."""

    job: int
    number: int
    site: str
    lease: str
    """The secret that each call has to show."""
    leased: Time
    until: Time
    """When the lease runs out, in the time of the service, which stops while that is down."""
    interval: Duration
    state: PartitionState = "leased"
    started: Time | None = None
    held: list[Range] = field(default_factory=list)
    """Not delivered; in the order in which they are done."""
    count: int = 0
    """How many iterations these are."""
    delivered: int = 0
    done: int = 0
    """Delivered or told to be done."""
    told: int = 0
    """Done, as of its last report."""
    elapsed: Duration = 0
    """Of its last report, by the worker's own clock since its start."""
    speed: Speed = _UNMEASURED
    heard: int = 0
    """Milliseconds from the job's submission to its last report."""
    deliveries: int = 0
    reports: int = 0
    rating: int = MEAN
    """How fast slots of its site are, in millionths of the mean, as was known when it was leased."""

    @property
    def left(self) -> int:
        """Iterations that it holds and has not done."""
        return self.count - (self.done - self.delivered)

    @property
    def is_live(self) -> bool:
        """Whether its lease holds."""
        return self.state in ("leased", "running")


@dataclass(slots=True)
class Site:
    """An infrastructure that asks for partitions."""

    id: str
    slots: int
    achievable: int
    registered: Time
    updated: Time
    tenants: tuple[str, ...] = ()
    """Whom it serves; none: everybody."""
    running: int = 0
    """Partitions of it under a lease."""
    hint: int = 0
    """Slots it should have."""
    speed: int = 0
    """Of its slots relative to a slot anywhere, in millionths; 0: unknown."""
    key: str = ""
    """Of its last fetch, so that a repeated one is recognised."""
    fetched: tuple[tuple[int, int], ...] = ()
    """Jobs and partitions handed out with it."""


@dataclass(slots=True)
class Tenant:
    """Somebody whose jobs compete for slots."""

    name: str
    weight: int = 1_000
    """In thousandths."""
    running: int = 0


class Wanted(NamedTuple):
    """How many slots a job is to have, while somebody waits."""

    tenant: str
    priority: int
    job: int
    need: int
    """Fewer, and it could not end in time any more, or another one could not."""
    goal: int
    """With its part of those that nobody needs."""
    has: int
    """Those that it has, and those that others have been told to leave to it, less those that it leaves."""


@dataclass(slots=True)
class Pulse:
    """What the service knows of itself."""

    looked: Time
    """When leases and phases were last looked at."""
    paused: Duration = 0
    """How long it was down, all together."""
    since: Time = 0
    """When the present phase of the scaling hint began."""
    is_settling: bool = False
    need: Need = _NOTHING
    area: int = 0
    """Slots in use and partitions waiting, times microseconds, in the present phase."""
    dispatched: int = 0
    created: int = 0
    wanted: tuple[Wanted, ...] = ()
    """Slots that jobs are to have, as of the last beat, those short of their need first; none: nobody waits."""
    mean: int = MEAN
    """Speed of the mean slot, by the speeds of sites, when somebody last waited."""


class Delivery(NamedTuple):
    """Results of some iterations."""

    job: int
    partition: int
    number: int
    """Counted from 1 within the partition."""
    at: Time
    ranges: tuple[Range, ...]
    is_checkpoint: bool
    """Whether it stands for all that the partition has delivered so far, and replaces earlier ones."""
    result: str
    """The result itself as text, or the name of an object that holds it, as the driver likes."""
