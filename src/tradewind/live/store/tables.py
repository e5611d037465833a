"""The tables, as SQLAlchemy knows them: for queries, for migrations, and for the script that makes a new SQLite store.

As few indexes as possible, for each one more doubles the cost of a write: a key for each table, and for runs, which are
few, what lists of them go by. Columns follow `tradewind.live.store.rows`; a test holds them together. There are no
foreign keys: batches are complete by construction, and checking each unit's run would cost as much as an index.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.dialects.sqlite import INTEGER

metadata = MetaData()

Number = BigInteger().with_variant(INTEGER(), "sqlite")
"""In SQLite a key is stored as the row's own number only if its type is spelt INTEGER."""


def _number(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, Number, nullable=nullable, autoincrement=False)


runs = Table(
    "runs",
    metadata,
    _number("number"),
    Column("id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    _number("deadline", nullable=True),
    _number("submitted"),
    _number("ended", nullable=True),
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
    _number("run"),
    Column("parameters", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    PrimaryKeyConstraint("run", name="documents_key"),
)

generators = Table(
    "generators",
    metadata,
    _number("run"),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("run", name="generators_key"),
)

units = Table(
    "units",
    metadata,
    _number("run"),
    _number("number"),
    Column("chain", Text, nullable=False),
    Column("tasks", LargeBinary),
    Column("state", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("lost", Integer, nullable=False),
    _number("machine", nullable=True),
    _number("started", nullable=True),
    _number("ended", nullable=True),
    Column("results", Text),
    Column("message", Text, nullable=False),
    PrimaryKeyConstraint("run", "number", name="units_key"),
    sqlite_with_rowid=False,  # rows lie in the order of their key, and need no index beside them
    postgresql_with={"fillfactor": "70"},  # room on each page, so that updates stay there
)

machines = Table(
    "machines",
    metadata,
    _number("number"),
    Column("kind", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("state", Integer, nullable=False),
    _number("acquired"),
    _number("expected"),
    _number("paid_until"),
    _number("released", nullable=True),
    Column("because", Text, nullable=False),
    PrimaryKeyConstraint("number", name="machines_key"),
)

charges = Table(
    "charges",
    metadata,
    _number("number"),
    _number("machine"),
    Column("tenant", Text, nullable=False),
    _number("at"),
    _number("amount"),
    Column("refund", Boolean, nullable=False),
    PrimaryKeyConstraint("number", name="charges_key"),
)

carried = Table(
    "carried",
    metadata,
    Column("tenant", Text, nullable=False),
    _number("charged"),
    _number("refunded"),
    PrimaryKeyConstraint("tenant", name="carried_key"),
)

attempts = Table(
    "attempts",
    metadata,
    _number("run"),
    _number("unit"),
    _number("attempt"),
    _number("machine"),
    _number("started"),
    _number("ended"),
    Column("outcome", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("folder", Text, nullable=False),
    Column("cpu", Float(53), nullable=False),
    _number("memory"),
    PrimaryKeyConstraint("run", "unit", "attempt", name="attempts_key"),
    sqlite_with_rowid=False,
)

log = Table(
    "log",
    metadata,
    _number("first"),
    _number("last"),
    _number("at"),
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
    _number("next"),
    PrimaryKeyConstraint("name", name="counters_key"),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, nullable=False),
    Column("holder", Text, nullable=False),
    _number("token"),
    _number("until"),
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
    _number("took"),
    _number("made"),
    _number("used"),
    _number("uses"),
    PrimaryKeyConstraint("tenant", "key", name="cache_key"),
    sqlite_with_rowid=False,
)

digests = Table(
    "digests",
    metadata,
    Column("path", Text, nullable=False),
    _number("size"),
    _number("modified"),
    Column("digest", Text, nullable=False),
    PrimaryKeyConstraint("path", name="digests_key"),
)

# What a server keeps: who may do what, who did, and what people search by

tenants = Table(
    "tenants",
    metadata,
    Column("name", Text, nullable=False),
    _number("budget", nullable=True),
    _number("interval"),
    Column("weight", Float(53), nullable=False),
    _number("max_active_runs", nullable=True),
    _number("max_tasks", nullable=True),
    _number("created"),
    PrimaryKeyConstraint("name", name="tenants_key"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("tenant", Text),
    Column("role", Text, nullable=False),
    _number("created"),
    _number("expires", nullable=True),
    _number("used", nullable=True),
    PrimaryKeyConstraint("id", name="tokens_key"),
)

audit = Table(
    "audit",
    metadata,
    _number("number"),
    _number("at"),
    Column("token", Text),
    Column("tenant", Text),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    _number("outcome"),
    Column("address", Text, nullable=False),
    PrimaryKeyConstraint("number", name="audit_key"),
)

keys = Table(
    "keys",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", Text, nullable=False),
    _number("run"),
    _number("at"),
    PrimaryKeyConstraint("tenant", "key", name="keys_key"),
)

tallies = Table(
    "tallies",
    metadata,
    _number("run"),
    Column("counts", Text, nullable=False),
    PrimaryKeyConstraint("run", name="tallies_key"),
)


FULL_TEXT = "tokenize = \"ascii tokenchars '_:'\", detail = none, columnsize = 0"
"""Words come ready-made (see `words`), each with a letter that says what it is; where they stand does not matter."""


def _words(table: str) -> Table:
    """What is found by words: in PostgreSQL a vector of lexemes, in SQLite a full-text table of the same columns."""
    made = Table(
        table,
        metadata,
        _number("number"),
        _number("run"),
        Column("words", TSVECTOR, nullable=False),
        PrimaryKeyConstraint("number", name=f"{table}_key"),
        info={"sqlite": f"CREATE VIRTUAL TABLE {table} USING fts5(words, run UNINDEXED, {FULL_TEXT})"},
    )
    Index(f"{table}_found", made.c.words, postgresql_using="gin")
    Index(f"{table}_run", made.c.run)
    return made


run_words = _words("run_words")
task_words = _words("task_words")

divisible_jobs = Table(
    "divisible_jobs",
    metadata,
    _number("number"),
    Column("id", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    _number("due"),
    _number("queued"),
    _number("live"),
    _number("ended", nullable=True),
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
    _number("job"),
    _number("number"),
    _number("until", nullable=True),
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
    _number("job"),
    _number("first"),
    _number("last"),
    PrimaryKeyConstraint("job", "first", name="free_ranges_key"),
    sqlite_with_rowid=False,
)

deliveries = Table(
    "deliveries",
    metadata,
    _number("job"),
    _number("partition"),
    _number("number"),
    _number("at"),
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
    _number("updated"),
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
    _number("created"),
    _number("expires", nullable=True),
    PrimaryKeyConstraint("id", name="site_tokens_key"),
)

slot_shares = Table(
    "slot_shares",
    metadata,
    Column("tenant", Text, nullable=False),
    _number("weight"),
    _number("running"),
    PrimaryKeyConstraint("tenant", name="slot_shares_key"),
)

pulses = Table(
    "pulses",
    metadata,
    _number("number"),
    Column("state", Text, nullable=False),
    Column("secret", Text, nullable=False),
    PrimaryKeyConstraint("number", name="pulses_key"),
)
