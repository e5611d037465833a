"""Connections that only read, for many threads at once, beside the one that writes.

What a server is asked thousands of times a second goes through here as plain SQL; SQLAlchemy would take longer to word
a question than a database to answer it.
"""

import sqlite3
from collections import deque
from typing import Any, Protocol

from tradewind.live.store.errors import StoreUnavailableError
from tradewind.live.store.statements import Rows

_KEPT = 16
"""Connections kept open while nobody uses them."""

_LAST_VALUES = 8 << 20
"""Bytes of the file that each SQLite connection maps or caches."""


class _Connection(Protocol):
    def fetch(self, statement: str, values: dict[str, Any]) -> Rows: ...

    def close(self) -> None: ...


class Readers:
    """Answers questions, each as of one instant; any thread may ask."""

    def __init__(self, url: str) -> None:
        self.is_sqlite = url.startswith("sqlite:")
        self._url = url
        self._idle: deque[_Connection] = deque()

    def fetch(self, statement: str, **values: Any) -> Rows:
        """The rows that a statement gives."""
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._opened()
        try:
            rows = connection.fetch(statement, values)
        except Exception as error:
            connection.close()
            self._drain()  # what broke this one has most likely broken the others
            if isinstance(error, _errors()):
                raise StoreUnavailableError(f"the store cannot be read ({error}); try again later") from error
            raise
        if len(self._idle) < _KEPT:
            self._idle.append(connection)
        else:
            connection.close()
        return rows

    def _opened(self) -> _Connection:
        try:
            return _Sqlite(self._url.removeprefix("sqlite:///")) if self.is_sqlite else _postgres(self._url)
        except _errors() as error:
            raise StoreUnavailableError(f"the store cannot be read ({error}); try again later") from error

    def _drain(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def close(self) -> None:
        """Let go of all connections."""
        self._drain()


class _Sqlite:
    def __init__(self, file: str) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=10)
        self._connection.execute("PRAGMA query_only = 1")
        self._connection.execute(f"PRAGMA cache_size = -{_LAST_VALUES >> 10}")

    def fetch(self, statement: str, values: dict[str, Any]) -> Rows:
        return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        self._connection.close()


def _postgres(url: str) -> _Connection:
    from tradewind.live.store.postgres import PostgresReader  # noqa: PLC0415  not everybody has psycopg

    return PostgresReader(url)


def _errors() -> tuple[type[Exception], ...]:
    try:
        from psycopg import OperationalError  # noqa: PLC0415
    except ImportError:
        return (sqlite3.OperationalError,)
    return (sqlite3.OperationalError, OperationalError)
