"""The store over a database: the verbs, in terms of sessions that know how SQLite and PostgreSQL differ.

One session writes; what people ask goes through SQLAlchemy on connections of its own, so that neither waits for the
other. See `statements` and `queries` for what is sent.
"""

from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tradewind.live.store import coding, statements
from tradewind.live.store.coding import Record
from tradewind.live.store.errors import LostLeaseError, UnknownRowError
from tradewind.live.store.port import Changes, Lease, Numbers, Pruned, RunDetail, Saved, Spent
from tradewind.live.store.rows import CacheRow, ChargeRow, DeliveryRow, DigestRow, RunHead
from tradewind.live.store.statements import Rows, Write
from tradewind.model.action import Json
from tradewind.model.units import DAY, Duration, Time

if TYPE_CHECKING:
    from tradewind.live.store.reading import Reader

T = TypeVar("T")

NEVER = 1 << 62
"""A time that never comes."""


class Session(Protocol):
    """A connection that writes, opened anew by itself when it breaks."""

    url: str
    """Where SQLAlchemy finds the same database."""
    number: str
    """What a full-text table calls the numbers of its rows."""
    on_outage: Callable[[str], None]
    """Told, in any thread, that the database cannot be reached, and that it can be again."""
    trouble: str
    """Why the database cannot be reached at present; empty: it can, as far as is known."""

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

    def write_words(self, table: str, rows: Sequence[tuple[int, int, Sequence[str]]]) -> None:
        """Write by which words things are found: number, run and words of each."""

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

    @property
    def trouble(self) -> str:
        """Why the database cannot be reached at present; empty: it can, as far as is known."""
        return self._session.trouble

    def watch(self, on_outage: Callable[[str], None]) -> None:
        """Have somebody told, in any thread, of the beginning and end of outages."""
        self._session.on_outage = on_outage

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
            machines=[coding.machine_row(row) for row in fetch(statements.HELD_MACHINES)],
            charges=[
                ChargeRow._make((*row[:5], bool(row[5])))
                for row in fetch(statements.RECENT_CHARGES, since=charges_since)
            ],
            spent=dict(sorted(spent.items())),
            memories=coding.values_of(fetch(statements.ALL_MEMORIES)),
            notes=coding.values_of(fetch(statements.ALL_NOTES)),
            next=self._numbers(),
        )

    def _numbers(self) -> Numbers:
        counted = Numbers(**dict(self._session.fetch(statements.ALL_COUNTERS)))
        return counted._replace(seq=max(counted.seq, self._after_log()))

    def _after_log(self) -> int:
        rows = self._session.fetch(statements.AFTER_LOG)
        return rows[0][0] if rows else 0

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

    def forget(self, run: int) -> None:
        """Forget one run that has ended."""
        self.transact(lambda _: self._forget(run))

    def _forget(self, run: int) -> int:
        for statement in statements.FORGET_WORDS:
            self._session.change(statement.format(number=self._session.number), run=run)
        for statement in statements.FORGET_RUN:
            self._session.change(statement, run=run)
        return self._session.change(statements.FORGET_UNITS, run=run)

    def _forget_history(self, before: Time, interval: Duration) -> tuple[int, int, int]:
        session = self._session
        ((oldest,),) = session.fetch(statements.OLDEST_SUBMISSION)
        horizon = before if oldest is None else min(before, oldest)
        session.change(statements.CARRY, horizon=horizon - interval)
        session.write(statements.COUNTERS, [("seq", self._after_log())])
        return (
            session.change(statements.FORGET_MACHINES, horizon=horizon),
            session.change(statements.FORGET_CHARGES, horizon=horizon - interval),
            session.change(statements.FORGET_LOG, horizon=horizon),
        )

    def deliveries(
        self, run: int, unit: int, *, after: tuple[int, int, int] = (-1, 0, 0), limit: int = 1_000
    ) -> list[DeliveryRow]:
        """What counts of the deliveries of an elastic unit, after some share, attempt and number."""
        share, attempt, number = after
        with self._lock:
            rows = self._fetch(
                statements.DELIVERED, run=run, unit=unit, share=share, attempt=attempt, number=number, limit=limit
            )
        return [coding.delivery_row(row) for row in rows]

    def recall(self, tenant: str, keys: Sequence[str]) -> dict[str, CacheRow]:
        """What calls gave a tenant before, by key."""
        found: dict[str, CacheRow] = {}
        size = statements.RECALLED
        with self._lock:
            for start in range(0, len(keys), size):
                some = list(keys[start : start + size])
                names = {f"key{at}": key for at, key in enumerate(some + some[:1] * (size - len(some)))}
                rows = self._fetch(statements.RECALL, tenant=tenant, **names)
                found |= {row.key: row for row in map(coding.cache_row, rows)}
        return found

    def cached(self, *, tenant: str | None = None, step: str | None = None, limit: int = 100) -> list[CacheRow]:
        """What is in the cache, the latest first."""
        with self._lock:
            rows = self._fetch(statements.ALL_CACHED, **_which(tenant, step), most=limit)
        return [coding.cache_row(row) for row in rows]

    def prune_cache(
        self, *, tenant: str | None = None, step: str | None = None, unused_since: Time | None = None
    ) -> int:
        """Forget what nobody has used since a time."""
        before = NEVER if unused_since is None else unused_since
        session = self._session
        with self._lock:
            which = _which(tenant, step)
            return session.transact(lambda: session.change(statements.FORGET_CACHED, **which, before=before))

    def note(self, name: str) -> Json | None:
        """What is noted under a name."""
        with self._lock:
            rows = self._fetch(statements.NOTE, name=name)
        return coding.from_text(rows[0][0]) if rows else None

    def digest(self, path: str) -> DigestRow | None:
        """What is known of a file."""
        with self._lock:
            rows = self._fetch(statements.DIGEST, path=coding.clean(path))
        return DigestRow(*rows[0]) if rows else None

    def _fetch(self, statement: str, **values: Any) -> Rows:
        session = self._session
        return session.snapshot(lambda: session.fetch(statement, **values))

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

    @property
    def url(self) -> str:
        """Where SQLAlchemy finds the same database."""
        return self._session.url

    def transact(self, work: Callable[[Session], T]) -> T:
        """Do some work of somebody else's in one transaction, between batches; it may be done again."""
        with self._lock:
            return self._session.transact(lambda: work(self._session))

    def close(self) -> None:
        """Let go of files and connections."""
        with self._lock:
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            self._session.close()


def _which(tenant: str | None, step: str | None) -> dict[str, Any]:
    """What the statements about the cache are asked for: a tenant, and steps whose names begin with something."""
    begin = coding.clean(step or "")
    return {"tenant": tenant or "", "step": begin, "length": len(begin)}


def _writes(changes: Changes) -> Iterator[tuple[Write, Rows]]:
    """The rows of a batch as they are stored, in the order of writing; most batches hold only some kinds."""
    if changes.new_runs or changes.runs:
        yield from _writes_of_runs(changes)
    if changes.new_units:
        yield statements.NEW_UNITS, coding.plain_units(changes.new_units)
    if changes.units:
        yield statements.UNITS, coding.plain_unit_changes(changes.units)
    if changes.machines:
        yield statements.MACHINES, [coding.plain_machine(row) for row in changes.machines]
    if changes.charges:
        yield statements.CHARGES, changes.charges
    if changes.attempts:
        yield statements.ATTEMPTS, [coding.plain_attempt(row) for row in changes.attempts]
    if changes.deliveries:
        yield statements.DELIVERIES, [coding.plain_delivery(row) for row in changes.deliveries]
    if changes.voided:
        yield statements.VOIDED, [(*key, "") for key in changes.voided]
    if changes.log:
        yield statements.LOG, changes.log
    yield from _writes_of_the_rest(changes)
    used = zip(Numbers._fields[:-1], changes.used()[:-1], strict=True)  # that of the log can be seen there
    if counted := [(name, number) for name, number in used if number]:
        yield statements.COUNTERS, counted


def _writes_of_runs(changes: Changes) -> Iterator[tuple[Write, Rows]]:
    new_runs = [coding.plain_run(row) for row in changes.new_runs]
    runs = [coding.plain_run_change(row) for row in changes.runs]
    generators = {row[0]: row[10] for row in new_runs if row[10] is not None}
    generators |= {row[0]: row[5] for row in runs if row[5] is not None}
    if new_runs:
        yield statements.NEW_RUNS, [row[:9] for row in new_runs]
        yield statements.NEW_DOCUMENTS, [(row[0], row[9], row[11]) for row in new_runs]
    if runs:
        yield statements.RUNS, [row[:5] for row in runs]
    if generators:
        yield statements.GENERATORS, list(generators.items())


def _writes_of_the_rest(changes: Changes) -> Iterator[tuple[Write, Rows]]:
    if changes.cache:
        yield statements.CACHE, [coding.plain_cache(row) for row in changes.cache]
    if changes.digests:
        yield statements.DIGESTS, changes.digests
    if changes.memories:
        yield statements.MEMORIES, [(name, coding.to_text(value)) for name, value in changes.memories.items()]
    if changes.notes:
        yield statements.NOTES, [(name, coding.to_text(value)) for name, value in changes.notes.items()]
    if changes.keys:
        yield statements.KEYS, changes.keys
