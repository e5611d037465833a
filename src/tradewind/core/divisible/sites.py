"""Sites: register, update, fetch partitions for free slots, disconnect; and which partition goes first."""

from collections.abc import Sequence

from tradewind.core.divisible import urgency
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.records import Job, Partition, Site
from tradewind.core.divisible.turn import Turn
from tradewind.policies.divisible.protocol import MEAN

MOST = 100_000
"""Slots that a site may have."""
_WEIGHT = 8
"""A partition that ends changes what is known of its site's speed by one of so many parts."""


def register(turn: Turn, id: str, slots: int, achievable: int, tenants: tuple[str, ...] = ()) -> Site:
    """Take a site; one that is known is updated."""
    _check(slots, achievable)
    site = turn.book.site(id)
    if site is None:
        site = Site(id, slots, achievable, turn.now, turn.now, tenants, hint=slots)
    site.slots, site.achievable, site.updated, site.tenants = slots, achievable, turn.now, tenants
    turn.book.put_site(site)
    return site


def known(turn: Turn, id: str) -> Site:
    """A site that has registered."""
    site = turn.book.site(id)
    if site is None:
        raise Refused("unknown", f"no site {id!r} is known; register first")
    return site


def update(turn: Turn, site: Site, slots: int, achievable: int) -> Site:
    """Note that a site is there, and how many slots it has; its hint tells how many it should have."""
    _check(slots, achievable)
    site.slots, site.achievable, site.updated = slots, achievable, turn.now
    turn.book.put_site(site)
    return site


def _check(slots: int, achievable: int) -> None:
    if not 0 <= slots <= achievable <= MOST:
        raise Refused("invalid", f"slots: must be 0 to the achievable {achievable}, and these at most {MOST:,}")


def rate(site: Site, speed: int) -> None:
    """Note how fast a slot of a site was, in millionths of what its job usually has."""
    known = site.speed or MEAN
    site.speed = max(1, known + (speed - known) // _WEIGHT)


def disconnect(turn: Turn, id: str) -> None:
    """Forget a site; its partitions go on until they finish or fall silent."""
    turn.book.drop_site(id)


def fetch(
    turn: Turn, site: Site, key: str, leases: Sequence[str], *, reduces: bool = True
) -> list[tuple[Job, Partition]]:
    """Hand out a partition for each free slot, under the given new secrets; the same key again, the same partitions.

    Only a site that `reduces` gets to run what a job reduces its results with.
    """
    site.updated = turn.now
    if key and key == site.key:
        found = [(turn.job(job), turn.book.partition(job, number)) for job, number in site.fetched]
        return [(job, partition) for job, partition in found if partition is not None and partition.is_live]
    handed: list[tuple[Job, Partition]] = []
    for lease in leases:
        job = _next(turn, site, reduces=reduces)
        if job is None:
            break
        handed.append((job, _lease(turn, job, site, lease)))
    site.key = key
    site.fetched = tuple((job.number, partition.number) for job, partition in handed)
    site.running += len(handed)
    turn.book.put_site(site)
    if handed:
        turn.pulse.dispatched += len(handed)
        turn.book.put_pulse(turn.pulse)
    return handed


def _next(turn: Turn, site: Site, *, reduces: bool) -> Job | None:
    """Of the tenants with work, the one with the fewest slots for its weight; of its jobs one in need, or the first."""
    names = [name for name in turn.book.waiting_tenants() if not site.tenants or name in site.tenants]
    tenants = [turn.book.tenant(name) for name in names]
    for tenant in sorted(tenants, key=lambda tenant: (tenant.running / tenant.weight, tenant.name)):
        job = turn.book.next_waiting(tenant.name, is_lifo=turn.settings.is_lifo, reduces=reduces)
        if job is not None:
            return urgency.next_in_need(turn, tenant.name, job.spec.priority, reduces=reduces) or job
    return None


def _lease(turn: Turn, job: Job, site: Site, lease: str) -> Partition:
    until = turn.service_time + turn.settings.start
    interval = turn.balancer(job).interval(job, None, 0.0)
    partition = Partition(job.number, job.made, site.id, lease, turn.now, until, interval)
    partition.rating = (site.speed or MEAN) * MEAN // turn.pulse.mean
    if job.state == "reducing":
        job.reducing = partition.number
    job.made += 1
    job.queued -= 1
    job.live += 1
    job.peak = max(job.peak, job.live)
    turn.book.put_job(job)
    turn.book.put_partition(partition)
    tenant = turn.book.tenant(job.spec.tenant)
    tenant.running += 1
    turn.book.put_tenant(tenant)
    return partition
