"""RUPER-LB made exact: shares by speed, handed out a little at a time.

Each partition is due `remaining * v_i / sum(v)` (RUPER-LB's rule), but is handed no more than it can do in two report
intervals. So there is always something to give to a new or a faster partition without waiting for another one to give
back, and a dead worker takes little with it. When less than a report interval remains, nothing is taken back any
more, and partitions that run out get half their share, then half of what remains, and so on: all end together, within
about a tenth of the shortest interval.
"""

from dataclasses import dataclass

from tradewind.model.units import MINUTE, SECOND, Duration, Time
from tradewind.policies.divisible import partitioning, speed
from tradewind.policies.divisible.partitioning import REPORTS
from tradewind.policies.divisible.protocol import FLOOR, SPEED, JobView, PartitionView, mean_speed, remaining
from tradewind.policies.divisible.speed import Speed

_AHEAD = 2
"""Report intervals of work that a partition may hold."""
_FIRST = 20
"""A partition of which nothing is known starts with this part of what an equal share would be."""
_UNBALANCED = MINUTE
"""Between signs of life of partitions of jobs without a target."""


@dataclass(frozen=True, slots=True)
class Ruper:
    """The balancer of the spec; `ruper`."""

    floor: Duration = FLOOR
    name: str = "ruper"
    moves_work: bool = True

    def measure(self, before: Speed, done: int, elapsed: Duration) -> Speed:
        """Exponentially weighted."""
        return speed.weighted(before, done, elapsed)

    def share(self, job: JobView, partition: PartitionView, now: Time) -> int:
        """Its part of what remains, as far as it is near."""
        work = remaining(job, now)
        waiting = job.live - job.measured  # those without a slot share nothing
        if job.target is None:
            return -(-job.iterations // job.initial) if partition.reports == 0 else partition.left
        own = partition.speed.value
        if own <= 0:
            own = mean_speed(job)
            if own <= 0:
                return max(1, work // (_FIRST * max(1, waiting)))
            everyone = job.speeds + max(1, waiting) * own
        else:
            everyone = job.speeds + waiting * mean_speed(job)
        time = work * SPEED * SECOND // everyone
        if time >= partition.interval:
            return max(1, min(time, _AHEAD * partition.interval) * own // (SPEED * SECOND))
        small = max(time // 2, self.floor // 10)
        return max(1, partition.left, min(time, small) * own // (SPEED * SECOND))

    def interval(self, job: JobView, partition: PartitionView | None, moved: float) -> Duration:
        """Longer while the speed stays, shorter while it moves: times 1.2 to 0.8, about 20 reports for a job."""
        return report_interval(job, partition, moved, self.floor)

    def wanted(self, job: JobView, partition: PartitionView | None, slots: int, now: Time) -> int:  # noqa: ARG002  # any partition's
        """As many as let the job end in time, and have slots to run on."""
        return partitioning.ours(job, slots, now, self.floor)


def report_interval(job: JobView, partition: PartitionView | None, moved: float, floor: Duration) -> Duration:
    """RUPER-LB's: between the floor and a sixteenth of the target, so that a dead worker is soon noticed."""
    if job.target is None:
        return max(floor, _UNBALANCED)
    usual = job.target // REPORTS
    if partition is None:
        return max(floor, usual // 2)  # a first measure soon
    before = usual if partition.reports <= 1 else partition.interval
    factor = min(1.2, max(0.8, 1.2 - 4 * moved))
    return max(floor, min(round(before * factor), usual * 5 // 4))
