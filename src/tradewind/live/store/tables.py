"""The tables, as SQLAlchemy knows them: for queries, for migrations, and for the script that makes a new SQLite store.

As few indexes as possible, for each one more doubles the cost of a write: a key for each table, the runs' ids, and the
active runs. Columns follow `tradewind.live.store.rows`; a test holds them together. There are no foreign keys: batches
are complete by construction, and checking each unit's run would cost as much as an index.
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
