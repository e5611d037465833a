"""Slots that change hands: a job with time in hand lets a partition go for one that would be late.

Earliest due first, until somebody can wait no longer. Every beat notes how many slots jobs that are expected to miss
their target wait for, and which of them are *pressed*: they would soon need all partitions that they may have, so that
no number of slots could help them later. A partition that reports is told to end if its site's slot would go

- to one that is due earlier than its own job, if that can catch up, or
- to a pressed one, whenever that is due, if its own job ends in time without it;

never to a lower priority, and to another tenant only if that one has fewer slots for its weight. Slots that are free go
to pressed jobs first (`next_pressed`). The original keeps a slot until the job ends.
"""

from tradewind.core.divisible import jobs
from tradewind.core.divisible.records import Job, Partition, Wanted
from tradewind.core.divisible.turn import Turn
from tradewind.policies.divisible.partitioning import AIM, REPORTS
from tradewind.policies.divisible.protocol import Balancer

MOST = 200
"""Waiting jobs that are looked at in a beat, those due first."""
NOTED = 20
"""Jobs that slots are noted for."""


def note(turn: Turn) -> None:
    """Note for whom slots are wanted: those that are pressed first, then those due first.

    Jobs that no partition speaks for are warned of here.
    """
    waiting = turn.book.waiting(MOST)
    for job in waiting:
        if job.live == 0:
            jobs.warn(turn, job)
    rows = [_wanted(turn, job) for job in waiting if is_urgent(turn, job)]
    turn.pulse.wanted = tuple(sorted(rows, key=lambda row: not row.is_pressed)[:NOTED])


def _wanted(turn: Turn, job: Job) -> Wanted:
    is_pressed = job.state != "reducing" and turn.balancer(job).is_pressed(job, turn.now)
    return Wanted(job.spec.tenant, job.spec.priority, job.due, job.queued, job.number, is_pressed)


def is_urgent(turn: Turn, job: Job) -> bool:
    """Whether a job that waits for slots would miss its target without them."""
    if job.target is None or not turn.balancer(job).shares_slots:
        return False
    if job.speeds <= 0:
        return job.live == 0 and turn.now - job.since > job.target // REPORTS
    return jobs.is_short(job, turn.now, AIM)


def next_pressed(turn: Turn, tenant: str, priority: int) -> Job | None:
    """The pressed job of a tenant that waits for a slot, of this priority or a higher one."""
    for row in turn.pulse.wanted:
        if row.is_pressed and row.tenant == tenant and row.priority >= priority:
            job = turn.book.job(row.job)
            if job is not None and job.queued and turn.balancer(job).is_pressed(job, turn.now):
                return job
    return None


def hands_over(turn: Turn, job: Job, partition: Partition, balancer: Balancer) -> bool:
    """Whether a partition should end now, so that its slot can go to somebody in need; one slot less is wanted then."""
    if not turn.pulse.wanted:
        return False
    for_now = balancer.can_spare(job, partition, turn.now, for_good=False)
    for_good = balancer.can_spare(job, partition, turn.now, for_good=True)
    if not (for_now or for_good):
        return False
    site = turn.book.site(partition.site)
    tenants = () if site is None else site.tenants
    for place, row in enumerate(turn.pulse.wanted):
        if row.slots <= 0 or row.priority < job.spec.priority or (tenants and row.tenant not in tenants):
            continue
        if not ((for_now and row.due < job.due) or (for_good and row.is_pressed and row.job != job.number)):
            continue
        if row.tenant == job.spec.tenant or _share(turn, row.tenant) < _share(turn, job.spec.tenant):
            rows = list(turn.pulse.wanted)
            rows[place] = row._replace(slots=row.slots - 1)
            turn.pulse.wanted = tuple(rows)
            turn.book.put_pulse(turn.pulse)
            return True
    return False


def _share(turn: Turn, name: str) -> float:
    tenant = turn.book.tenant(name)
    return tenant.running / tenant.weight
