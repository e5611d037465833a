"""What callers may ask of the service, with plain values in and out; each is one call at the desk."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from tradewind.core.divisible import jobs, partitions, sites
from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.partitions import Answer, Given
from tradewind.core.divisible.records import Job, Partition, Site, Spec
from tradewind.core.divisible.turn import Turn
from tradewind.model.units import SECOND, Duration, Time, in_seconds
from tradewind.policies.divisible.protocol import SPEED

Plain = dict[str, Any]


class Handed(NamedTuple):
    """A partition on its way to a slot."""

    job: Job
    partition: Partition


def submit(turn: Turn, id: str, spec: Spec, weight: float = 1.0) -> Plain:
    """Take a job of a tenant of so much weight."""
    tenant = turn.book.tenant(spec.tenant)
    if tenant.weight != max(1, round(1000 * weight)):
        tenant.weight = max(1, round(1000 * weight))
        turn.book.put_tenant(tenant)
    return job_shape(jobs.submit(turn, id, spec), turn.now)


def show(turn: Turn, id: str, tenant: str | None) -> Plain:
    """A job as it stands."""
    return job_shape(job_of(turn, id, tenant), turn.now)


def cancel(turn: Turn, id: str, tenant: str | None) -> Plain:
    """End a job."""
    job = job_of(turn, id, tenant)
    jobs.cancel(turn, job)
    return job_shape(job, turn.now)


def job_of(turn: Turn, id: str, tenant: str | None = None) -> Job:
    """A job that is there for a tenant; None: for all."""
    job = turn.book.job_of(id)
    if job is None or tenant not in (None, job.spec.tenant):
        raise Refused("unknown", f"there is no job {id!r}")
    return job


def register(turn: Turn, site: str, slots: int, achievable: int, tenants: tuple[str, ...]) -> Plain:
    """Take a site, or what has changed of it."""
    known = turn.book.site(site)
    if known is not None and known.tenants == tenants:
        return site_shape(sites.update(turn, known, slots, achievable))
    return site_shape(sites.register(turn, site, slots, achievable, tenants))


def fetch(
    turn: Turn, site: str, key: str, leases: Sequence[str], *, reduces: bool = True
) -> tuple[Plain, list[Handed]]:
    """Hand out partitions."""
    known = sites.known(turn, site)
    handed = sites.fetch(turn, known, key, leases, reduces=reduces)
    return site_shape(known), [Handed(job, partition) for job, partition in handed]


def disconnect(turn: Turn, site: str) -> None:
    """Forget a site."""
    sites.disconnect(turn, site)


def start(turn: Turn, id: str, number: int, lease: str) -> Plain:
    """Begin a partition."""
    job, partition = _opened(turn, id, number, lease)
    return answer_shape(partitions.start(turn, job, partition))


def report(
    turn: Turn, id: str, number: int, lease: str, done: int, elapsed: Duration, given: Sequence[Given], site: str = ""
) -> Plain:
    """Take how far a partition is, and its results; from the site itself, without the lease."""
    if site:
        job = job_of(turn, id)
        found = turn.book.partition(job.number, number)
        if found is None or found.site != site:
            raise Refused("unknown", f"job {id} has no partition {number} on this site")
        partition = found
    else:
        job, partition = _opened(turn, id, number, lease)
    return answer_shape(partitions.report(turn, job, partition, done, elapsed, given))


def finish(turn: Turn, id: str, number: int, lease: str, failure: str) -> Plain:
    """End a partition."""
    job, partition = _opened(turn, id, number, lease)
    partitions.finish(turn, job, partition, failure)
    return {"state": partition.state}


def reducing(turn: Turn, id: str, number: int, lease: str) -> Job:
    """The job whose results a partition is to reduce."""
    job, partition = _opened(turn, id, number, lease)
    partitions.check_reducing(job, partition)
    return job


def reduced(turn: Turn, id: str, number: int, lease: str) -> Plain:
    """The results of a job have been reduced."""
    job, partition = _opened(turn, id, number, lease)
    partitions.reduced(turn, job, partition)
    return {"state": job.state}


def is_open(turn: Turn, id: str, number: int, lease: str) -> Job:
    """The job of a partition whose lease still holds."""
    job, partition = _opened(turn, id, number, lease)
    if not partition.is_live:
        raise Refused("stale", f"partition {number} of job {id} is over")
    return job


def _opened(turn: Turn, id: str, number: int, lease: str) -> tuple[Job, Partition]:
    return partitions.opened(turn, job_of(turn, id).number, number, lease)


def answer_shape(answer: Answer) -> Plain:
    """What a partition is told."""
    return {
        "next": answer.next,
        "ranges": [list(piece) for piece in answer.ranges],
        "interval": in_seconds(answer.interval),
        "deliveries": answer.deliveries,
    }


def answer_lines(told: Plain) -> str:
    """The same line by line, for shells."""
    lines = [f"next {told['next']}", f"interval {told['interval']:g}", f"deliveries {told['deliveries']}"]
    lines += [f"range {begin} {end}" for begin, end in told["ranges"]]
    return "\n".join(lines) + "\n"


def site_shape(site: Site) -> Plain:
    """What a site is told."""
    return {
        "site": site.id,
        "slots": site.slots,
        "max_slots": site.achievable,
        "hint": site.hint,
        "running": site.running,
        "updated": in_seconds(site.updated),
        "speed": round(site.speed / 1_000_000, 4) or None,
        "tenants": list(site.tenants),
    }


def partition_shape(partition: Partition) -> Plain:
    """What the owner of a job sees of a partition."""
    return {
        "number": partition.number,
        "state": partition.state,
        "site": partition.site,
        "held": partition.count,
        "delivered": partition.delivered,
        "done": partition.done,
        "speed": partition.speed.value / SPEED,
        "spread": round(partition.speed.spread, 4),
        "interval": in_seconds(partition.interval),
        "reports": partition.reports,
        "started": _seconds(partition.started),
    }


def job_shape(job: Job, now: Time) -> Plain:
    """What the owner of a job sees of it."""
    spec = job.spec
    outlook = jobs.outlook(job, now)
    return {
        "id": job.id,
        "number": job.number,
        "name": spec.name,
        "tenant": spec.tenant,
        "state": job.state,
        "iterations": spec.iterations,
        "delivered": job.delivered,
        "assigned": job.assigned,
        "unassigned": job.unassigned,
        "progress": job.delivered / spec.iterations,
        "computed": job.computed,
        "initial": spec.initial,
        "maximum": spec.maximum,
        "partitions": {"queued": job.queued, "live": job.live, "made": job.made, "lost": job.lost, "peak": job.peak},
        "target": _seconds(spec.target),
        "priority": spec.priority,
        "balancer": spec.balancer,
        "reducer": spec.reducer,
        "reduce": spec.reduce,
        "command": list(spec.command),
        "submitted": in_seconds(job.submitted),
        "started": _seconds(job.started),
        "ended": _seconds(job.ended),
        "speed": job.speeds / SPEED,
        "eta": _seconds(outlook.eta),
        "late": in_seconds(outlook.late),
        "outlook": outlook.words,
        "message": job.message,
    }


def _seconds(time: Time | None) -> float | None:
    return None if time is None else time / SECOND
