"""What units have borne and saved on machines that shrink or are taken back, and the sizes of such machines."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; what is there has borne nothing."""
    op.add_column("units", sa.Column("preempted", sa.Integer, nullable=False, server_default=sa.text("0")))
    op.add_column("units", sa.Column("progress", sa.Text))
    op.add_column("machines", sa.Column("size", sa.Text))
