"""Slots that change hands: a job with time in hand lets a partition go for one that is due earlier and would be late.

Every beat notes how many slots jobs that are expected to miss their target wait for. A partition that reports is told
to end if a slot of its site would go to one of those that is due earlier, and if its own job can catch up: never to a
lower priority, and to another tenant only if that one has fewer slots for its weight. The original keeps a slot until
the job ends.
"""

from itertools import islice

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
    """Note for whom slots are wanted, those due first."""
    urgent = (job for job in turn.book.waiting(MOST) if is_urgent(turn, job))
    turn.pulse.wanted = tuple(
        Wanted(job.spec.tenant, job.spec.priority, job.due, job.queued) for job in islice(urgent, NOTED)
    )


def is_urgent(turn: Turn, job: Job) -> bool:
    """Whether a job that waits for slots would miss its target without them."""
    if job.target is None or not turn.balancer(job).shares_slots:
        return False
    if job.speeds <= 0:
        return job.live == 0 and turn.now - job.since > job.target // REPORTS
    return jobs.outlook(job, turn.now).late > -round((1 - AIM) * job.target)


def hands_over(turn: Turn, job: Job, partition: Partition, balancer: Balancer) -> bool:
    """Whether a partition should end now, so that its slot can go to somebody in need; one slot less is wanted then."""
    if not turn.pulse.wanted or not balancer.can_spare(job, partition, turn.now):
        return False
    site = turn.book.site(partition.site)
    tenants = () if site is None else site.tenants
    for place, row in enumerate(turn.pulse.wanted):
        if row.priority < job.spec.priority or row.due >= job.due or (tenants and row.tenant not in tenants):
            continue
        if row.tenant == job.spec.tenant or _share(turn, row.tenant) < _share(turn, job.spec.tenant):
            rows = list(turn.pulse.wanted)
            rows[place : place + 1] = [row._replace(slots=row.slots - 1)] if row.slots > 1 else []
            turn.pulse.wanted = tuple(rows)
            turn.book.put_pulse(turn.pulse)
            return True
    return False


def _share(turn: Turn, name: str) -> float:
    tenant = turn.book.tenant(name)
    return tenant.running / tenant.weight
