"""The tables, as SQLAlchemy knows them: for queries, for migrations, and for the script that makes a new SQLite store.

As few indexes as possible, for each one more doubles the cost of a write: a key for each table, and for runs, which are
few, what lists of them go by. Columns follow `tradewind.live.store.rows`; a test holds them together. There are no
foreign keys: batches are complete by construction, and checking each unit's run would cost as much as an index.
"""

from tradewind.live.store.tables.columns import metadata
from tradewind.live.store.tables.people import (
    agent_tokens,
    audit,
    keys,
    run_words,
    tallies,
    task_words,
    tenants,
    tokens,
)
from tradewind.live.store.tables.work import (
    attempts,
    cache,
    carried,
    charges,
    counters,
    digests,
    documents,
    generators,
    leases,
    log,
    machines,
    memories,
    notes,
    runs,
    share_deliveries,
    units,
)

__all__ = [
    "agent_tokens",
    "attempts",
    "audit",
    "cache",
    "carried",
    "charges",
    "counters",
    "digests",
    "documents",
    "generators",
    "keys",
    "leases",
    "log",
    "machines",
    "memories",
    "metadata",
    "notes",
    "run_words",
    "runs",
    "share_deliveries",
    "tallies",
    "task_words",
    "tenants",
    "tokens",
    "units",
]
