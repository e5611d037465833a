"""What runs, where, and what it costs."""

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text, text

from tradewind.live.store.tables.columns import metadata, number

runs = Table(
    "runs",
    metadata,
    number("number"),
    Column("id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    number("deadline", nullable=True),
    number("submitted"),
    number("ended", nullable=True),
    Column("status", Text, nullable=False),
    PrimaryKeyConstraint("number", name="runs_key"),
)
Index("runs_id", runs.c.id, unique=True)
Index("runs_of_tenant", runs.c.tenant, runs.c.number)
Index("runs_by_status", runs.c.status, runs.c.number)
Index("runs_active", runs.c.number, sqlite_where=text("ended IS NULL"), postgresql_where=text("ended IS NULL"))

documents = Table(
    "documents",
    metadata,
    number("run"),
    Column("parameters", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    PrimaryKeyConstraint("run", name="documents_key"),
)

generators = Table(
    "generators",
    metadata,
    number("run"),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("run", name="generators_key"),
)

units = Table(
    "units",
    metadata,
    number("run"),
    number("number"),
    Column("chain", Text, nullable=False),
    Column("tasks", LargeBinary),
    Column("state", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("lost", Integer, nullable=False),
    number("machine", nullable=True),
    number("started", nullable=True),
    number("ended", nullable=True),
    Column("results", Text),
    Column("message", Text, nullable=False),
    Column("preempted", Integer, nullable=False, server_default=text("0")),
    Column("progress", Text),
    PrimaryKeyConstraint("run", "number", name="units_key"),
    sqlite_with_rowid=False,  # rows lie in the order of their key, and need no index beside them
    postgresql_with={"fillfactor": "70"},  # room on each page, so that updates stay there
)

machines = Table(
    "machines",
    metadata,
    number("number"),
    Column("kind", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("state", Integer, nullable=False),
    number("acquired"),
    number("expected"),
    number("paid_until"),
    number("released", nullable=True),
    Column("because", Text, nullable=False),
    Column("size", Text),
    Column("joined", Text),
    PrimaryKeyConstraint("number", name="machines_key"),
)

charges = Table(
    "charges",
    metadata,
    number("number"),
    number("machine"),
    Column("tenant", Text, nullable=False),
    number("at"),
    number("amount"),
    Column("refund", Boolean, nullable=False),
    PrimaryKeyConstraint("number", name="charges_key"),
)

carried = Table(
    "carried",
    metadata,
    Column("tenant", Text, nullable=False),
    number("charged"),
    number("refunded"),
    PrimaryKeyConstraint("tenant", name="carried_key"),
)

attempts = Table(
    "attempts",
    metadata,
    number("run"),
    number("unit"),
    number("attempt"),
    number("machine"),
    number("started"),
    number("ended"),
    Column("outcome", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("cpu", Float(53), nullable=False),
    number("memory"),
    PrimaryKeyConstraint("run", "unit", "attempt", name="attempts_key"),
    sqlite_with_rowid=False,
)

share_deliveries = Table(
    "share_deliveries",
    metadata,
    number("run"),
    number("unit"),
    number("share"),
    number("attempt"),
    number("number"),
    number("at"),
    Column("ranges", Text, nullable=False),
    Column("checkpoint", Boolean, nullable=False),
    Column("result", Text, nullable=False),
    PrimaryKeyConstraint("run", "unit", "share", "attempt", "number", name="share_deliveries_key"),
    sqlite_with_rowid=False,
)

log = Table(
    "log",
    metadata,
    number("first"),
    number("last"),
    number("at"),
    Column("payload", LargeBinary, nullable=False),
    PrimaryKeyConstraint("first", name="log_key"),
)

memories = Table(
    "memories",
    metadata,
    Column("policy", Text, nullable=False),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("policy", name="memories_key"),
)

notes = Table(
    "notes",
    metadata,
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
    PrimaryKeyConstraint("name", name="notes_key"),
)

counters = Table(
    "counters",
    metadata,
    Column("name", Text, nullable=False),
    number("next"),
    PrimaryKeyConstraint("name", name="counters_key"),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, nullable=False),
    Column("holder", Text, nullable=False),
    number("token"),
    number("until"),
    PrimaryKeyConstraint("name", name="leases_key"),
)

cache = Table(
    "cache",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("parts", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("call", Text, nullable=False),
    Column("results", Text, nullable=False),
    Column("files", Text, nullable=False),
    number("took"),
    number("made"),
    number("used"),
    number("uses"),
    PrimaryKeyConstraint("tenant", "key", name="cache_key"),
    sqlite_with_rowid=False,
)

digests = Table(
    "digests",
    metadata,
    Column("path", Text, nullable=False),
    number("size"),
    number("modified"),
    Column("digest", Text, nullable=False),
    PrimaryKeyConstraint("path", name="digests_key"),
)
