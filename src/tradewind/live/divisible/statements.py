"""Every statement of the service of divisible jobs, named and described; SQLite and PostgreSQL understand them all."""

from tradewind.live.store.statements import Write

_INT, _TEXT = "int8", "text"

JOBS = Write(
    "divisible_jobs",
    (
        *(("number", _INT), ("id", _TEXT), ("tenant", _TEXT), ("state", _TEXT), ("priority", _INT), ("due", _INT)),
        *(("queued", _INT), ("live", _INT), ("ended", _INT), ("spec", _TEXT), ("sums", _TEXT)),
    ),
    key=("number",),
)
"""Jobs, new or changed."""

PARTITIONS = Write(
    "partitions", (("job", _INT), ("number", _INT), ("until", _INT), ("state", _TEXT)), key=("job", "number")
)
"""Partitions, new or changed: the hottest of all."""

DELIVERIES = Write(
    "deliveries",
    (
        *(("job", _INT), ("partition", _INT), ("number", _INT), ("at", _INT)),
        *(("ranges", _TEXT), ("checkpoint", "bool"), ("result", _TEXT)),
    ),
    key=("job", "partition", "number"),
)
"""Results as they came in."""

SITES = Write("sites", (("id", _TEXT), ("updated", _INT), ("state", _TEXT)), key=("id",))
"""Sites, new or changed."""

SHARES = Write("slot_shares", (("tenant", _TEXT), ("weight", _INT), ("running", _INT)), key=("tenant",))
"""How many slots tenants use."""

FREE = Write("free_ranges", (("job", _INT), ("first", _INT), ("last", _INT)), key=("job", "first"))
"""Iterations that came back."""

PULSE = "SELECT state, secret FROM pulses WHERE number = 0"
"""The service's own row. PostgreSQL locks it, so that one process after the other works on the books."""

NEW_PULSE = "INSERT INTO pulses (number, state, secret) VALUES (0, '', :secret) ON CONFLICT (number) DO NOTHING"
"""Made by whoever comes first."""

PUT_PULSE = "UPDATE pulses SET state = :state WHERE number = 0"
"""Write it."""

_JOB = "SELECT number, id, tenant, state, priority, due, queued, live, ended, spec, sums FROM divisible_jobs"

JOB = f"{_JOB} WHERE number = :number"
"""A job by its number."""

JOB_OF = f"{_JOB} WHERE id = :id"
"""A job by its id."""

NEWEST_JOB = "SELECT MAX(number) FROM divisible_jobs"
"""After which the next one is numbered."""

JOBS_BEFORE = f"{_JOB} WHERE number < :before AND (:tenant = '' OR tenant = :tenant) ORDER BY number DESC LIMIT :limit"
"""A page of jobs, newest first."""

NEXT_WAITING = """
    SELECT number FROM divisible_jobs WHERE queued > 0 AND tenant = :tenant AND state <> :left_out
    ORDER BY priority DESC, due, number LIMIT 1
"""
"""The job of a tenant that is served next."""

NEWEST_WAITING = """
    SELECT number FROM divisible_jobs WHERE queued > 0 AND tenant = :tenant AND state <> :left_out
    ORDER BY number DESC LIMIT 1
"""
"""The same as the original does it."""

WAITING_TENANTS = "SELECT DISTINCT tenant FROM divisible_jobs WHERE queued > 0 ORDER BY tenant"
"""Tenants who have partitions waiting."""

WAITING = f"{_JOB} WHERE queued > 0 ORDER BY due, number LIMIT :limit"
"""Jobs that have partitions waiting, due first."""

BUSY = f"{_JOB} WHERE live > 0 OR queued > 0 ORDER BY due, number LIMIT :limit"
"""Jobs that have partitions that live or wait, due first."""

TOTALS = (
    "SELECT CAST(COALESCE(SUM(live), 0) AS BIGINT), CAST(COALESCE(SUM(queued), 0) AS BIGINT)"
    " FROM divisible_jobs WHERE live > 0 OR queued > 0"
)
"""Partitions that live and that wait; an index holds the jobs that have some."""

PARTITION = "SELECT job, number, until, state FROM partitions WHERE job = :job AND number = :number"
"""A partition by its job and number."""

PARTITIONS_OF = (
    "SELECT job, number, until, state FROM partitions WHERE job = :job AND number > :after ORDER BY number LIMIT :limit"
)
"""A page of the partitions of a job."""

EXPIRED = (
    "SELECT job, number, until, state FROM partitions WHERE until < :until ORDER BY until, job, number LIMIT :limit"
)
"""Leases that have run out."""

FREE_AFTER = "SELECT first, last FROM free_ranges WHERE job = :job AND first > :after ORDER BY first LIMIT :limit"
"""A page of the iterations that came back to a job."""

DROP_FREE = "DELETE FROM free_ranges WHERE job = :job AND first = :first"
"""They are handed out again."""

VOID_DELIVERY = "UPDATE deliveries SET result = '' WHERE job = :job AND partition = :partition AND number = :number"
"""A checkpoint stands for it."""

DELIVERIES_OF = """
    SELECT partition, number, ranges, checkpoint, result FROM deliveries
    WHERE job = :job AND (partition > :partition OR (partition = :partition AND number > :number))
    ORDER BY partition, number LIMIT :limit
"""
"""A page of the deliveries of a job."""

SITE = "SELECT id, updated, state FROM sites WHERE id = :id"
"""A site by its id."""

SITES_SINCE = "SELECT id, updated, state FROM sites WHERE updated >= :since ORDER BY id"
"""Sites heard of since a time."""

FORGOTTEN = "SELECT id FROM sites WHERE updated < :before ORDER BY id"
"""Sites not heard of since a time."""

DROP_SITE = "DELETE FROM sites WHERE id = :id"
"""Forget a site."""

SHARE = "SELECT tenant, weight, running FROM slot_shares WHERE tenant = :tenant"
"""How many slots a tenant uses."""

SITE_TOKEN = "SELECT id, digest, site, tenants, owner, created, expires FROM site_tokens WHERE id = :id"  # noqa: S105
"""A site's token."""

SITE_TOKENS = "SELECT id, digest, site, tenants, owner, created, expires FROM site_tokens ORDER BY created, id"
"""All of them."""

NEW_SITE_TOKEN = """
    INSERT INTO site_tokens (id, digest, site, tenants, owner, created, expires)
    VALUES (:id, :digest, :site, :tenants, :owner, :created, :expires)
"""  # noqa: S105
"""Let a site in."""

DROP_SITE_TOKEN = "DELETE FROM site_tokens WHERE id = :id"  # noqa: S105
"""Let a site in no longer."""
