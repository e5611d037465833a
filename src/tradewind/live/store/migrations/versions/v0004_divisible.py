"""Divisible jobs: their partitions and deliveries, and the sites that work on them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.sqlite import INTEGER

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(INTEGER(), "sqlite")


def upgrade() -> None:
    """Add the tables of divisible jobs and of sites."""
    op.create_table(
        "divisible_jobs",
        *(_number("number"), _text("id"), _text("tenant"), _text("state")),
        sa.Column("priority", sa.Integer, nullable=False),
        *(_number("due"), _number("queued"), _number("live"), _number("ended", nullable=True)),
        *(_text("spec"), _text("sums")),
        sa.PrimaryKeyConstraint("number", name="divisible_jobs_key"),
        postgresql_with={"fillfactor": "50"},
    )
    op.create_index("divisible_jobs_id", "divisible_jobs", ["id"], unique=True)
    _partial("divisible_jobs_waiting", "divisible_jobs", ["tenant", "priority"], "queued > 0")
    _partial("divisible_jobs_active", "divisible_jobs", ["number"], "live > 0 OR queued > 0")
    op.create_table(
        "partitions",
        *(_number("job"), _number("number"), _number("until", nullable=True), _text("state")),
        sa.PrimaryKeyConstraint("job", "number", name="partitions_key"),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": "70"},
    )
    _partial("partitions_live", "partitions", ["until"], "until IS NOT NULL")
    op.create_table(
        "free_ranges",
        *(_number("job"), _number("first"), _number("last")),
        sa.PrimaryKeyConstraint("job", "first", name="free_ranges_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "deliveries",
        *(_number("job"), _number("partition"), _number("number"), _number("at"), _text("ranges")),
        sa.Column("checkpoint", sa.Boolean, nullable=False),
        _text("result"),
        sa.PrimaryKeyConstraint("job", "partition", "number", name="deliveries_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "sites",
        *(_text("id"), _number("updated"), _text("state")),
        sa.PrimaryKeyConstraint("id", name="sites_key"),
    )
    op.create_table(
        "site_tokens",
        *(_text("id"), _text("digest"), _text("site"), _text("tenants")),
        sa.Column("owner", sa.Text),
        *(_number("created"), _number("expires", nullable=True)),
        sa.PrimaryKeyConstraint("id", name="site_tokens_key"),
    )
    op.create_table(
        "slot_shares",
        *(_text("tenant"), _number("weight"), _number("running")),
        sa.PrimaryKeyConstraint("tenant", name="slot_shares_key"),
    )
    op.create_table(
        "pulses",
        *(_number("number"), _text("state"), _text("secret")),
        sa.PrimaryKeyConstraint("number", name="pulses_key"),
    )


def _partial(name: str, table: str, columns: list[str], where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False)


def _number(name: str, *, nullable: bool = False) -> "sa.Column[int]":
    return sa.Column(name, Number, nullable=nullable, autoincrement=False)
