"""Where the service's records lie: a port, and the one in memory, for simulations and tests."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Protocol

from tradewind.core.divisible.records import Delivery, Job, Partition, Pulse, Range, Site, Tenant
from tradewind.model.units import Time


class Book(Protocol):
    """Records by their keys. A record is changed in place and then put back; nobody else changes it meanwhile."""

    def pulse(self) -> Pulse | None:
        """The service's own record; None: this is the first call ever."""

    def put_pulse(self, pulse: Pulse) -> None:
        """Write it."""

    def job(self, number: int) -> Job | None:
        """A job by its number."""

    def job_of(self, id: str) -> Job | None:
        """A job by its id."""

    def next_number(self) -> int:
        """The number of the next job."""

    def put_job(self, job: Job) -> None:
        """Write a job, new or changed."""

    def partition(self, job: int, number: int) -> Partition | None:
        """A partition by its job and number."""

    def put_partition(self, partition: Partition) -> None:
        """Write a partition, new or changed."""

    def expired(self, until: Time, limit: int) -> Sequence[Partition]:
        """Live partitions whose lease has run out, oldest first."""

    def take_free(self, job: int) -> Range | None:
        """Remove the first of the ranges that came back to a job; None: there is none."""

    def put_free(self, job: int, ranges: Iterable[Range]) -> None:
        """Add ranges that came back to a job."""

    def put_delivery(self, delivery: Delivery) -> None:
        """Write a delivery."""

    def void_delivery(self, job: int, partition: int, number: int) -> None:
        """Drop the result, not the ranges, of a delivery that a checkpoint replaces."""

    def site(self, id: str) -> Site | None:
        """A site by its id."""

    def put_site(self, site: Site) -> None:
        """Write a site, new or changed."""

    def drop_site(self, id: str) -> None:
        """Forget a site."""

    def sites(self, since: Time) -> Sequence[Site]:
        """Those heard of since a time, by id."""

    def forgotten(self, before: Time) -> Sequence[str]:
        """Ids of those not heard of since a time."""

    def tenant(self, name: str) -> Tenant:
        """A tenant; an unknown one weighs as much as most."""

    def put_tenant(self, tenant: Tenant) -> None:
        """Write a tenant, new or changed."""

    def waiting_tenants(self) -> Sequence[str]:
        """Tenants who have partitions waiting, by name."""

    def next_waiting(self, tenant: str, *, is_lifo: bool, reduces: bool) -> Job | None:
        """The job of a tenant that a partition is to be taken from: by priority, then due first, then oldest.

        Jobs whose results are to be reduced only if wanted.
        """

    def waiting(self, limit: int) -> Sequence[Job]:
        """Jobs that have partitions waiting, due first."""

    def busy(self, limit: int) -> Sequence[Job]:
        """Jobs that have partitions that live or wait, due first."""

    def totals(self) -> tuple[int, int]:
        """Partitions that live and that wait, over all jobs."""


class MemoryBook:
    """All records in memory."""

    def __init__(self) -> None:
        self._pulse: Pulse | None = None
        self.jobs: dict[int, Job] = {}
        self.partitions: dict[tuple[int, int], Partition] = {}
        self.free: dict[int, list[Range]] = {}
        self.deliveries: dict[tuple[int, int, int], Delivery] = {}
        self._ids: dict[str, int] = {}
        self._sites: dict[str, Site] = {}
        self._tenants: dict[str, Tenant] = {}
        self._live: dict[tuple[int, int], Partition] = {}
        self._waiting: dict[int, Job] = {}

    def pulse(self) -> Pulse | None:
        """The service's own record."""
        return self._pulse

    def put_pulse(self, pulse: Pulse) -> None:
        """Write it."""
        self._pulse = pulse

    def job(self, number: int) -> Job | None:
        """A job by its number."""
        return self.jobs.get(number)

    def job_of(self, id: str) -> Job | None:
        """A job by its id."""
        number = self._ids.get(id)
        return None if number is None else self.jobs[number]

    def next_number(self) -> int:
        """The number of the next job."""
        return len(self.jobs)

    def put_job(self, job: Job) -> None:
        """Write a job."""
        self.jobs[job.number] = job
        self._ids[job.id] = job.number
        if job.queued:
            self._waiting[job.number] = job
        else:
            self._waiting.pop(job.number, None)

    def partition(self, job: int, number: int) -> Partition | None:
        """A partition by its job and number."""
        return self.partitions.get((job, number))

    def put_partition(self, partition: Partition) -> None:
        """Write a partition."""
        key = (partition.job, partition.number)
        self.partitions[key] = partition
        if partition.is_live:
            self._live[key] = partition
        else:
            self._live.pop(key, None)

    def expired(self, until: Time, limit: int) -> Sequence[Partition]:
        """Live partitions whose lease has run out."""
        late = [partition for partition in self._live.values() if partition.until < until]
        return sorted(late, key=lambda partition: (partition.until, partition.job, partition.number))[:limit]

    def take_free(self, job: int) -> Range | None:
        """The first range that came back."""
        ranges = self.free.get(job)
        return heappop(ranges) if ranges else None

    def put_free(self, job: int, ranges: Iterable[Range]) -> None:
        """Add ranges."""
        heap = self.free.setdefault(job, [])
        for new in ranges:
            heappush(heap, new)

    def put_delivery(self, delivery: Delivery) -> None:
        """Write a delivery."""
        self.deliveries[delivery.job, delivery.partition, delivery.number] = delivery

    def void_delivery(self, job: int, partition: int, number: int) -> None:
        """Drop the result of a delivery."""
        found = self.deliveries.get((job, partition, number))
        if found is not None:
            self.deliveries[job, partition, number] = found._replace(result="")

    def site(self, id: str) -> Site | None:
        """A site by its id."""
        return self._sites.get(id)

    def put_site(self, site: Site) -> None:
        """Write a site."""
        self._sites[site.id] = site

    def drop_site(self, id: str) -> None:
        """Forget a site."""
        self._sites.pop(id, None)

    def sites(self, since: Time) -> Sequence[Site]:
        """Those heard of since a time."""
        return sorted((site for site in self._sites.values() if site.updated >= since), key=lambda site: site.id)

    def forgotten(self, before: Time) -> Sequence[str]:
        """Those not heard of since a time."""
        return sorted(site.id for site in self._sites.values() if site.updated < before)

    def tenant(self, name: str) -> Tenant:
        """A tenant."""
        return self._tenants.get(name) or Tenant(name)

    def put_tenant(self, tenant: Tenant) -> None:
        """Write a tenant."""
        self._tenants[tenant.name] = tenant

    def waiting_tenants(self) -> Sequence[str]:
        """Tenants who have partitions waiting."""
        return sorted({job.spec.tenant for job in self._waiting.values()})

    def next_waiting(self, tenant: str, *, is_lifo: bool, reduces: bool) -> Job | None:
        """The job to take a partition from."""
        jobs = [job for job in self._waiting.values() if job.spec.tenant == tenant]
        if not reduces:
            jobs = [job for job in jobs if job.state != "reducing"]
        if is_lifo:
            return max(jobs, key=lambda job: job.number, default=None)
        return min(jobs, key=lambda job: (-job.spec.priority, job.due, job.number), default=None)

    def waiting(self, limit: int) -> Sequence[Job]:
        """Jobs that have partitions waiting."""
        return sorted(self._waiting.values(), key=lambda job: (job.due, job.number))[:limit]

    def busy(self, limit: int) -> Sequence[Job]:
        """Jobs that have partitions that live or wait."""
        numbers = {job for job, _ in self._live} | set(self._waiting)
        return sorted((self.jobs[number] for number in numbers), key=lambda job: (job.due, job.number))[:limit]

    def totals(self) -> tuple[int, int]:
        """Partitions that live and that wait."""
        return len(self._live), sum(job.queued for job in self._waiting.values())
