"""Divisible jobs: their partitions, their ledgers, and the sites that work on them."""

from sqlalchemy import Boolean, Column, Index, Integer, PrimaryKeyConstraint, Table, Text, text

from tradewind.live.store.tables.columns import metadata, number

divisible_jobs = Table(
    "divisible_jobs",
    metadata,
    number("number"),
    Column("id", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    number("due"),
    number("queued"),
    number("live"),
    number("ended", nullable=True),
    Column("spec", Text, nullable=False),
    Column("sums", Text, nullable=False),
    PrimaryKeyConstraint("number", name="divisible_jobs_key"),
    postgresql_with={"fillfactor": "50"},  # rows change with every batch of reports
)
Index("divisible_jobs_id", divisible_jobs.c.id, unique=True)
Index(
    "divisible_jobs_waiting",
    divisible_jobs.c.tenant,
    divisible_jobs.c.priority,
    sqlite_where=text("queued > 0"),
    postgresql_where=text("queued > 0"),
)
Index(
    "divisible_jobs_active",
    divisible_jobs.c.number,
    sqlite_where=text("live > 0 OR queued > 0"),
    postgresql_where=text("live > 0 OR queued > 0"),
)

partitions = Table(
    "partitions",
    metadata,
    number("job"),
    number("number"),
    number("until", nullable=True),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("job", "number", name="partitions_key"),
    sqlite_with_rowid=False,
    postgresql_with={"fillfactor": "70"},
)
Index(
    "partitions_live",
    partitions.c.until,
    sqlite_where=text("until IS NOT NULL"),
    postgresql_where=text("until IS NOT NULL"),
)

free_ranges = Table(
    "free_ranges",
    metadata,
    number("job"),
    number("first"),
    number("last"),
    PrimaryKeyConstraint("job", "first", name="free_ranges_key"),
    sqlite_with_rowid=False,
)

deliveries = Table(
    "deliveries",
    metadata,
    number("job"),
    number("partition"),
    number("number"),
    number("at"),
    Column("ranges", Text, nullable=False),
    Column("checkpoint", Boolean, nullable=False),
    Column("result", Text, nullable=False),
    PrimaryKeyConstraint("job", "partition", "number", name="deliveries_key"),
    sqlite_with_rowid=False,
)

sites = Table(
    "sites",
    metadata,
    Column("id", Text, nullable=False),
    number("updated"),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("id", name="sites_key"),
)

site_tokens = Table(
    "site_tokens",
    metadata,
    Column("id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("site", Text, nullable=False),
    Column("tenants", Text, nullable=False),
    Column("owner", Text),
    number("created"),
    number("expires", nullable=True),
    PrimaryKeyConstraint("id", name="site_tokens_key"),
)

slot_shares = Table(
    "slot_shares",
    metadata,
    Column("tenant", Text, nullable=False),
    number("weight"),
    number("running"),
    PrimaryKeyConstraint("tenant", name="slot_shares_key"),
)

pulses = Table(
    "pulses",
    metadata,
    number("number"),
    Column("state", Text, nullable=False),
    Column("secret", Text, nullable=False),
    PrimaryKeyConstraint("number", name="pulses_key"),
)
