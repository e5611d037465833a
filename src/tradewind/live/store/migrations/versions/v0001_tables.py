"""The first tables."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.sqlite import INTEGER

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(INTEGER(), "sqlite")


def upgrade() -> None:
    """Make everything."""
    op.create_table(
        "runs",
        _number("number"),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        _number("deadline", nullable=True),
        _number("submitted"),
        _number("ended", nullable=True),
        sa.Column("status", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="runs_key"),
    )
    active = sa.text("ended IS NULL")
    op.create_index("runs_active", "runs", ["number"], sqlite_where=active, postgresql_where=active)
    op.create_index("runs_id", "runs", ["id"], unique=True)
    op.create_table(
        "documents",
        _number("run"),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("run", name="documents_key"),
    )
    op.create_table(
        "generators",
        _number("run"),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run", name="generators_key"),
    )
    op.create_table(
        "units",
        _number("run"),
        _number("number"),
        sa.Column("chain", sa.Text, nullable=False),
        sa.Column("tasks", sa.LargeBinary),
        sa.Column("state", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("lost", sa.Integer, nullable=False),
        _number("machine", nullable=True),
        _number("started", nullable=True),
        _number("ended", nullable=True),
        sa.Column("results", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run", "number", name="units_key"),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": "70"},
    )
    op.create_table(
        "machines",
        _number("number"),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("state", sa.Integer, nullable=False),
        _number("acquired"),
        _number("expected"),
        _number("paid_until"),
        _number("released", nullable=True),
        sa.Column("because", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("number", name="machines_key"),
    )
    op.create_table(
        "charges",
        _number("number"),
        _number("machine"),
        sa.Column("tenant", sa.Text, nullable=False),
        _number("at"),
        _number("amount"),
        sa.Column("refund", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("number", name="charges_key"),
    )
    op.create_table(
        "carried",
        sa.Column("tenant", sa.Text, nullable=False),
        _number("charged"),
        _number("refunded"),
        sa.PrimaryKeyConstraint("tenant", name="carried_key"),
    )
    op.create_table(
        "attempts",
        _number("run"),
        _number("unit"),
        _number("attempt"),
        _number("machine"),
        _number("started"),
        _number("ended"),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("cpu", sa.Float(53), nullable=False),
        _number("memory"),
        sa.PrimaryKeyConstraint("run", "unit", "attempt", name="attempts_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "log",
        _number("first"),
        _number("last"),
        _number("at"),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("first", name="log_key"),
    )
    op.create_table(
        "memories",
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("policy", name="memories_key"),
    )
    op.create_table(
        "notes",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="notes_key"),
    )
    op.create_table(
        "counters",
        sa.Column("name", sa.Text, nullable=False),
        _number("next"),
        sa.PrimaryKeyConstraint("name", name="counters_key"),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        _number("token"),
        _number("until"),
        sa.PrimaryKeyConstraint("name", name="leases_key"),
    )


def _number(name: str, *, nullable: bool = False) -> "sa.Column[int]":
    return sa.Column(name, Number, nullable=nullable, autoincrement=False)
