"""How many machines a tenant may hold at once."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.sqlite import INTEGER

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(INTEGER(), "sqlite")


def upgrade() -> None:
    """Add the limit; without one, as before, there is none."""
    op.add_column("tenants", sa.Column("max_machines", Number, nullable=True))
