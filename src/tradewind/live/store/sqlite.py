"""SQLite: one file, one writer, readers beside it (write-ahead log).

The writing connection stays open. `strict` syncs the log with every commit, `relaxed` only when it is folded back into
the file; see `tradewind.live.store.port.Durability` for what that can lose. The file must lie on a local disk: the log
needs shared memory, which network file systems do not have.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from tradewind.live.privacy import private_file, private_folder
from tradewind.live.store import schema
from tradewind.live.store.errors import StoreError, StoreUnavailableError
from tradewind.live.store.port import Durability
from tradewind.live.store.statements import NEWEST_LEASE, Rows, Write
from tradewind.model.units import SECOND, Duration, show_duration

T = TypeVar("T")

_SETTINGS = (
    "journal_mode = WAL",
    "cache_size = -65536",  # 64 MB, so that updates find their pages
    "wal_autocheckpoint = 4000",  # pages; one that changes often is folded back into the file only once
)
_SYNCHRONOUS = {"strict": "FULL", "relaxed": "NORMAL"}
_TRANSIENT = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "it cannot be written; make the file and its folder writable",
    sqlite3.SQLITE_IOERR: "the disk fails; check it, and that the file lies on a local one",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that its folder exists and may be written",
}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_FOREIGN = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


class SqliteSession:
    """The one connection of this process that writes to a file."""

    number = "rowid"

    def __init__(self, path: Path, durability: Durability, patience: Duration) -> None:
        self.path = path.absolute()
        self.url = f"sqlite:///{self.path}"
        self._durability = durability
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)
        self.on_outage: Callable[[str], None] = lambda _: None
        self.trouble = ""
        try:
            self._guarded(self._prepare)
        except BaseException:
            self.close()
            raise

    def transact(self, work: Callable[[], T]) -> T:
        """Do some work while nobody else writes."""
        return self._guarded(lambda: self._run("BEGIN IMMEDIATE", work))

    def snapshot(self, work: Callable[[], T]) -> T:
        """Do some reading as of one instant."""
        return self._guarded(lambda: self._run("BEGIN", work))

    def fetch(self, statement: str, **values: Any) -> Rows:
        """The rows that a statement gives."""
        return self._open().execute(statement, values).fetchall()

    def change(self, statement: str, **values: Any) -> int:
        """How many rows a statement has changed."""
        return self._open().execute(statement, values).rowcount

    def write(self, write: Write, rows: Rows) -> int:
        """How many rows have been written."""
        return self._open().executemany(_worded(write), rows).rowcount

    def write_words(self, table: str, rows: Sequence[tuple[int, int, Sequence[str]]]) -> None:
        """Write by which words things are found."""
        statement = f"INSERT OR REPLACE INTO {table} (rowid, run, words) VALUES (?, ?, ?)"  # noqa: S608
        self._open().executemany(statement, [(number, run, " ".join(words)) for number, run, words in rows])

    def newest_token(self, name: str) -> int | None:
        """The token that may write; as nobody else writes, it stays so."""
        rows = self.fetch(NEWEST_LEASE, name=name)
        return rows[0][0] if rows else None

    def close(self) -> None:
        """Fold the log back into the file, if nobody else uses it, and let go of it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _prepare(self) -> None:
        private_folder(self.path.parent)
        for end in ("", "-wal", "-shm"):  # those that are made later get the mode of the first
            if not end or Path(f"{self.path}{end}").exists():
                private_file(Path(f"{self.path}{end}"))
        connection = self._open()
        if not schema.is_current(self._version(), str(self.path)):
            self._run("BEGIN IMMEDIATE", lambda: self._create(connection))
            if not schema.is_current(self._version(), str(self.path)):
                schema.upgrade(self.url, str(self.path))

    def _version(self) -> str | None:
        try:
            rows = self.fetch(schema.VERSION)
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise
        return rows[0][0] if rows else None

    def _create(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new store; another process may have done so in the meantime."""
        if self._version() is not None:
            return
        for statement in schema.sqlite_script():
            connection.execute(statement)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(
                self.path, timeout=self._patience / SECOND, isolation_level=None, check_same_thread=False
            )
            try:
                self._check_ours(connection)
                for setting in (*_SETTINGS, f"synchronous = {_SYNCHRONOUS[self._durability]}"):
                    connection.execute(f"PRAGMA {setting}")
                status = self.path.stat()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._identity = (status.st_dev, status.st_ino)
        return self._connection

    def _check_ours(self, connection: sqlite3.Connection) -> None:
        """Nothing is done to a database that has tables, but none of ours."""
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if names and schema.TABLE not in names:
            raise StoreError(f"{self.path}: a database of something else; choose another file for the store")

    def _run(self, begin: str, work: Callable[[], T]) -> T:
        connection = self._open()
        self._check_identity()
        connection.execute(begin)
        try:
            result = work()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with suppress(sqlite3.Error):  # the first error tells more
                    connection.execute("ROLLBACK")
            raise
        return result

    def _check_identity(self) -> None:
        """A file that was removed can still be written, but nobody would ever find it again."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            status = None
        if status is None or (status.st_dev, status.st_ino) != self._identity:
            self.close()
            raise StoreError(
                f"{self.path}: the store was removed or replaced while in use; put it back and start again"
            )

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _BUSY:
                waited = show_duration(self._patience)
                reason = f"another process has been writing for {waited}; wait for it, or end it"
                raise StoreUnavailableError(f"{self.path}: {reason}") from error
            with suppress(sqlite3.Error):
                self.close()  # what is wrong with the connection may not be wrong with the next one
            if code in _TRANSIENT:
                raise StoreUnavailableError(f"{self.path}: {_TRANSIENT[code]} ({error})") from error
            if code in _FOREIGN:
                reason = "not a Tradewind store, or damaged; choose another file, or put back a copy"
                raise StoreError(f"{self.path}: {reason} ({error})") from error
            raise StoreError(f"{self.path}: {error}") from error
        except OSError as error:
            raise StoreUnavailableError(f"{self.path}: {error.strerror}; check the folder") from error


@cache
def _worded(write: Write) -> str:
    if write.is_update:
        place = {name: f"?{index}" for index, name in enumerate(write.names, start=1)}
        sets = ", ".join(f"{name} = {place[name]}" for name in write.values)
        return f"UPDATE {write.table} SET {sets} WHERE {' AND '.join(f'{name} = {place[name]}' for name in write.key)}"  # noqa: S608
    marks = ", ".join("?" for _ in write.columns)
    return f"INSERT INTO {write.table} ({', '.join(write.names)}) VALUES ({marks}) {write.conflict()}"  # noqa: S608
