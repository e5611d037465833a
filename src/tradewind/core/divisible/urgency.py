"""Slots that change hands: every beat plans how many each job must have now, so that all can still end in time.

A partition that reports is told to end if its job has more slots than it needs, and its site's slot would go to one
that has fewer; or more than its part of the others, which are given to those due first. Never to a lower priority, and
to another tenant only if that one has fewer slots for its weight. Slots that are free go to jobs in need first
(`next_in_need`). A job that cannot end in time any more is planned to end as soon as it can; if not all can, those due
first do. Slots that nobody has or waits for are asked for by those due first: what is done early is out of the way of
jobs that are still to come. The original keeps a slot until the job ends.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from tradewind.core.divisible import jobs
from tradewind.core.divisible.records import Job, Partition, Site, Wanted
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import SECOND, Duration
from tradewind.policies.divisible.partitioning import REPORTS
from tradewind.policies.divisible.planning import Claim, least_now
from tradewind.policies.divisible.protocol import MEAN, SPEED, remaining, typical_speed

MOST = 200
"""Waiting jobs that are looked at in a beat, those due first."""
PLANNED = 60
"""Jobs that are planned for, those due first."""
AIM = 0.96
"""Part of the target by which jobs are planned to end."""
HURRY = 3
"""While jobs wait, partitions report after this many of the shortest intervals at the latest."""


def note(turn: Turn) -> None:
    """Plan who is to have how many slots, if anybody waits; jobs that no partition speaks for are warned of here."""
    waiting = turn.book.waiting(MOST)
    for job in waiting:
        if job.live == 0:
            jobs.warn(turn, job)
    turn.pulse.wanted = _plan(turn) if any(_shares(turn, job) for job in waiting) else ()


def _shares(turn: Turn, job: Job) -> bool:
    return job.target is not None and job.state != "reducing" and turn.balancer(job).shares_slots


def _plan(turn: Turn) -> tuple[Wanted, ...]:
    """Slots for each job: those short of their need first, else by when they are planned to end."""
    found = [job for job in turn.book.busy(PLANNED) if not job.is_over]
    claims = {job.number: _claim(turn, job) for job in found if _shares(turn, job) and typical_speed(job) > 0}
    found.sort(key=lambda job: claims[job.number].left if job.number in claims else job.due - turn.now)
    needs = {job.number: max(job.live, int(_shares(turn, job))) for job in found if job.number not in claims}
    active = turn.book.sites(turn.now - turn.settings.inactive)
    turn.pulse.mean = _mean_speed(active)
    slots = sum(site.achievable for site in active)
    free = max(0, slots - sum(needs.values()))
    known = [job for job in found if job.number in claims]
    least = least_now([claims[job.number] for job in known], free)
    sums = accumulate((min(need, job.maximum) for need, job in zip(least, known, strict=True)), initial=0.0)
    for job, (before, after) in zip(known, pairwise(map(round, sums)), strict=True):
        needs[job.number] = min(free, after - before)
        free -= needs[job.number]
        if needs[job.number] > job.live + job.queued:
            jobs.ask_for(turn, job, needs[job.number] - job.live - job.queued)
            turn.book.put_job(job)
    if len(known) > 1:
        _use_idle(turn, active, known, claims)
    rows = []
    for job in found:
        need = needs[job.number]
        more = max(0, min(free, job.live + job.queued - need)) if job.number in claims else 0
        free -= more
        rows.append(Wanted(job.spec.tenant, job.spec.priority, job.number, need, need + more, job.live))
    return tuple(sorted(rows, key=lambda row: row.has >= row.need))


def _use_idle(turn: Turn, active: Sequence[Site], known: Sequence[Job], claims: Mapping[int, Claim]) -> None:
    """Ask for open slots that nobody has or waits for, as long as each partition has a report interval to do."""
    idle = sum(site.achievable for site in active if not site.tenants) - sum(turn.book.totals())
    for job in known:
        useful = min(job.maximum, int(claims[job.number].work * REPORTS / (job.target or 1)))
        more = min(idle, useful - job.live - job.queued)
        if more > 0:
            jobs.ask_for(turn, job, more)
            turn.book.put_job(job)
            idle -= more


def _mean_speed(active: Sequence[Site]) -> int:
    """Of all slots that sites can have, in the unit of their speeds."""
    slots = sum(site.achievable for site in active)
    return max(1, sum(site.achievable * (site.speed or MEAN) for site in active) // slots) if slots else MEAN


def _claim(turn: Turn, job: Job) -> Claim:
    """What a job needs; partitions that are not measured yet are taken to be half way to their first report."""
    target = job.target or 0
    first = min(HURRY * turn.settings.floor, target // (2 * REPORTS))
    done = (job.live - job.measured) * first / 2
    work = max(0.0, remaining(job, turn.now) * SPEED * SECOND / typical_speed(job) - done)
    left = max(turn.settings.floor, job.since + round(AIM * target) - turn.now)
    return Claim(work, max(left, work / job.maximum), job.maximum)


def next_in_need(turn: Turn, tenant: str, priority: int, *, reduces: bool) -> Job | None:
    """The job of a tenant that waits for a slot it is to have, of this priority or a higher one.

    One that is to be reduced only for who `reduces`.
    """
    for row in turn.pulse.wanted:
        if row.tenant == tenant and row.priority >= priority and row.goal > 0:
            job = turn.book.job(row.job)
            if job is not None and job.queued and job.live < row.goal and (reduces or job.state != "reducing"):
                return job
    return None


def hurried(turn: Turn, interval: Duration) -> Duration:
    """When to report, if slots may have to change hands."""
    return min(interval, HURRY * turn.settings.floor) if turn.pulse.wanted else interval


def hands_over(turn: Turn, job: Job, partition: Partition) -> bool:
    """Whether a partition should end now, so that its slot can go to somebody in need; one slot less is wanted then."""
    rows = turn.pulse.wanted
    if not rows or partition.speed.value <= 0 or not _shares(turn, job):
        return False
    own = next((row for row in rows if row.job == job.number), _unplanned(job))
    if own.has <= own.need:
        return False
    if remaining(job, turn.now) * SPEED * SECOND < partition.interval * job.speeds:
        return False  # it ends soon anyway
    site = turn.book.site(partition.site)
    tenants = () if site is None else site.tenants
    for row in rows:
        if row.job == job.number or row.priority < job.spec.priority or (tenants and row.tenant not in tenants):
            continue
        if not (row.has < row.need or (row.has < row.goal and own.has > own.goal)):
            continue
        if row.tenant == job.spec.tenant or _share(turn, row.tenant) < _share(turn, job.spec.tenant):
            change = {row.job: 1, job.number: -1}
            turn.pulse.wanted = tuple(each._replace(has=each.has + change.get(each.job, 0)) for each in rows)
            turn.book.put_pulse(turn.pulse)
            return True
    return False


def _unplanned(job: Job) -> Wanted:
    """Of a job that is due after all that are planned for: it needs nothing now."""
    return Wanted(job.spec.tenant, job.spec.priority, job.number, 0, 0, job.live)


def _share(turn: Turn, name: str) -> float:
    tenant = turn.book.tenant(name)
    return tenant.running / tenant.weight
