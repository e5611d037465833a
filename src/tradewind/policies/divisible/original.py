"""RUPER-LB as TaScaaS runs it, as far as an exact ledger lets it; for study.

The newest measure is the speed; a partition holds its whole share of what remains, and gets another one only with its
own report; partitions that ended or fell silent keep counting; new partitions are asked for by the newest one alone.
Unlike the original, iterations are never assigned twice: what a dead worker did not deliver goes back, where the
original counts it as done, and a new partition waits until others have given back, where the original lets it begin
with iterations that nobody has given up.
"""

from dataclasses import dataclass

from tradewind.model.units import Duration, Time
from tradewind.policies.divisible import partitioning, speed
from tradewind.policies.divisible.protocol import FLOOR, JobView, PartitionView, eta, mean_speed
from tradewind.policies.divisible.ruper import report_interval
from tradewind.policies.divisible.speed import Speed


@dataclass(frozen=True, slots=True)
class Original:
    """`ruper-original`."""

    floor: Duration = FLOOR
    name: str = "ruper-original"
    moves_work: bool = True

    def measure(self, before: Speed, done: int, elapsed: Duration) -> Speed:
        """The newest measure."""
        return speed.last(before, done, elapsed)

    def share(self, job: JobView, partition: PartitionView, now: Time) -> int:
        """Its whole part of what remains; unchanged when the job ends within an interval."""
        work = max(0, job.iterations - job.computed)
        if job.target is None:
            return -(-job.iterations // job.initial) if partition.reports == 0 else partition.left
        mean = mean_speed(job)
        unknown = job.live - job.measured
        own = partition.speed.value
        if own <= 0:
            if mean <= 0:
                return -(-work // max(1, unknown + job.queued))
            return work * mean // (job.speeds + max(1, unknown) * mean)
        time = eta(job, now, with_silent=True)
        if time is not None and time < partition.interval and partition.left:
            return partition.left
        return max(1, work * own // (job.speeds + unknown * mean))

    def interval(self, job: JobView, partition: PartitionView | None, moved: float) -> Duration:
        """As `ruper`."""
        return report_interval(job, partition, moved, self.floor)

    def wanted(self, job: JobView, partition: PartitionView | None, slots: int, now: Time) -> int:  # noqa: ARG002
        """By the newest partition, whatever slots there are."""
        return partitioning.original(job, partition, now)
