"""Every statement that starts, changes or guards the store, named and described.

They are plain SQL that SQLite and PostgreSQL both understand, because importing SQLAlchemy takes a quarter of a second,
half of what `tradewind run` may take until its first task starts. What people ask of a store is in `queries`, the
tables are in `tables`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from tradewind.live.store.rows import (
    AttemptRow,
    CacheRow,
    ChargeRow,
    DeliveryRow,
    DigestRow,
    KeyRow,
    LogRow,
    MachineRow,
    RunRow,
    UnitChange,
    UnitRow,
)

Column: TypeAlias = tuple[str, str]
"""Name, and type in PostgreSQL."""

RECALLED = 64
"""Keys that are looked up at once."""

_INT, _TEXT, _BYTES, _FLOAT = "int8", "text", "bytea", "float8"
_KINDS: dict[Any, str] = {
    int: _INT,
    int | None: _INT,
    bool: "bool",
    float: _FLOAT,
    str: _TEXT,
    Any: _TEXT,
    Any | None: _TEXT,
    bytes: _BYTES,
    bytes | None: _BYTES,
}


class Write(NamedTuple):
    """Rows of one shape, written by one prepared statement; each database words it in its own way."""

    table: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    is_update: bool = False
    """Whether the rows must be there already."""
    keeps_larger: bool = False
    """Whether what is there stays if it is larger than what is written."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns' names."""
        return tuple(name for name, _ in self.columns)

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are not part of the key."""
        return tuple(name for name in self.names if name not in self.key)

    def conflict(self) -> str:
        """What happens to a row that is there already: it is overwritten, so that a batch may be saved again."""
        if self.keeps_larger:
            (name,) = self.values
            old, new = f"{self.table}.{name}", f"excluded.{name}"
            sets = f"{name} = CASE WHEN {new} > {old} THEN {new} ELSE {old} END"
        else:
            sets = ", ".join(f"{name} = excluded.{name}" for name in self.values)
        return f"ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {sets}"


def _columns(row: type, names: Iterable[str] | None = None) -> tuple[Column, ...]:
    hints = get_type_hints(row)
    return tuple((name, _KINDS[hints[name]]) for name in names or hints)


# Saving

HEAD = ("number", "id", "name", "tenant", "priority", "deadline", "submitted", "ended", "status")

NEW_RUNS = Write("runs", _columns(RunRow, HEAD), key=("number",))
"""Runs, without what is large: SQLite writes a whole row anew whenever a part of it changes."""

NEW_DOCUMENTS = Write("documents", (("run", _INT), ("parameters", _TEXT), ("document", _BYTES)), key=("run",))
"""What runs were made from."""

GENERATORS = Write("generators", (("run", _INT), ("state", _TEXT)), key=("run",))
"""Saved states of chain generators, new or changed."""

RUNS = Write(
    "runs", _columns(RunRow, ("number", "priority", "deadline", "ended", "status")), key=("number",), is_update=True
)
"""How runs stand now."""

NEW_UNITS = Write("units", _columns(UnitRow), key=("run", "number"))
"""Units as they came to be. Their key is led by the run, so that those of a run are found without a second index."""

UNITS = Write("units", _columns(UnitChange), key=("run", "number"), is_update=True)
"""How units stand now: the hottest statement of all."""

MACHINES = Write("machines", _columns(MachineRow), key=("number",))
"""Machines, new or changed."""

CHARGES = Write("charges", _columns(ChargeRow), key=("number",))
"""Charges and refunds."""

ATTEMPTS = Write("attempts", _columns(AttemptRow), key=("run", "unit", "attempt"))
"""Attempts that have ended."""

CACHE = Write("cache", _columns(CacheRow), key=("tenant", "key"))
"""What calls gave, new or used again."""

DIGESTS = Write("digests", _columns(DigestRow), key=("path",))
"""Digests of large files."""

DELIVERIES = Write("share_deliveries", _columns(DeliveryRow), key=("run", "unit", "share", "attempt", "number"))
"""What shares of elastic units have delivered."""

VOIDED = Write(
    "share_deliveries",
    _columns(DeliveryRow, ("run", "unit", "share", "attempt", "number", "result")),
    key=("run", "unit", "share", "attempt", "number"),
    is_update=True,
)
"""Deliveries whose results a checkpoint has taken the place of."""

LOG = Write("log", _columns(LogRow), key=("first",))
"""Batches of the log."""

MEMORIES = Write("memories", (("policy", _TEXT), ("state", _TEXT)), key=("policy",))
"""What policies remember."""

NOTES = Write("notes", (("name", _TEXT), ("value", _TEXT)), key=("name",))
"""What else the driver wants to find again."""

KEYS = Write("keys", _columns(KeyRow), key=("tenant", "key"))
"""Under which keys work was handed in, so that handing it in again finds the same run."""

COUNTERS = Write("counters", (("name", _TEXT), ("next", _INT)), key=("name",), keeps_larger=True)
"""Numbers never used so far; they only grow, so that pruning gives no number free again."""

# Loading

ACTIVE_RUNS = """
    SELECT number, id, name, tenant, priority, deadline, submitted, ended, status, parameters, state, document
    FROM runs JOIN documents ON documents.run = number LEFT JOIN generators ON generators.run = number
    WHERE ended IS NULL ORDER BY number
"""
"""Runs that go on; an index holds just these."""

ACTIVE_UNITS = """
    SELECT run, number, chain, tasks, state, attempt, failures, lost, machine, started, ended, results, message,
        preempted, progress
    FROM units WHERE run IN (SELECT number FROM runs WHERE ended IS NULL) ORDER BY run, number
"""
"""All units of runs that go on."""

HELD_MACHINES = """
    SELECT number, kind, tenant, state, acquired, expected, paid_until, released, because, size, joined
    FROM machines WHERE released IS NULL ORDER BY number
"""
"""Machines that are paid for."""

RECENT_CHARGES = "SELECT number, machine, tenant, at, amount, refund FROM charges WHERE at >= :since ORDER BY number"
"""Charges that may still count against a budget."""

SPENT = "SELECT tenant, refund, CAST(SUM(amount) AS BIGINT) FROM charges GROUP BY tenant, refund"
"""What each tenant was charged and paid back, as far as it was not pruned."""

CARRIED = "SELECT tenant, charged, refunded FROM carried"
"""What each tenant was charged and paid back by charges that were pruned."""

ALL_MEMORIES = "SELECT policy, state FROM memories ORDER BY policy"
"""What policies remember."""

NOTE = "SELECT value FROM notes WHERE name = :name"
ALL_NOTES = "SELECT name, value FROM notes ORDER BY name"
"""What else the driver wants to find again."""

ALL_COUNTERS = "SELECT name, next FROM counters"
"""Numbers never used so far."""

AFTER_LOG = "SELECT last + 1 FROM log ORDER BY first DESC LIMIT 1"
"""The number after the last in the log, which is not counted apart: every batch would have to."""

DELIVERED = """
    SELECT run, unit, share, attempt, number, at, ranges, checkpoint, result FROM share_deliveries
    WHERE run = :run AND unit = :unit AND result <> '' AND (share > :share OR (share = :share AND
        (attempt > :attempt OR (attempt = :attempt AND number > :number))))
    ORDER BY share, attempt, number LIMIT :limit
"""
"""What counts of the deliveries of an elastic unit, a page at a time."""

# The cache

_CACHED = f"SELECT {', '.join(CACHE.names)} FROM cache"  # noqa: S608  names of our own

RECALL = f"{_CACHED} WHERE tenant = :tenant AND key IN ({', '.join(f':key{at}' for at in range(RECALLED))})"
"""What calls gave a tenant, by as many keys as are asked for at once; where there are fewer, one is given again."""

ALL_CACHED = (
    f"{_CACHED} WHERE (:tenant = '' OR tenant = :tenant) AND substr(step, 1, :length) = :step"
    " ORDER BY used DESC, tenant, key LIMIT :most"
)
"""The latest of the cache, of a tenant or of all, and of steps whose names begin with something."""

FORGET_CACHED = (
    "DELETE FROM cache WHERE used < :before AND (:tenant = '' OR tenant = :tenant) AND substr(step, 1, :length) = :step"
)
"""Remove what nobody has used since a time."""

DIGEST = "SELECT path, size, modified, digest FROM digests WHERE path = :path"
"""What is known of a file."""

# Leading

TAKE_LEASE = """
    INSERT INTO leases (name, holder, token, until) VALUES (:name, :holder, 1, :until)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = leases.token + 1, until = excluded.until
    WHERE leases.until <= :now OR leases.holder = excluded.holder RETURNING token
"""
"""Give out a newer token if the present one has expired; no row: it has not."""

RENEW_LEASE = "UPDATE leases SET until = :until WHERE name = :name AND token = :token RETURNING token"
"""Make a token valid for longer; no row: there is a newer one."""

NEWEST_LEASE = "SELECT token FROM leases WHERE name = :name"
"""The token that may write. PostgreSQL locks the row until the batch is in, so that a new leader waits for it."""

# Pruning

OLD_RUNS = """
    SELECT number FROM runs WHERE ended < :before AND number NOT IN
    (SELECT number FROM runs WHERE ended IS NOT NULL ORDER BY number DESC LIMIT :keep) ORDER BY number
"""
"""Runs that ended before a time and are not among the newest."""

FORGET_RUN = tuple(
    f"DELETE FROM {table} WHERE {column} = :run"  # noqa: S608  names of our own
    for table, column in (
        *(("attempts", "run"), ("generators", "run"), ("documents", "run"), ("runs", "number")),
        *(("keys", "run"), ("tallies", "run"), ("share_deliveries", "run")),
    )
)
"""Remove a run, but for its units."""

FORGET_WORDS = (
    "DELETE FROM run_words WHERE {number} = :run",
    "DELETE FROM task_words WHERE {number} IN (SELECT number FROM units WHERE run = :run)",
)
"""Remove by which words a run and its units are found; each database has its own name for the numbers of rows."""

FORGET_UNITS = "DELETE FROM units WHERE run = :run"
"""Remove the units of a run."""

OLDEST_SUBMISSION = "SELECT MIN(submitted) FROM runs"
"""Where the history of what is left begins."""

FORGET_MACHINES = "DELETE FROM machines WHERE released < :horizon"
"""Remove machines given back before a time."""

CARRY = """
    INSERT INTO carried (tenant, charged, refunded)
    SELECT tenant, SUM(CASE WHEN refund THEN 0 ELSE amount END), SUM(CASE WHEN refund THEN amount ELSE 0 END)
    FROM charges WHERE at < :horizon GROUP BY tenant
    ON CONFLICT (tenant) DO UPDATE
    SET charged = carried.charged + excluded.charged, refunded = carried.refunded + excluded.refunded
"""
"""Add charges that are about to be removed to the sums that stay."""

FORGET_CHARGES = "DELETE FROM charges WHERE at < :horizon"
"""Remove charges older than a time."""

FORGET_LOG = "DELETE FROM log WHERE at < :horizon"
"""Remove batches of the log older than a time."""

Rows: TypeAlias = Sequence[Any]
"""Rows of plain values, each a sequence in the order of the columns."""
