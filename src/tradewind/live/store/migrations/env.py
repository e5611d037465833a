"""What Alembic runs for each upgrade: the steps on the connection that `tradewind.live.store.schema` hands over."""

from alembic import context

from tradewind.live.store.schema import TABLE
from tradewind.live.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=TABLE,
    transactional_ddl=True,
    transaction_per_migration=False,
)
context.run_migrations()
