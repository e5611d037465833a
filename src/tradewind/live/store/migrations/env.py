"""What Alembic runs for each upgrade: the steps on the connection that `tradewind.live.store.schema` hands over."""

from alembic import context

from tradewind.live.store.schema import TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=TABLE,
    transactional_ddl=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
