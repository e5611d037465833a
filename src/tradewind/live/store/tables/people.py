"""What a server keeps: who may do what, who did, and what people search by."""

from sqlalchemy import Column, Float, Index, PrimaryKeyConstraint, Table, Text
from sqlalchemy.dialects.postgresql import TSVECTOR

from tradewind.live.store.tables.columns import metadata, number

tenants = Table(
    "tenants",
    metadata,
    Column("name", Text, nullable=False),
    number("budget", nullable=True),
    number("interval"),
    Column("weight", Float(53), nullable=False),
    number("max_active_runs", nullable=True),
    number("max_tasks", nullable=True),
    number("created"),
    number("max_machines", nullable=True),
    PrimaryKeyConstraint("name", name="tenants_key"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("tenant", Text),
    Column("role", Text, nullable=False),
    number("created"),
    number("expires", nullable=True),
    number("used", nullable=True),
    PrimaryKeyConstraint("id", name="tokens_key"),
)

agent_tokens = Table(
    "agent_tokens",
    metadata,
    Column("id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("tenants", Text, nullable=False),
    Column("owner", Text),
    number("created"),
    number("expires", nullable=True),
    PrimaryKeyConstraint("id", name="agent_tokens_key"),
)

audit = Table(
    "audit",
    metadata,
    number("number"),
    number("at"),
    Column("token", Text),
    Column("tenant", Text),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    number("outcome"),
    Column("address", Text, nullable=False),
    PrimaryKeyConstraint("number", name="audit_key"),
)

keys = Table(
    "keys",
    metadata,
    Column("tenant", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", Text, nullable=False),
    number("run"),
    number("at"),
    PrimaryKeyConstraint("tenant", "key", name="keys_key"),
)

tallies = Table(
    "tallies",
    metadata,
    number("run"),
    Column("counts", Text, nullable=False),
    PrimaryKeyConstraint("run", name="tallies_key"),
)


FULL_TEXT = "tokenize = \"ascii tokenchars '_:'\", detail = none, columnsize = 0"
"""Words come ready-made (see `words`), each with a letter that says what it is; where they stand does not matter."""


def _words(table: str) -> Table:
    """What is found by words: in PostgreSQL a vector of lexemes, in SQLite a full-text table of the same columns."""
    made = Table(
        table,
        metadata,
        number("number"),
        number("run"),
        Column("words", TSVECTOR, nullable=False),
        PrimaryKeyConstraint("number", name=f"{table}_key"),
        info={"sqlite": f"CREATE VIRTUAL TABLE {table} USING fts5(words, run UNINDEXED, {FULL_TEXT})"},
    )
    Index(f"{table}_found", made.c.words, postgresql_using="gin")
    Index(f"{table}_run", made.c.run)
    return made


run_words = _words("run_words")
task_words = _words("task_words")
