"""The store over a database: the verbs, in terms of sessions that know how SQLite and PostgreSQL differ.

One session writes; what people ask goes through SQLAlchemy on connections of its own, so that neither waits for the
other. See `statements` and `queries` for what is sent.
"""

from collections.abc import Callable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tradewind.live.store import coding, statements
from tradewind.live.store.coding import Record
from tradewind.live.store.errors import LostLeaseError, UnknownRowError
from tradewind.live.store.port import Changes, Lease, Numbers, Pruned, RunDetail, Saved, Spent
from tradewind.live.store.rows import ChargeRow, MachineRow, RunHead
from tradewind.live.store.statements import Rows, Write
from tradewind.model.units import DAY, Duration, Time

if TYPE_CHECKING:
    from tradewind.live.store.reading import Reader

T = TypeVar("T")


class Session(Protocol):
    """A connection that writes, opened anew by itself when it breaks."""

    url: str
    """Where SQLAlchemy finds the same database."""

    def transact(self, work: Callable[[], T]) -> T:
        """Do some work in one transaction that excludes other writers of the same rows; it may be done again."""

    def snapshot(self, work: Callable[[], T]) -> T:
        """Do some reading as of one instant; it may be done again."""

    def fetch(self, statement: str, **values: Any) -> Rows:
        """The rows that a statement gives."""

    def change(self, statement: str, **values: Any) -> int:
        """How many rows a statement has changed."""

    def write(self, write: Write, rows: Rows) -> int:
        """How many rows have been written."""

    def newest_token(self, name: str) -> int | None:
        """The token that may write, and that stays the newest until the transaction ends."""

    def close(self) -> None:
        """Let go of the connection."""


class SqlStore:
    """Keeps everything in a database."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = RLock()
        self._reader: Reader | None = None

    def save(self, changes: Changes, lease: Lease | None = None) -> None:
        """Write a batch in one transaction."""
        with self._lock:
            batch = list(_writes(changes))  # made once, however often the session has to try
            self._session.transact(lambda: self._save(batch, lease))

    def _save(self, batch: list[tuple[Write, Rows]], lease: Lease | None) -> None:
        session = self._session
        if lease is not None and session.newest_token(lease.name) != lease.token:
            raise LostLeaseError(f"another process leads {lease.name!r} by now; stop this one")
        for write, rows in batch:
            if session.write(write, rows) != len(rows) and write.is_update:
                raise UnknownRowError(
                    f"a batch changes rows of {write.table!r} that were never saved, or one of them twice; "
                    "this is a defect: please report it"
                )

    def load(self, *, charges_since: Time = 0) -> Saved:
        """All that is active, as of one instant."""
        with self._lock:
            return self._session.snapshot(lambda: self._load(charges_since))

    def _load(self, charges_since: Time) -> Saved:
        fetch = self._session.fetch
        spent = {tenant: Spent(*sums) for tenant, *sums in fetch(statements.CARRIED)}
        for tenant, is_refund, amount in fetch(statements.SPENT):
            charged, refunded = spent.get(tenant, Spent())
            spent[tenant] = Spent(charged, refunded + amount) if is_refund else Spent(charged + amount, refunded)
        return Saved(
            runs=[coding.run_row(row) for row in fetch(statements.ACTIVE_RUNS)],
            units=[coding.unit_row(row) for row in fetch(statements.ACTIVE_UNITS)],
            machines=[MachineRow(*row) for row in fetch(statements.HELD_MACHINES)],
            charges=[
                ChargeRow._make((*row[:5], bool(row[5])))
                for row in fetch(statements.RECENT_CHARGES, since=charges_since)
            ],
            spent=dict(sorted(spent.items())),
            memories=coding.values_of(fetch(statements.ALL_MEMORIES)),
            notes=coding.values_of(fetch(statements.ALL_NOTES)),
            next=Numbers(**dict(fetch(statements.ALL_COUNTERS))),
        )

    def runs(self, *, tenant: str | None = None, status: str | None = None, limit: int = 100) -> list[RunHead]:
        """The latest runs, newest first."""
        return self._ask().runs(tenant, status, limit)

    def run(self, id: str) -> RunDetail | None:
        """A run by its id."""
        return self._ask().run(id)

    def log(self, run: int | None = None) -> Iterator[Record]:
        """The log of a run, or of everything, read batch by batch."""
        return self._ask().log(run)

    def _ask(self) -> "Reader":
        from tradewind.live.store.reading import Reader  # noqa: PLC0415  SQLAlchemy takes a quarter of a second

        with self._lock:
            if self._reader is None:
                self._reader = Reader(self._session.url)
            return self._reader

    def prune(self, *, before: Time, keep: int = 0, interval: Duration = DAY) -> Pruned:
        """Forget runs that ended before a time; one transaction for each, so that nobody waits for long."""
        session = self._session
        with self._lock:
            gone = [
                run for (run,) in session.snapshot(lambda: session.fetch(statements.OLD_RUNS, before=before, keep=keep))
            ]
        units = 0
        for run in gone:
            with self._lock:
                units += session.transact(lambda run=run: self._forget(run))  # type: ignore[misc]  # bound at once
        with self._lock:
            machines, charges, batches = session.transact(lambda: self._forget_history(before, interval))
        return Pruned(len(gone), units, machines, charges, batches)

    def _forget(self, run: int) -> int:
        for statement in statements.FORGET_RUN:
            self._session.change(statement, run=run)
        return self._session.change(statements.FORGET_UNITS, run=run)

    def _forget_history(self, before: Time, interval: Duration) -> tuple[int, int, int]:
        session = self._session
        ((oldest,),) = session.fetch(statements.OLDEST_SUBMISSION)
        horizon = before if oldest is None else min(before, oldest)
        session.change(statements.CARRY, horizon=horizon - interval)
        return (
            session.change(statements.FORGET_MACHINES, horizon=horizon),
            session.change(statements.FORGET_CHARGES, horizon=horizon - interval),
            session.change(statements.FORGET_LOG, horizon=horizon),
        )

    def take_lease(self, name: str, holder: str, until: Time, now: Time) -> Lease | None:
        """Become the leader if nobody else is at this time."""
        session = self._session
        with self._lock:
            rows = session.transact(
                lambda: session.fetch(statements.TAKE_LEASE, name=name, holder=holder, until=until, now=now)
            )
        return Lease(name, rows[0][0]) if rows else None

    def renew_lease(self, lease: Lease, until: Time) -> bool:
        """Stay the leader for longer."""
        session = self._session
        with self._lock:
            return bool(session.transact(lambda: session.fetch(statements.RENEW_LEASE, **lease._asdict(), until=until)))

    def drop_lease(self, lease: Lease) -> None:
        """Let somebody else lead at once."""
        self.renew_lease(lease, 0)

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            self._session.close()


def _writes(changes: Changes) -> Iterator[tuple[Write, Rows]]:
    """The rows of a batch as they are stored, in the order of writing."""
    new_runs = [coding.plain_run(row) for row in changes.new_runs]
    runs = [coding.plain_run_change(row) for row in changes.runs]
    generators = {row[0]: row[10] for row in new_runs if row[10] is not None}
    generators |= {row[0]: row[5] for row in runs if row[5] is not None}
    used = zip(Numbers._fields, changes.used(), strict=True)
    everything: tuple[tuple[Write, Rows], ...] = (
        (statements.NEW_RUNS, [row[:9] for row in new_runs]),
        (statements.NEW_DOCUMENTS, [(row[0], row[9], row[11]) for row in new_runs]),
        (statements.RUNS, [row[:5] for row in runs]),
        (statements.GENERATORS, list(generators.items())),
        (statements.NEW_UNITS, coding.plain_units(changes.new_units)),
        (statements.UNITS, coding.plain_unit_changes(changes.units)),
        (statements.MACHINES, [coding.plain_machine(row) for row in changes.machines]),
        (statements.CHARGES, changes.charges),
        (statements.ATTEMPTS, [coding.plain_attempt(row) for row in changes.attempts]),
        (statements.LOG, changes.log),
        (statements.MEMORIES, [(name, coding.to_text(value)) for name, value in changes.memories.items()]),
        (statements.NOTES, [(name, coding.to_text(value)) for name, value in changes.notes.items()]),
        (statements.COUNTERS, [(name, number) for name, number in used if number]),
    )
    return ((write, rows) for write, rows in everything if rows)
