"""How many partitions a job needs to end in time (TaScaaS, section III-C, eq. 9 to 13).

Ours counts only partitions that are alive, adds those that wait for a slot or have not been measured yet at the mean
speed of the others (eq. 10), aims a little ahead of the target, and when that is over aims at one more report interval,
where eq. 12 divides by zero. Never do more wait than there can be slots. The original asks only when the newest
partition reports, once that has reported more than twice, and takes the share that is missing of the present number,
rounded up.
"""

from tradewind.model.units import SECOND, Duration, Time
from tradewind.policies.divisible.protocol import FLOOR, SPEED, JobView, PartitionView, eta, mean_speed, remaining

AIM = 0.93
"""Part of the target that is aimed at: new partitions take a while to start and to be measured."""
REPORTS = 20
"""About as many reports of a partition in the target time."""
TOLERANCE = 0.02
"""Part of the time left by which the estimate may exceed it."""


def ours(job: JobView, slots: int, now: Time, floor: Duration = FLOOR) -> int:
    """New partitions, so that live and waiting ones together end the job a little before its target."""
    speed = mean_speed(job)
    room = min(job.maximum - job.live, slots) - job.queued
    if job.target is None or speed <= 0 or room <= 0:
        return 0
    expected = job.speeds + (job.live - job.measured + job.queued) * speed
    work = remaining(job, now) * SPEED
    usual = max(floor, job.target // REPORTS)
    if work * SECOND <= (floor if job.unassigned else usual) * expected:
        return 0  # it ends before a new partition would be of use
    left = max(usual, job.since + round(job.target * AIM) - now)
    if work * SECOND <= left * (1 + TOLERANCE) * expected:
        return 0
    short = work * SECOND / left - expected
    return min(room, -int(-short // speed))


def original(job: JobView, partition: PartitionView | None, now: Time) -> int:
    """New partitions by the rule of the original."""
    time = eta(job, now, with_silent=True)
    room = job.maximum - job.live - job.queued
    if job.target is None or time is None or partition is None or job.queued or room <= 0:
        return 0
    if partition.number != job.made - 1 or partition.reports <= 2:
        return 0
    left = job.since + job.target - now
    if time <= left:
        return 0
    if left <= 0:
        return room
    return min(room, int((time / left - 1) * job.live) + 1)
