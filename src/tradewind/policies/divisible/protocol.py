"""What balancers see of a job and of its partitions, and what they answer.

Speeds are whole numbers of millionths of an iteration per second, so that the sum a job keeps of its partitions' speeds
is exact however often they come and go. Everything a balancer sees is kept up to date with each call, so that an answer
costs the same whatever the number of partitions.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tradewind.model.units import SECOND, Duration, Time
from tradewind.policies.divisible.speed import Speed

if TYPE_CHECKING:
    from tradewind.policies.protocol import Kind, Unit

SPEED = 1_000_000
"""One iteration per second."""
MEAN = 1_000_000
"""How fast the mean slot of all sites is; what sites are rated by."""
FLOOR = 10 * SECOND
"""Partitions report no more often than this, but for those that run out of work."""


class JobView(Protocol):
    """A divisible job, read only."""

    @property
    def iterations(self) -> int:
        """All of them."""

    @property
    def computed(self) -> int:
        """Delivered, or told by live partitions to be done."""

    @property
    def unassigned(self) -> int:
        """Held by nobody, and not delivered."""

    @property
    def speeds(self) -> int:
        """Sum over the live partitions that have been measured."""

    @property
    def submitted(self) -> Time:
        """When it came."""

    @property
    def paced(self) -> int:
        """Sum of each measured speed times the milliseconds from the job's submission to that report."""

    @property
    def silent(self) -> int:
        """Sum over those that ended or fell silent, which only the original counts."""

    @property
    def measured(self) -> int:
        """Live partitions that have reported a speed."""

    @property
    def live(self) -> int:
        """Partitions under a lease, started or not."""

    @property
    def queued(self) -> int:
        """Partitions that wait for a slot."""

    @property
    def initial(self) -> int:
        """Partitions at its start."""

    @property
    def maximum(self) -> int:
        """Partitions there may be at once."""

    @property
    def target(self) -> Duration | None:
        """Within which the job should end; None: nothing is balanced."""

    @property
    def since(self) -> Time:
        """From when the target counts."""

    @property
    def weights(self) -> tuple[int, ...]:
        """Shares of the initial partitions, for static partitioning; none: equal ones."""

    @property
    def made(self) -> int:
        """Partitions handed out so far."""

    @property
    def rated(self) -> int:
        """Sum over all partitions ever measured of how fast slots of their sites are, in millionths of the mean."""


class PartitionView(Protocol):
    """A partition, read only."""

    @property
    def number(self) -> int:
        """Counted from 0 within the job."""

    @property
    def speed(self) -> Speed:
        """As estimated so far."""

    @property
    def interval(self) -> Duration:
        """Between its reports."""

    @property
    def left(self) -> int:
        """Iterations that it holds and has not done."""

    @property
    def reports(self) -> int:
        """How many it has sent."""


class Balancer(Protocol):
    """How a job's iterations are spread over its partitions, and over how many."""

    @property
    def name(self) -> str:
        """What jobs call it."""

    def measure(self, speed: Speed, done: int, elapsed: Duration) -> Speed:
        """The estimate after so many more iterations in so much more time."""

    def share(self, job: JobView, partition: PartitionView, now: Time) -> int:
        """How many iterations a partition should have before it now."""

    def interval(self, job: JobView, partition: PartitionView | None, moved: float) -> Duration:
        """When a partition should report again, if its speed moved by this part; None: at its start."""

    def wanted(self, job: JobView, partition: PartitionView | None, slots: int, now: Time) -> int:
        """How many more partitions are needed, where sites can have so many slots for the job.

        The partition is the one that reported, if any.
        """

    @property
    def moves_work(self) -> bool:
        """Whether iterations move between shares; if not, a share that has done its own ends."""


class DivisionView(JobView, Protocol):
    """An elastic unit at work, as the core keeps it, read only."""

    @property
    def unit(self) -> "Unit":
        """The elastic unit."""

    @property
    def shares(self) -> "Mapping[int, Unit]":
        """Its shares that have not ended, the oldest first."""

    @property
    def due(self) -> Time | None:
        """When it should have ended."""

    @property
    def balancer(self) -> Balancer:
        """How it is balanced."""


class ShareView(PartitionView, Protocol):
    """A share of an elastic unit, read only."""

    @property
    def kind(self) -> "Kind | None":
        """Of the machine it runs on."""


@runtime_checkable
class Yielding(Balancer, Protocol):
    """A balancer that lets machines change hands between elastic units."""

    @property
    def floor(self) -> Duration:
        """The shortest time between two reports of a share that has work left."""

    def gives_way(self, job: DivisionView, share: ShareView, now: Time) -> str:
        """Why a share that has reported should end, so that its machine can go to another unit; empty: it goes on."""


def remaining(job: JobView, now: Time) -> int:
    """Iterations that nobody has done, if partitions have gone on at their speeds since they last reported."""
    since = job.speeds * ((now - job.submitted) // 1000) - job.paced
    return max(job.unassigned, job.iterations - job.computed - max(0, since) // (1000 * SPEED), 0)


def mean_speed(job: JobView) -> int:
    """Of a measured partition; 0: there is none."""
    return job.speeds // job.measured if job.measured else 0


def typical_speed(job: JobView) -> int:
    """Of a partition on a slot anywhere, by all that were ever measured, wherever they were; 0: none was."""
    return (job.speeds + job.silent) * MEAN // job.rated if job.rated else 0


def eta(job: JobView, now: Time, *, with_silent: bool = False) -> Duration | None:
    """How long the measured partitions need for what remains; None: nothing is known."""
    speed = job.speeds + job.silent if with_silent else job.speeds
    if speed <= 0:
        return 0 if remaining(job, now) == 0 else None
    return remaining(job, now) * SPEED * SECOND // speed
