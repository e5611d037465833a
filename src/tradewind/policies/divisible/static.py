"""Static partitioning, to compare with (section V): a share at the start, by weight, and nothing moves after that.

Only what a dead worker leaves behind is handed out again, whole, to the partition that takes its place.
"""

from dataclasses import dataclass

from tradewind.model.units import Duration, Time
from tradewind.policies.divisible import speed
from tradewind.policies.divisible.protocol import FLOOR, JobView, PartitionView
from tradewind.policies.divisible.ruper import report_interval
from tradewind.policies.divisible.speed import Speed


@dataclass(frozen=True, slots=True)
class Static:
    """`static`."""

    floor: Duration = FLOOR
    name: str = "static"
    moves_work: bool = False

    def measure(self, before: Speed, done: int, elapsed: Duration) -> Speed:
        """Known for the ETA only."""
        return speed.weighted(before, done, elapsed)

    def share(self, job: JobView, partition: PartitionView, now: Time) -> int:  # noqa: ARG002  # never changes
        """Its weight's part of all iterations at the start; later what it has."""
        if partition.reports or partition.left:
            return partition.left
        if partition.number >= job.initial:
            return -(-job.unassigned // max(1, job.queued + 1))
        weights = job.weights or (1,) * job.initial
        before = sum(weights[: partition.number])
        whole = sum(weights)
        return job.iterations * (before + weights[partition.number]) // whole - job.iterations * before // whole

    def interval(self, job: JobView, partition: PartitionView | None, moved: float) -> Duration:
        """As `ruper`."""
        return report_interval(job, partition, moved, self.floor)

    def wanted(self, job: JobView, partition: PartitionView | None, slots: int, now: Time) -> int:  # noqa: ARG002  # never
        """None."""
        return 0
