"""A store in memory: for tests, and the model that the others are tested against.

It keeps rows in the form in which a database would, so that nothing is shared with the caller and what cannot be stored
is refused here as well. A driver that "crashes" in a test opens the same object again.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from threading import RLock
from typing import Any

from tradewind.live.notes import names_of_notes
from tradewind.live.store import coding
from tradewind.live.store.coding import Plain, Record
from tradewind.live.store.errors import LostLeaseError, StoreUnavailableError, UnknownRowError
from tradewind.live.store.port import Changes, Lease, Numbers, Pruned, RunDetail, Saved, Spent
from tradewind.live.store.rows import (
    AttemptRow,
    CacheRow,
    ChargeRow,
    DeliveryRow,
    DigestRow,
    KeyRow,
    LogRow,
    RunHead,
)
from tradewind.model.action import Json
from tradewind.model.units import DAY, Duration, Time


class MemoryStore:
    """Keeps everything as long as the object lives."""

    def __init__(self) -> None:
        self.outage = ""
        """Why nothing can be saved or loaded at present; tests set it."""
        self.saves = 0
        """How many batches were saved."""
        self.keys: dict[tuple[str, str], KeyRow] = {}
        """Under which keys work was handed in."""
        self._lock = RLock()
        self._runs: dict[int, list[Any]] = {}
        self._units: dict[int, dict[int, list[Any]]] = {}
        self._machines: dict[int, Plain] = {}
        self._charges: dict[int, ChargeRow] = {}
        self._attempts: dict[int, dict[tuple[int, int], Plain]] = {}
        self._cache: dict[tuple[str, str], Plain] = {}
        self._digests: dict[str, DigestRow] = {}
        self._deliveries: dict[tuple[int, ...], Plain] = {}
        self._log: dict[int, LogRow] = {}
        self._memories: dict[str, str] = {}
        self._notes: dict[str, str] = {}
        self._carried: dict[str, Spent] = {}
        self._next = Numbers()
        self._leases: dict[str, tuple[str, int, Time]] = {}

    def save(self, changes: Changes, lease: Lease | None = None) -> None:
        """Write a batch, all of it or nothing."""
        with self._lock:
            self._check_outage()
            if lease is not None and self._leases.get(lease.name, ("", 0, 0))[1] != lease.token:
                raise LostLeaseError(f"another process leads {lease.name!r} by now; stop this one")
            self._check_known(changes)
            self._write(changes)
            self.saves += 1

    def _check_known(self, changes: Changes) -> None:
        for rows in (changes.new_runs, changes.runs, changes.machines, changes.charges):
            if len({row.number for row in rows}) != len(rows):
                raise UnknownRowError("a batch has one row twice")
        for units_of in (changes.new_units, changes.units):
            if len({row[:2] for row in units_of}) != len(units_of):
                raise UnknownRowError("a batch has one unit twice")
        runs = {row.number for row in changes.new_runs} | self._runs.keys()
        units = {(row.run, row.number) for row in changes.new_units}
        for run in changes.runs:
            if run.number not in runs:
                raise UnknownRowError(f"run {run.number} was changed but never saved")
        keys = {row.key for row in changes.deliveries}
        if len(keys) != len(changes.deliveries) or any(
            key not in keys and key not in self._deliveries for key in changes.voided
        ):
            raise UnknownRowError("a batch has one delivery twice, or voids one that was never saved")
        for unit in changes.units:
            if (unit.run, unit.number) not in units and unit.number not in self._units.get(unit.run, {}):
                raise UnknownRowError(f"unit {unit.number} of run {unit.run} was changed but never saved")

    def _write(self, changes: Changes) -> None:
        # Encoding may fail, and must do so before anything is changed.
        new_runs = [coding.plain_run(row) for row in changes.new_runs]
        runs = [coding.plain_run_change(row) for row in changes.runs]
        new_units = coding.plain_units(changes.new_units)
        units = coding.plain_unit_changes(changes.units)
        memories = {name: coding.to_text(value) for name, value in changes.memories.items()}
        notes = {name: coding.to_text(value) for name, value in changes.notes.items()}
        cache = {(row.tenant, row.key): coding.plain_cache(row) for row in changes.cache}

        for row in new_runs:
            self._runs[row[0]] = list(row)
        for number, priority, deadline, ended, status, generator in runs:
            kept = self._runs[number]
            kept[4], kept[5], kept[7], kept[8] = priority, deadline, ended, status
            if generator is not None:
                kept[10] = generator
        for row in new_units:
            self._units.setdefault(row[0], {})[row[1]] = list(row)
        for row in units:
            self._units[row[0]][row[1]][4:] = row[2:]
        self._machines |= {row.number: coding.plain_machine(row) for row in changes.machines}
        self._charges |= {row.number: row for row in changes.charges}
        for attempt in changes.attempts:
            of_run = self._attempts.setdefault(attempt.run, {})
            of_run[attempt.unit, attempt.attempt] = coding.plain_attempt(attempt)
        self._cache |= cache
        self._digests |= {row.path: row for row in changes.digests}
        for row in changes.deliveries:
            self._deliveries[row.key] = coding.plain_delivery(row)
        for key in changes.voided:
            self._deliveries[key] = (*self._deliveries[key][:-1], "")
        self._log |= {row.first: row for row in changes.log}
        self._memories |= memories
        self._notes |= notes
        self.keys |= {(row.tenant, row.key): row for row in changes.keys}
        self._next = Numbers(*map(max, self._next, changes.used()))

    def load(self, *, charges_since: Time = 0) -> Saved:
        """All that is active."""
        with self._lock:
            self._check_outage()
            runs = [coding.run_row(row) for _, row in sorted(self._runs.items()) if row[7] is None]
            charges = [row for _, row in sorted(self._charges.items())]
            return Saved(
                runs=runs,
                units=[
                    coding.unit_row(unit) for run in runs for _, unit in sorted(self._units.get(run.number, {}).items())
                ],
                machines=[coding.machine_row(row) for _, row in sorted(self._machines.items()) if row[7] is None],
                charges=[row for row in charges if row.at >= charges_since],
                spent=added(self._carried, charges),
                memories=coding.values_of(self._memories.items()),
                notes=coding.values_of(self._notes.items()),
                next=self._next,
            )

    def runs(self, *, tenant: str | None = None, status: str | None = None, limit: int = 100) -> list[RunHead]:
        """The latest runs, newest first."""
        with self._lock:
            wanted = (
                row
                for _, row in sorted(self._runs.items(), reverse=True)
                if tenant in (None, row[3]) and status in (None, row[8])
            )
            return [RunHead._make((*row[:9], self._count(row[0]))) for row in islice(wanted, limit)]

    def _count(self, run: int) -> dict[int, int]:
        counts: dict[int, int] = {}
        for unit in self._units.get(run, {}).values():
            counts[unit[4]] = counts.get(unit[4], 0) + 1
        return dict(sorted(counts.items()))

    def run(self, id: str) -> RunDetail | None:
        """A run by its id."""
        with self._lock:
            row = next((row for row in self._runs.values() if row[1] == id), None)
            if row is None:
                return None
            return RunDetail(
                coding.run_row(row),
                [coding.unit_row(unit) for _, unit in sorted(self._units.get(row[0], {}).items())],
                [AttemptRow(*plain) for _, plain in sorted(self._attempts.get(row[0], {}).items())],
                coding.values_of((name, self._notes[name]) for name in names_of_notes(row[0]) if name in self._notes),
            )

    def log(self, run: int | None = None) -> Iterator[Record]:
        """The log of a run, or of everything."""
        with self._lock:
            batches = [(row.at, row.payload) for _, row in sorted(self._log.items())]
            if run is None:
                return chain.from_iterable(coding.unpack(payload) for _, payload in batches)
            if run not in self._runs:
                return iter(())
            submitted, ended = self._runs[run][6:8]
            return coding.records_of(run, ended, [batch for batch in batches if batch[0] >= submitted])

    def prune(self, *, before: Time, keep: int = 0, interval: Duration = DAY) -> Pruned:
        """Forget runs that ended before a time."""
        with self._lock:
            self._check_outage()
            ended = sorted((number for number, row in self._runs.items() if row[7] is not None), reverse=True)
            gone = [number for number in ended[keep:] if self._runs[number][7] < before]
            units = sum(len(self._units.pop(number, {})) for number in gone)
            for number in gone:
                del self._runs[number]
                self._attempts.pop(number, None)
            self._deliveries = {key: row for key, row in self._deliveries.items() if key[0] in self._runs}
            self.keys = {key: row for key, row in self.keys.items() if row.run in self._runs}
            horizon = min([before, *(row[6] for row in self._runs.values())])
            machines = [n for n, row in self._machines.items() if row[7] is not None and row[7] < horizon]
            charges = [n for n, row in self._charges.items() if row.at < horizon - interval]
            batches = [n for n, row in self._log.items() if row.at < horizon]
            self._carried = added(self._carried, [self._charges.pop(number) for number in charges])
            for number in machines:
                del self._machines[number]
            for number in batches:
                del self._log[number]
            return Pruned(len(gone), units, len(machines), len(charges), len(batches))

    def deliveries(
        self, run: int, unit: int, *, after: tuple[int, int, int] = (-1, 0, 0), limit: int = 1_000
    ) -> list[DeliveryRow]:
        """What counts of the deliveries of an elastic unit, after some share, attempt and number."""
        with self._lock:
            found = sorted(
                key for key, row in self._deliveries.items() if key[:2] == (run, unit) and key[2:] > after and row[-1]
            )
            return [coding.delivery_row(self._deliveries[key]) for key in found[:limit]]

    def recall(self, tenant: str, keys: Sequence[str]) -> dict[str, CacheRow]:
        """What calls gave a tenant before, by key."""
        with self._lock:
            self._check_outage()
            return {key: coding.cache_row(self._cache[tenant, key]) for key in keys if (tenant, key) in self._cache}

    def cached(self, *, tenant: str | None = None, step: str | None = None, limit: int = 100) -> list[CacheRow]:
        """What is in the cache, the latest first."""
        with self._lock:
            rows = [coding.cache_row(row) for row in self._cache.values()]
            wanted = [row for row in rows if tenant in (None, row.tenant) and row.step.startswith(step or "")]
            return sorted(wanted, key=lambda row: (-row.used, row.tenant, row.key))[:limit]

    def prune_cache(
        self, *, tenant: str | None = None, step: str | None = None, unused_since: Time | None = None
    ) -> int:
        """Forget what nobody has used since a time."""
        with self._lock:
            self._check_outage()
            rows = self.cached(tenant=tenant, step=step, limit=len(self._cache))
            gone = [row for row in rows if unused_since is None or row.used < unused_since]
            for row in gone:
                del self._cache[row.tenant, row.key]
            return len(gone)

    def note(self, name: str) -> Json | None:
        """What is noted under a name."""
        with self._lock:
            text = self._notes.get(name)
        return None if text is None else coding.from_text(text)

    def digest(self, path: str) -> DigestRow | None:
        """What is known of a file."""
        with self._lock:
            return self._digests.get(path)

    def take_lease(self, name: str, holder: str, until: Time, now: Time) -> Lease | None:
        """Become the leader if nobody else is at this time."""
        with self._lock:
            self._check_outage()
            present, token, expires = self._leases.get(name, (holder, 0, 0))
            if expires > now and present != holder:
                return None
            self._leases[name] = (holder, token + 1, until)
            return Lease(name, token + 1)

    def renew_lease(self, lease: Lease, until: Time) -> bool:
        """Stay the leader for longer."""
        with self._lock:
            self._check_outage()
            holder, token, _ = self._leases.get(lease.name, ("", 0, 0))
            if token != lease.token:
                return False
            self._leases[lease.name] = (holder, token, until)
            return True

    def drop_lease(self, lease: Lease) -> None:
        """Let somebody else lead at once."""
        self.renew_lease(lease, 0)

    def close(self) -> None:
        """Keep everything: the object may be opened again."""

    def _check_outage(self) -> None:
        if self.outage:
            raise StoreUnavailableError(self.outage)


def added(spent: dict[str, Spent], charges: list[ChargeRow]) -> dict[str, Spent]:
    """What was spent in all, by the names of tenants in their order."""
    total = dict(spent)
    for row in charges:
        charged, refunded = total.get(row.tenant, Spent())
        total[row.tenant] = (
            Spent(charged, refunded + row.amount) if row.refund else Spent(charged + row.amount, refunded)
        )
    return dict(sorted(total.items()))
