"""Machines that joined instead of being rented: their names, types and tenants."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; every machine that is there was rented."""
    op.add_column("machines", sa.Column("joined", sa.Text))
