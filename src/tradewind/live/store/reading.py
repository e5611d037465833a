"""What people ask of a store: lists, one run, the log; on connections of its own, beside the one that writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from sqlite3 import Connection as SqliteConnection
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError

from tradewind.live.store import coding, queries
from tradewind.live.store.coding import Record
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.live.store.port import RunDetail
from tradewind.live.store.rows import AttemptRow, RunHead
from tradewind.model.units import Time

_PAGE = 64
"""Batches of the log that are held in memory at once."""


class Reader:
    """Answers questions, each as of one instant."""

    def __init__(self, url: str) -> None:
        self._engine = connectable(url)
        if self._engine.dialect.name == "sqlite":
            event.listen(self._engine, "begin", _begin)
        else:
            self._engine = self._engine.execution_options(isolation_level="REPEATABLE READ")

    def runs(self, tenant: str | None, status: str | None, limit: int) -> list[RunHead]:
        """The latest runs, newest first."""
        with self._connected() as connection:
            heads = connection.execute(queries.latest_runs(tenant, status, limit)).all()
            counts: dict[int, dict[int, int]] = {head.number: {} for head in heads}
            for run, state, count in connection.execute(queries.counts_of_units(list(counts))):
                counts[run][state] = count
        return [RunHead._make((*head, counts[head.number])) for head in heads]

    def run(self, id: str) -> RunDetail | None:
        """A run by its id."""
        with self._connected() as connection:
            found = connection.execute(queries.run_by_id(id)).one_or_none()
            if found is None:
                return None
            run = coding.run_row(tuple(found))
            units = connection.execute(queries.units_of_run(run.number))
            attempts = connection.execute(queries.attempts_of_run(run.number))
            notes = connection.execute(queries.notes_of_run(run.number))
            return RunDetail(
                run,
                [coding.unit_row(tuple(row)) for row in units],
                [AttemptRow(*row) for row in attempts],
                coding.values_of(tuple(row) for row in notes),
            )

    def log(self, run: int | None) -> Iterator[Record]:
        """The log of a run, or of everything, a page at a time, so that nobody has to wait for a slow reader."""
        if run is None:
            for _, payload in self._batches(None):
                yield from coding.unpack(payload)
            return
        with self._connected() as connection:
            life = connection.execute(queries.life_of_run(run)).one_or_none()
        if life is not None:
            yield from coding.records_of(run, life.ended, self._batches(life.submitted))

    def _batches(self, since: Time | None) -> Iterator[tuple[Time, bytes]]:
        after = -1
        while True:
            with self._connected() as connection:
                page = connection.execute(queries.log_page(after, since, _PAGE)).all()
            for first, at, payload in page:
                after = first
                yield at, payload
            if len(page) < _PAGE:
                return

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise StoreUnavailableError(f"the store cannot be read ({error.orig}); try again later") from error

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def connectable(url: str) -> Engine:
    """An engine for a database whose connections leave the beginning of transactions to SQLAlchemy."""
    file = url.removeprefix("sqlite:///")
    made = URL.create("sqlite", database=file) if file != url else make_url(url)  # any character may be in a path
    engine = create_engine(made, pool_pre_ping=True)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _hand_over)
    return engine


def _hand_over(connection: SqliteConnection, _record: Any) -> None:
    connection.isolation_level = None  # the driver would begin transactions of its own, and not around every statement


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")
