"""What calls gave, to be found again, and the digests of large files."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.sqlite import INTEGER

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(INTEGER(), "sqlite")


def upgrade() -> None:
    """Add the tables of the cache."""
    op.create_table(
        "cache",
        *(_text("tenant"), _text("key"), _text("step"), _text("parts"), _text("run"), _text("call")),
        *(_text("results"), _text("files"), _number("took"), _number("made"), _number("used"), _number("uses")),
        sa.PrimaryKeyConstraint("tenant", "key", name="cache_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "digests",
        *(_text("path"), _number("size"), _number("modified"), _text("digest")),
        sa.PrimaryKeyConstraint("path", name="digests_key"),
    )


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False)


def _number(name: str) -> "sa.Column[int]":
    return sa.Column(name, Number, nullable=False, autoincrement=False)
