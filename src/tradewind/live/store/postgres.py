"""PostgreSQL, through psycopg: rows travel as one array for each column, and one statement takes them all.

That costs a third of sending statement after statement. Arrays are written as text by hand, which is six times as fast
as psycopg does it. The planner is told to look rows up by their key: left alone it would, with fresh tables, read all
of them for every batch. A connection that breaks is opened again, with growing pauses, until `patience` is over.
"""

import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import errors as sqlstates
from psycopg.conninfo import conninfo_to_dict

from tradewind.live.store import schema
from tradewind.live.store.errors import StoreError, StoreUnavailableError
from tradewind.live.store.port import Durability
from tradewind.live.store.statements import NEWEST_LEASE, Rows, Write
from tradewind.model.units import SECOND, Duration, show_duration

T = TypeVar("T")

_AT_ONCE = 5_000
"""Rows that one statement takes; more gain nothing."""

_NAME = re.compile(r"(?<!:):(\w+)")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds between two attempts to reach the server."""

_KEEPALIVE = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "application_name": "tradewind",
}
"""A cut network is noticed within half a minute."""

_SETTINGS: LiteralString = """
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '5s';
"""
"""The last one ends the transaction of a leader that is frozen, for which a new leader would have to wait."""

_SNAPSHOT: LiteralString = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0"
)
"""Nobody waits for who only reads, and reading a large store takes a while."""

_SYNCHRONOUS: dict[str, LiteralString] = {
    "strict": "SET synchronous_commit = on",
    "relaxed": "SET synchronous_commit = off",
}
_PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    sqlstates.ReadOnlySqlTransaction,  # the server has become a stand-by
    sqlstates.IdleInTransactionSessionTimeout,
)
_WILL_PASS = ("starting up", "shutting down", "recovery", "not accepting", "too many", "remaining connection slots")


class PostgresSession:
    """The one connection of this process that writes to a database."""

    number = "number"

    def __init__(self, url: str, durability: Durability, patience: Duration) -> None:
        self.url = url.replace("postgresql:", "postgresql+psycopg:", 1)
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            raise StoreError(f"not an address of a database, postgresql://USER@HOST/DATABASE: {error}") from None
        self._where = f"PostgreSQL database {given.get('dbname', '')!r} on {given.get('host', 'this host')}"
        self._parameters = _KEEPALIVE | {name: str(value) for name, value in given.items() if value is not None}
        self._durability = durability
        self._patience = patience
        self.on_outage: Callable[[str], None] = lambda _: None
        self.trouble = ""
        self._away_since = 0.0
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        try:
            if not schema.is_current(self._patiently(self._version, is_opening=True), self._where):
                schema.upgrade(self.url, self._where)
        except BaseException:
            self.close()
            raise

    def transact(self, work: Callable[[], T]) -> T:
        """Do some work in one transaction, again and again until the server has taken it."""
        return self._patiently(lambda: self._run("BEGIN", work))

    def snapshot(self, work: Callable[[], T]) -> T:
        """Do some reading as of one instant."""
        return self._patiently(lambda: self._run(_SNAPSHOT, work))

    def fetch(self, statement: str, **values: Any) -> Rows:
        """The rows that a statement gives."""
        return self._open().execute(_worded_named(statement), values).fetchall()

    def change(self, statement: str, **values: Any) -> int:
        """How many rows a statement has changed."""
        return self._open().execute(_worded_named(statement), values).rowcount

    def write(self, write: Write, rows: Rows) -> int:
        """How many rows have been written."""
        connection = self._open()
        statement = _worded(write)
        written = 0
        for start in range(0, len(rows), _AT_ONCE):
            columns = zip(*rows[start : start + _AT_ONCE], strict=True)
            arrays = [_ARRAYS[kind](values) for (_, kind), values in zip(write.columns, columns, strict=True)]
            written += connection.execute(statement, arrays, prepare=True).rowcount
        return written

    def write_words(self, table: str, rows: Sequence[tuple[int, int, Sequence[str]]]) -> None:
        """Write by which words things are found."""
        write = Write(table, (("number", "int8"), ("run", "int8"), ("words", "tsvector")), key=("number",))
        self.write(write, [(number, run, " ".join(f"'{word}'" for word in words)) for number, run, words in rows])

    def newest_token(self, name: str) -> int | None:
        """The token that may write; whoever wants to take the lease waits until the transaction ends."""
        rows = self.fetch(f"{NEWEST_LEASE} FOR SHARE", name=name)
        return rows[0][0] if rows else None

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _version(self) -> str | None:
        try:
            rows = self.fetch(schema.VERSION)
        except sqlstates.UndefinedTable:
            return None
        return rows[0][0] if rows else None

    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None:
            connection = psycopg.connect(**self._parameters, autocommit=True)  # type: ignore[arg-type]
            try:
                connection.execute(_SETTINGS)
                connection.execute(_SYNCHRONOUS[self._durability])
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _run(self, begin: LiteralString, work: Callable[[], T]) -> T:
        connection = self._open()
        connection.execute(begin)
        try:
            result = work()
            connection.execute("COMMIT")
        except BaseException:
            if not connection.closed:
                self._roll_back(connection)
            raise
        return result

    def _roll_back(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self.close()  # the server rolls back by itself; the first error tells more

    def _patiently(self, work: Callable[[], T], *, is_opening: bool = False) -> T:
        deadline = time.monotonic() + self._patience / SECOND
        pause = _FIRST_PAUSE
        while True:
            try:
                result = work()
            except _PASSING as error:
                self.close()
                reason = " ".join(str(error).split())
                if pause > _FIRST_PAUSE:
                    self._note_outage(reason)
                if is_opening and "FATAL" in reason and not any(sign in reason for sign in _WILL_PASS):
                    raise StoreError(f"{self._where} lets nobody in: {reason}; check the address") from error
                if time.monotonic() + pause > deadline:
                    raise StoreUnavailableError(
                        f"{self._where} could not be used for {show_duration(self._patience)}: {reason}; "
                        "check the server; nothing is lost"
                    ) from error
                time.sleep(pause)
                pause = min(_LONGEST_PAUSE, pause * 2)
            except psycopg.Error as error:
                raise StoreError(f"{self._where}: {error}") from error
            else:
                if self.trouble:
                    self._note_return()
                return result

    def _note_outage(self, reason: str) -> None:
        if not self.trouble:
            self._away_since = time.monotonic()
            self.trouble = f"{self._where} cannot be reached: {reason}"
            self.on_outage(f"{self.trouble}; trying again")

    def _note_return(self) -> None:
        self.trouble = ""
        away = show_duration(round((time.monotonic() - self._away_since) * SECOND))
        self.on_outage(f"{self._where} can be reached again, after {away}")


class PostgresReader:
    """A connection that answers questions, each statement as of one instant."""

    def __init__(self, url: str) -> None:
        parameters = _KEEPALIVE | {
            name: str(value)
            for name, value in conninfo_to_dict(url.replace("+psycopg", "", 1)).items()
            if value is not None
        }
        self._connection = psycopg.connect(**parameters, autocommit=True)  # type: ignore[arg-type]
        self._connection.execute("SET default_transaction_read_only = on; SET jit = off")

    def fetch(self, statement: str, values: dict[str, Any]) -> Rows:
        """The rows that a statement gives."""
        return self._connection.execute(_worded_named(statement), values, prepare=True).fetchall()

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()


@cache
def _worded(write: Write) -> LiteralString:
    arrays = ", ".join(f"%s::{kind}[]" for _, kind in write.columns)
    names = ", ".join(write.names)
    if write.is_update:
        sets = ", ".join(f"{name} = new.{name}" for name in write.values)
        same = " AND ".join(f"old.{name} = new.{name}" for name in write.key)
        text = f"UPDATE {write.table} AS old SET {sets} FROM unnest({arrays}) AS new ({names}) WHERE {same}"  # noqa: S608
    else:
        text = f"INSERT INTO {write.table} ({names}) SELECT * FROM unnest({arrays}) {write.conflict()}"  # noqa: S608
    return text


@cache
def _worded_named(statement: str) -> LiteralString:
    """Our statements write `:name`, psycopg `%(name)s`."""
    return _NAME.sub(r"%(\1)s", statement)


def _numbers(values: Sequence[Any]) -> str:
    return f"{{{','.join(map(str, values))}}}".replace("None", "NULL")


def _texts(values: Sequence[str | None]) -> str:
    return f"{{{','.join(['NULL' if value is None else _quoted(value) for value in values])}}}"


def _quoted(value: str) -> str:
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'


def _bytes(values: Sequence[bytes | None]) -> str:
    return f"{{{','.join(['NULL' if value is None else _hex(value) for value in values])}}}"


def _hex(value: bytes) -> str:
    return f'"\\\\x{value.hex()}"'


_ARRAYS: dict[str, Callable[[Any], str]] = {
    "int8": _numbers,
    "float8": _numbers,
    "bool": _numbers,
    "text": _texts,
    "tsvector": _texts,
    "bytea": _bytes,
}
