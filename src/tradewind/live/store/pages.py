"""Pages of runs, tasks, attempts and machines: what a server is asked most, in plain SQL over indexes.

Every list goes by a number and begins behind one, so that a page costs the same wherever it stands.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tradewind.live.notes import impossible_note, reason_note
from tradewind.live.store import coding
from tradewind.live.store.readers import Readers
from tradewind.live.store.rows import AttemptRow, MachineRow, RunRow, UnitRow
from tradewind.live.store.statements import HEAD, Rows
from tradewind.model.units import Money, Time


class Head(NamedTuple):
    """A run in a list: all but what is large."""

    number: int
    id: str
    name: str
    tenant: str
    priority: int
    deadline: Time | None
    submitted: Time
    ended: Time | None
    status: str


class Batch(NamedTuple):
    """A batch of the log."""

    first: int
    at: Time
    payload: bytes


_HEAD = f"SELECT {', '.join(HEAD)} FROM runs"  # noqa: S608  names of our own
_WHOLE = """
    SELECT number, id, name, tenant, priority, deadline, submitted, ended, status, parameters, NULL, document
    FROM runs JOIN documents ON documents.run = number WHERE id = :id
"""
_DESCRIBED = f"""
    SELECT {", ".join(f"runs.{name}" for name in HEAD)}, documents.parameters, tallies.counts, notes.value
    FROM runs JOIN documents ON documents.run = runs.number LEFT JOIN tallies ON tallies.run = runs.number
    LEFT JOIN notes ON notes.name = :note || runs.number WHERE runs.id = :id
"""  # noqa: S608  names of our own
_UNITS = f"SELECT {', '.join(UnitRow._fields)} FROM units"  # noqa: S608
_ATTEMPTS = f"SELECT {', '.join(AttemptRow._fields)} FROM attempts"  # noqa: S608
_MACHINES = f"SELECT {', '.join(MachineRow._fields)} FROM machines"  # noqa: S608


class Pages:
    """Answers what people ask of one store; every verb may be called from any thread."""

    def __init__(self, readers: Readers) -> None:
        self._fetch = readers.fetch

    # Runs

    def runs(
        self,
        *,
        tenant: str | None = None,
        status: str | None = None,
        name: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Head]:
        """Runs, newest first, behind a number."""
        where = _Where()
        where.add("tenant = :tenant", tenant=tenant)
        where.add("status = :status", status=status)
        where.starts_with("name", name)
        where.add("submitted >= :since", since=since)
        where.add("submitted < :until", until=until)
        where.add("number < :before", before=before)
        statement = f"{_HEAD}{where} ORDER BY number DESC LIMIT :limit"
        return [Head._make(row) for row in self._fetch(statement, **where.values, limit=limit)]

    def head(self, id: str) -> Head | None:
        """A run by its id."""
        rows = self._fetch(f"{_HEAD} WHERE id = :id", id=id)
        return Head._make(rows[0]) if rows else None

    def described(self, id: str, note: str) -> tuple[Head, dict[str, Any], dict[int, int] | None, Any] | None:
        """A run by its id, with its parameters, how many units stood where when it ended, and what a note that begins
        so and ends with its number says.
        """
        rows = self._fetch(_DESCRIBED, id=id, note=note)
        if not rows:
            return None
        *head, parameters, counts, noted = rows[0]
        tally = None if counts is None else _tally(counts)
        return Head._make(head), coding.from_text(parameters), tally, None if noted is None else coding.from_text(noted)

    def heads(self, numbers: Sequence[int]) -> dict[int, Head]:
        """Runs by their numbers."""
        return (
            {}
            if not numbers
            else {row[0]: Head._make(row) for row in self._fetch(f"{_HEAD} WHERE number IN ({_listed(numbers)})")}
        )

    def whole(self, id: str) -> RunRow | None:
        """A run with its document and parameters."""
        rows = self._fetch(_WHOLE, id=id)
        return coding.run_row(rows[0]) if rows else None

    def note(self, name: str) -> Any:
        """What was noted under a name; None: nothing."""
        rows = self._fetch("SELECT value FROM notes WHERE name = :name", name=name)
        return coding.from_text(rows[0][0]) if rows else None

    def fault(self, number: int) -> tuple[str | None, bool]:
        """Why a run has failed as a whole, and whether because no machine can ever run what it needs."""
        return self.note(reason_note(number)), bool(self.note(impossible_note(number)))

    def counts(self, numbers: Sequence[int]) -> dict[int, dict[int, int]]:
        """How many units of some runs stand in each state; it takes as long as there are units."""
        found: dict[int, dict[int, int]] = {number: {} for number in numbers}
        if found:
            statement = f"SELECT run, state, COUNT(*) FROM units WHERE run IN ({_listed(found)}) GROUP BY run, state"  # noqa: S608
            for run, state, count in self._fetch(statement):
                found[run][state] = count
        return found

    def tallies(self, numbers: Sequence[int]) -> dict[int, dict[int, int]]:
        """The same for runs that have ended, as far as it was summed up then."""
        if not numbers:
            return {}
        rows = self._fetch(f"SELECT run, counts FROM tallies WHERE run IN ({_listed(numbers)})")  # noqa: S608
        return {run: _tally(counts) for run, counts in rows}

    def active(self, tenant: str) -> int:
        """How many runs of a tenant have not ended."""
        ((count,),) = self._fetch("SELECT COUNT(*) FROM runs WHERE ended IS NULL AND tenant = :tenant", tenant=tenant)
        return int(count)

    # Tasks and attempts

    def units(
        self, run: int, *, states: Iterable[int] = (), name: str | None = None, after: int = -1, limit: int = 100
    ) -> list[UnitRow]:
        """Units of a run by number, behind one."""
        where = _Where("run = :run", "number > :after", run=run, after=after)
        if wanted := sorted(states):
            where.parts.append(f"state IN ({_listed(wanted)})")
        where.starts_with("chain", name)
        rows = self._fetch(f"{_UNITS}{where} ORDER BY number LIMIT :limit", **where.values, limit=limit)
        return [coding.unit_row(row) for row in rows]

    def unit(self, run: int, number: int) -> UnitRow | None:
        """One unit of a run."""
        rows = self._fetch(f"{_UNITS} WHERE run = :run AND number = :number", run=run, number=number)
        return coding.unit_row(rows[0]) if rows else None

    def attempts(self, run: int, unit: int) -> list[AttemptRow]:
        """The attempts of a unit that have ended."""
        rows = self._fetch(f"{_ATTEMPTS} WHERE run = :run AND unit = :unit ORDER BY attempt", run=run, unit=unit)
        return [AttemptRow(*row) for row in rows]

    def attempts_of_run(self, run: int, after: tuple[int, int], limit: int) -> list[AttemptRow]:
        """The attempts of a run that have ended, by unit and attempt, behind one."""
        statement = (
            f"{_ATTEMPTS} WHERE run = :run AND (unit, attempt) > (:unit, :attempt) ORDER BY unit, attempt LIMIT :limit"
        )
        rows = self._fetch(statement, run=run, unit=after[0], attempt=after[1], limit=limit)
        return [AttemptRow(*row) for row in rows]

    def tried_again(self, run: int, limit: int) -> list[AttemptRow]:
        """Attempts of a run that did not end well."""
        statement = (
            f"{_ATTEMPTS} WHERE run = :run AND outcome NOT IN ('done', 'cached') ORDER BY unit, attempt LIMIT :limit"
        )
        return [AttemptRow(*row) for row in self._fetch(statement, run=run, limit=limit)]

    # Machines and money

    def machines(
        self,
        *,
        tenant: str | None = None,
        kind: str | None = None,
        states: Iterable[int] = (),
        before: int | None = None,
        limit: int = 100,
    ) -> list[MachineRow]:
        """Machines, newest first, behind a number."""
        where = _Where()
        where.add("tenant = :tenant", tenant=tenant)
        where.add("kind = :kind", kind=kind)
        where.add("number < :before", before=before)
        if wanted := sorted(states):
            where.parts.append(f"state IN ({_listed(wanted)})")
        rows = self._fetch(f"{_MACHINES}{where} ORDER BY number DESC LIMIT :limit", **where.values, limit=limit)
        return [coding.machine_row(row) for row in rows]

    def machine(self, number: int) -> MachineRow | None:
        """One machine."""
        rows = self._fetch(f"{_MACHINES} WHERE number = :number", number=number)
        return coding.machine_row(rows[0]) if rows else None

    def machine_kinds(self, numbers: Iterable[int]) -> dict[int, str]:
        """Of which types some machines are."""
        wanted = sorted(set(numbers))
        if not wanted:
            return {}
        return dict(self._fetch(f"SELECT number, kind FROM machines WHERE number IN ({_listed(wanted)})"))  # noqa: S608

    def spent(self) -> dict[str, tuple[Money, Money]]:
        """What each tenant was charged and paid back in all, pruned or not."""
        sums: dict[str, tuple[Money, Money]] = {
            tenant: (charged, refunded)
            for tenant, charged, refunded in self._fetch("SELECT tenant, charged, refunded FROM carried")
        }
        for tenant, is_refund, amount in self._fetch(
            "SELECT tenant, refund, CAST(SUM(amount) AS BIGINT) FROM charges GROUP BY tenant, refund"
        ):
            charged, refunded = sums.get(tenant, (0, 0))
            sums[tenant] = (charged, refunded + amount) if is_refund else (charged + amount, refunded)
        return sums

    # The log

    def batches(self, first: int, limit: int) -> list[Batch]:
        """Batches of the log that begin with a `seq` or behind it, in order."""
        statement = "SELECT first, at, payload FROM log WHERE first >= :first ORDER BY first LIMIT :limit"
        return [Batch(row[0], row[1], bytes(row[2])) for row in self._fetch(statement, first=first, limit=limit)]

    def first_batch(self) -> int | None:
        """Where the log begins."""
        ((first,),) = self._fetch("SELECT MIN(first) FROM log")
        return None if first is None else int(first)

    def batch_since(self, time: Time) -> int | None:
        """Where what was noted since a time begins; found by halving, for times never fall from batch to batch."""
        low, high = self.first_batch(), self.last_batch()
        if low is None:
            return None
        while low < high:
            middle = (low + high) // 2
            ((first, at),) = self._fetch(
                "SELECT first, at FROM log WHERE first <= :middle ORDER BY first DESC LIMIT 1", middle=middle
            )
            low, high = (low, first) if at >= time else (middle + 1, high)
        rows = self._fetch(
            "SELECT first FROM log WHERE first >= :low AND at >= :time ORDER BY first LIMIT 1", low=low, time=time
        )
        return int(rows[0][0]) if rows else None

    def last_batch(self) -> int:
        """Where the last batch of the log begins; -1: there is none."""
        ((first,),) = self._fetch("SELECT MAX(first) FROM log")
        return -1 if first is None else int(first)

    def fetch(self, statement: str, **values: Any) -> Rows:
        """The rows that any other statement gives."""
        return self._fetch(statement, **values)


def _tally(text: str) -> dict[int, int]:
    return {int(state): count for state, count in coding.from_text(text).items()}


class _Where:
    """Conditions of a statement and the values they speak of."""

    def __init__(self, *parts: str, **values: Any) -> None:
        self.parts = list(parts)
        self.values: dict[str, Any] = dict(values)

    def add(self, part: str, **values: Any) -> None:
        """A condition, unless its value is None."""
        if all(value is not None for value in values.values()):
            self.parts.append(part)
            self.values |= values

    def starts_with(self, column: str, prefix: str | None) -> None:
        """That a text begins with another."""
        if prefix:
            self.parts.append(f"substr({column}, 1, :{column}_length) = :{column}_prefix")
            self.values |= {f"{column}_length": len(prefix), f"{column}_prefix": prefix}

    def __str__(self) -> str:
        return f" WHERE {' AND '.join(self.parts)}" if self.parts else ""


def _listed(numbers: Iterable[int] | Mapping[int, object]) -> str:
    return ",".join(str(int(number)) for number in numbers)
