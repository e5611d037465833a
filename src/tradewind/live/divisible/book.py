"""The book of divisible jobs in the store, for one transaction: changes are collected, and written at its end."""

import secrets
from collections.abc import Iterable, Sequence

import orjson

from tradewind.core.divisible.records import Delivery, Job, Partition, Pulse, Range, Site, Tenant
from tradewind.live.divisible import coding
from tradewind.live.divisible import statements as sql
from tradewind.live.divisible.free import Free
from tradewind.live.store.sql import Session
from tradewind.model.units import Time


class SqlBook:
    """Made anew for each transaction; forgets everything with it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.secret = ""
        """With which addresses are signed; the same for every process."""
        self._pulse: Pulse | None = None
        self._jobs: dict[int, Job] = {}
        self._partitions: dict[tuple[int, int], Partition] = {}
        self._sites: dict[str, Site] = {}
        self._tenants: dict[str, Tenant] = {}
        self._deliveries: dict[tuple[int, int, int], Delivery] = {}
        self._free: dict[int, Free] = {}
        self._new_pulse = False
        self._new_jobs: set[int] = set()
        self._new_partitions: set[tuple[int, int]] = set()
        self._new_sites: set[str] = set()
        self._new_tenants: set[str] = set()

    def open(self) -> None:
        """Begin; in PostgreSQL other processes wait until the transaction ends."""
        statement = sql.PULSE if self.session.url.startswith("sqlite") else f"{sql.PULSE} FOR UPDATE"
        rows = self.session.fetch(statement)
        if not rows:
            self.session.change(sql.NEW_PULSE, secret=secrets.token_hex(32))
            rows = self.session.fetch(statement)
        state, self.secret = rows[0]
        self._pulse = coding.pulse_of(state) if state else None

    def close(self) -> None:
        """Write all that has changed."""
        if self._new_pulse and self._pulse is not None:
            self.session.change(sql.PUT_PULSE, state=coding.pulse_text(self._pulse))
            self._new_pulse = False
        self._write_jobs()
        self._write_partitions()
        self._write_sites()
        if self._new_tenants:
            tenants = [self._tenants[name] for name in sorted(self._new_tenants)]
            self.session.write(sql.SHARES, [(each.name, each.weight, each.running) for each in tenants])
            self._new_tenants.clear()
        if self._deliveries:
            self.session.write(sql.DELIVERIES, [_delivery_row(each) for each in self._deliveries.values()])
            self._deliveries.clear()
        for free in self._free.values():
            free.write()

    def pulse(self) -> Pulse | None:
        """The service's own record."""
        return self._pulse

    def put_pulse(self, pulse: Pulse) -> None:
        """Write it."""
        self._pulse = pulse
        self._new_pulse = True

    def job(self, number: int) -> Job | None:
        """A job by its number."""
        if number not in self._jobs:
            rows = self.session.fetch(sql.JOB, number=number)
            if not rows:
                return None
            self._jobs[number] = coding.job_of(rows[0])
        return self._jobs[number]

    def job_of(self, id: str) -> Job | None:
        """A job by its id."""
        known = next((job for job in self._jobs.values() if job.id == id), None)
        if known is not None:
            return known
        rows = self.session.fetch(sql.JOB_OF, id=id)
        return self._jobs.setdefault(rows[0][0], coding.job_of(rows[0])) if rows else None

    def next_number(self) -> int:
        """The number of the next job."""
        self._write_jobs()
        newest = self.session.fetch(sql.NEWEST_JOB)[0][0]
        return 0 if newest is None else newest + 1

    def put_job(self, job: Job) -> None:
        """Write a job."""
        self._jobs[job.number] = job
        self._new_jobs.add(job.number)

    def partition(self, job: int, number: int) -> Partition | None:
        """A partition by its job and number."""
        key = (job, number)
        if key not in self._partitions:
            rows = self.session.fetch(sql.PARTITION, job=job, number=number)
            if not rows:
                return None
            self._partitions[key] = coding.partition_of(rows[0])
        return self._partitions[key]

    def put_partition(self, partition: Partition) -> None:
        """Write a partition."""
        key = (partition.job, partition.number)
        self._partitions[key] = partition
        self._new_partitions.add(key)

    def expired(self, until: Time, limit: int) -> Sequence[Partition]:
        """Leases that have run out."""
        self._write_partitions()
        rows = self.session.fetch(sql.EXPIRED, until=until, limit=limit)
        return [self._partitions.setdefault((row[0], row[1]), coding.partition_of(row)) for row in rows]

    def take_free(self, job: int) -> Range | None:
        """The first range that came back."""
        return self._free_of(job).take()

    def put_free(self, job: int, ranges: Iterable[Range]) -> None:
        """Add ranges."""
        self._free_of(job).put(ranges)

    def _free_of(self, job: int) -> Free:
        if job not in self._free:
            self._free[job] = Free(self.session, job)
        return self._free[job]

    def put_delivery(self, delivery: Delivery) -> None:
        """Write a delivery."""
        self._deliveries[delivery.job, delivery.partition, delivery.number] = delivery

    def void_delivery(self, job: int, partition: int, number: int) -> None:
        """Drop the result of a delivery."""
        key = (job, partition, number)
        if key in self._deliveries:
            self._deliveries[key] = self._deliveries[key]._replace(result="")
        elif number > 0:
            self.session.change(sql.VOID_DELIVERY, job=job, partition=partition, number=number)

    def site(self, id: str) -> Site | None:
        """A site by its id."""
        if id not in self._sites:
            rows = self.session.fetch(sql.SITE, id=id)
            if not rows:
                return None
            self._sites[id] = coding.site_of(rows[0])
        return self._sites[id]

    def put_site(self, site: Site) -> None:
        """Write a site."""
        self._sites[site.id] = site
        self._new_sites.add(site.id)

    def drop_site(self, id: str) -> None:
        """Forget a site."""
        self._sites.pop(id, None)
        self._new_sites.discard(id)
        self.session.change(sql.DROP_SITE, id=id)

    def sites(self, since: Time) -> Sequence[Site]:
        """Those heard of since a time."""
        self._write_sites()
        rows = self.session.fetch(sql.SITES_SINCE, since=since)
        return [self._sites.setdefault(row[0], coding.site_of(row)) for row in rows]

    def forgotten(self, before: Time) -> Sequence[str]:
        """Those not heard of since a time."""
        self._write_sites()
        return [id for (id,) in self.session.fetch(sql.FORGOTTEN, before=before)]

    def tenant(self, name: str) -> Tenant:
        """A tenant."""
        if name not in self._tenants:
            rows = self.session.fetch(sql.SHARE, tenant=name)
            self._tenants[name] = Tenant(*rows[0]) if rows else Tenant(name)
        return self._tenants[name]

    def put_tenant(self, tenant: Tenant) -> None:
        """Write a tenant."""
        self._tenants[tenant.name] = tenant
        self._new_tenants.add(tenant.name)

    def waiting_tenants(self) -> Sequence[str]:
        """Tenants who have partitions waiting."""
        self._write_jobs()
        return [name for (name,) in self.session.fetch(sql.WAITING_TENANTS)]

    def next_waiting(self, tenant: str, *, is_lifo: bool, reduces: bool) -> Job | None:
        """The job to take a partition from."""
        self._write_jobs()
        left_out = "" if reduces else "reducing"
        statement = sql.NEWEST_WAITING if is_lifo else sql.NEXT_WAITING
        rows = self.session.fetch(statement, tenant=tenant, left_out=left_out)
        return self.job(rows[0][0]) if rows else None

    def waiting(self, limit: int) -> Sequence[Job]:
        """Jobs that have partitions waiting."""
        self._write_jobs()
        rows = self.session.fetch(sql.WAITING, limit=limit)
        return [self._jobs.setdefault(row[0], coding.job_of(row)) for row in rows]

    def busy(self, limit: int) -> Sequence[Job]:
        """Jobs that have partitions that live or wait."""
        self._write_jobs()
        rows = self.session.fetch(sql.BUSY, limit=limit)
        return [self._jobs.setdefault(row[0], coding.job_of(row)) for row in rows]

    def totals(self) -> tuple[int, int]:
        """Partitions that live and that wait."""
        self._write_jobs()
        live, queued = self.session.fetch(sql.TOTALS)[0]
        return live, queued

    def _write_jobs(self) -> None:
        if self._new_jobs:
            self.session.write(sql.JOBS, [coding.job_row(self._jobs[number]) for number in sorted(self._new_jobs)])
            self._new_jobs.clear()

    def _write_partitions(self) -> None:
        if self._new_partitions:
            rows = [coding.partition_row(self._partitions[key]) for key in sorted(self._new_partitions)]
            self.session.write(sql.PARTITIONS, rows)
            self._new_partitions.clear()

    def _write_sites(self) -> None:
        if self._new_sites:
            self.session.write(sql.SITES, [coding.site_row(self._sites[id]) for id in sorted(self._new_sites)])
            self._new_sites.clear()


def _delivery_row(delivery: Delivery) -> tuple[object, ...]:
    ranges = orjson.dumps(delivery.ranges).decode()
    job, partition, number, at, _, is_checkpoint, result = delivery
    return job, partition, number, at, ranges, is_checkpoint, result
