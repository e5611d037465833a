"""Results that shares of elastic units deliver."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.sqlite import INTEGER

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(INTEGER(), "sqlite")
_NUMBERS = ("run", "unit", "share", "attempt", "number", "at")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "share_deliveries",
        *(sa.Column(name, Number, nullable=False, autoincrement=False) for name in _NUMBERS),
        sa.Column("ranges", sa.Text, nullable=False),
        sa.Column("checkpoint", sa.Boolean, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("run", "unit", "share", "attempt", "number", name="share_deliveries_key"),
        sqlite_with_rowid=False,
    )
