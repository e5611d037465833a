"""Divisible jobs are runs, and sites are agents: the tables of the earlier service go.

Results of jobs that an earlier version has run are kept where there are any, although no command reads them.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.sqlite import INTEGER

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

Number = sa.BigInteger().with_variant(INTEGER(), "sqlite")
_COPY = """
    INSERT INTO agent_tokens (id, digest, agent, tenants, owner, created, expires)
    SELECT id, digest, site, tenants, owner, created, expires FROM site_tokens
"""


def upgrade() -> None:
    """Keep the tokens, and the results of jobs if there are any."""
    op.create_table(
        "agent_tokens",
        *(sa.Column(name, sa.Text, nullable=False) for name in ("id", "digest", "agent", "tenants")),
        sa.Column("owner", sa.Text),
        sa.Column("created", Number, nullable=False, autoincrement=False),
        sa.Column("expires", Number, autoincrement=False),
        sa.PrimaryKeyConstraint("id", name="agent_tokens_key"),
    )
    op.execute(_COPY)
    for table in ("site_tokens", "sites", "slot_shares", "pulses", "free_ranges", "partitions"):
        op.drop_table(table)
    if not op.get_bind().execute(sa.text("SELECT COUNT(*) FROM divisible_jobs")).scalar():
        op.drop_table("divisible_jobs")
        op.drop_table("deliveries")
