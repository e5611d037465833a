"""What a server keeps: tenants, tokens, an audit log, keys of submissions, and what people search by."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.dialects.sqlite import INTEGER

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(INTEGER(), "sqlite")

_FULL_TEXT = "words, run UNINDEXED, tokenize = \"ascii tokenchars '_:'\", detail = none, columnsize = 0"


def upgrade() -> None:
    """Add the tables of a server, and the indexes that its lists go by."""
    op.create_table(
        "tenants",
        _text("name"),
        _number("budget", nullable=True),
        _number("interval"),
        sa.Column("weight", sa.Float(53), nullable=False),
        _number("max_active_runs", nullable=True),
        _number("max_tasks", nullable=True),
        _number("created"),
        sa.PrimaryKeyConstraint("name", name="tenants_key"),
    )
    op.create_table(
        "tokens",
        *(_text("id"), _text("digest"), _text("name"), _text("tenant", nullable=True), _text("role")),
        *(_number("created"), _number("expires", nullable=True), _number("used", nullable=True)),
        sa.PrimaryKeyConstraint("id", name="tokens_key"),
    )
    op.create_table(
        "audit",
        *(_number("number"), _number("at"), _text("token", nullable=True), _text("tenant", nullable=True)),
        *(_text("action"), _text("target"), _number("outcome"), _text("address")),
        sa.PrimaryKeyConstraint("number", name="audit_key"),
    )
    op.create_table(
        "keys",
        *(_text("tenant"), _text("key"), _text("digest"), _number("run"), _number("at")),
        sa.PrimaryKeyConstraint("tenant", "key", name="keys_key"),
    )
    op.create_table("tallies", _number("run"), _text("counts"), sa.PrimaryKeyConstraint("run", name="tallies_key"))
    op.create_index("runs_of_tenant", "runs", ["tenant", "number"])
    op.create_index("runs_by_status", "runs", ["status", "number"])
    for table in ("run_words", "task_words"):
        _make_words(table)


def _make_words(table: str) -> None:
    if op.get_bind().dialect.name == "sqlite":
        op.execute(f"CREATE VIRTUAL TABLE {table} USING fts5({_FULL_TEXT})")
        return
    op.create_table(
        table,
        *(_number("number"), _number("run"), sa.Column("words", TSVECTOR, nullable=False)),
        sa.PrimaryKeyConstraint("number", name=f"{table}_key"),
    )
    op.create_index(f"{table}_found", table, ["words"], postgresql_using="gin")
    op.create_index(f"{table}_run", table, ["run"])


def _number(name: str, *, nullable: bool = False) -> sa.Column[int]:
    return sa.Column(name, Number, nullable=nullable, autoincrement=False)


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)
