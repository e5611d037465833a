"""The index that search goes by, made from the log: beside the driver, a moment behind it.

How far it has come is kept with it, so after a crash it goes on where it stood; doing something twice does no harm. It
writes a little at a time, for the driver waits meanwhile.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from tradewind.core.chains.link import link
from tradewind.core.transitions import UnitState
from tradewind.live.documents import decode
from tradewind.live.store import coding, statements, words
from tradewind.live.store.pages import Head, Pages
from tradewind.live.store.rows import UnitRow
from tradewind.live.store.sql import Session, SqlStore

NOTE = "search/next"
"""Under which name the store notes where the index goes on."""

_BATCHES = 32
_ROWS = 1_000
_DOCUMENTS = 8
_BAD = (UnitState.FAILED, UnitState.CANCELLED)


class _Contents(NamedTuple):
    """What the document of a run tells of its units, by the names of their chains."""

    capabilities: Mapping[str, Sequence[str]]
    steps: Mapping[str, str]
    """Names of the steps that a chain consists of."""


class Indexer:
    """Follows the log."""

    def __init__(self, store: SqlStore, pages: Pages) -> None:
        self._store = store
        self._pages = pages
        self._next: int | None = None
        self._documents: OrderedDict[int, _Contents] = OrderedDict()

    def catch_up(self) -> bool:
        """Take in the next batches of the log; whether there may be more."""
        if self._next is None:
            self._next = int(self._pages.note(NOTE) or 0)
        batches = self._pages.batches(self._next, _BATCHES)
        if not batches:
            return False
        news = _News()
        for batch in batches:
            for record in coding.unpack(batch.payload):
                news.take(record)
        self._take(news)
        position = batches[-1].first + 1
        note = (NOTE, coding.to_text(position))
        self._store.transact(lambda session: session.write(statements.NOTES, [note]))
        self._next = position
        return len(batches) == _BATCHES

    def _take(self, news: "_News") -> None:
        heads = self._pages.heads(sorted(news.runs | news.errors.keys()))
        for number, head in heads.items():
            whole = number in news.whole or (head.ended is not None and head.status != "done")
            ranges = [(0, 2**62)] if whole else news.units.get(number, [])
            for first, last in ranges:
                self._index_units(head, first, last, news.errors.get(number, {}))
            if not whole:
                self._index_failures(head, news.errors.get(number, {}))
            if number in news.runs:
                self._index_run(head, is_suspended=number in news.suspended)

    def _index_units(self, head: Head, first: int, last: int, errors: Mapping[int, str]) -> None:
        contents = self._contents(head)
        after = first - 1
        while units := self._pages.units(head.number, after=after, limit=_ROWS):
            chosen = [unit for unit in units if unit.number < last]
            self._write("task_words", [_task(head, unit, contents, errors) for unit in chosen])
            after = units[-1].number
            if len(units) < _ROWS or len(chosen) < len(units):
                return

    def _index_failures(self, head: Head, errors: Mapping[int, str]) -> None:
        if not errors:
            return
        contents = self._contents(head)
        units = [unit for number in errors if (unit := self._pages.unit(head.number, number)) is not None]
        self._write("task_words", [_task(head, unit, contents, errors) for unit in units])

    def _index_run(self, head: Head, *, is_suspended: bool) -> None:
        status = "suspended" if is_suspended and head.ended is None else head.status
        failed = self._pages.units(head.number, states=[UnitState.FAILED], limit=20) if head.status == "failed" else []
        capabilities = sorted({each for some in self._contents(head).capabilities.values() for each in some})
        error = " ".join(unit.message for unit in failed)
        entry = words.entry(
            head.number, head.tenant, head.name, error=error, capabilities=capabilities, status=status, more=head.id
        )
        self._write("run_words", [(head.number, head.number, entry)])
        if head.ended is None:
            self._store.transact(lambda s: s.change("DELETE FROM tallies WHERE run = :run", run=head.number))
            return
        counts = self._pages.fetch("SELECT state, COUNT(*) FROM units WHERE run = :run GROUP BY state", run=head.number)
        tally = coding.to_text({str(state): count for state, count in ended_counts(dict(counts)).items()})
        self._store.transact(
            lambda s: s.change(
                "INSERT INTO tallies (run, counts) VALUES (:run, :counts) "
                "ON CONFLICT (run) DO UPDATE SET counts = excluded.counts",
                run=head.number,
                counts=tally,
            )
        )

    def _write(self, table: str, rows: Sequence[tuple[int, int, list[str]]]) -> None:
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]

            def work(session: Session, some: Sequence[tuple[int, int, list[str]]] = some) -> None:
                session.write_words(table, some)

            self._store.transact(work)

    def _contents(self, head: Head) -> _Contents:
        """What the document of a run tells; it is made anew only where tasks were joined into chains."""
        found = self._documents.get(head.number)
        if found is None:
            rows = self._pages.fetch("SELECT document FROM documents WHERE run = :run", run=head.number)
            raw = bytes(rows[0][0]) if rows else b"{}"
            plain = orjson.loads(raw)
            ((units,),) = self._pages.fetch("SELECT COUNT(*) FROM units WHERE run = :run", run=head.number)
            tasks = plain.get("tasks", {}).get("$tuple", ())
            steps = _joined(raw) if units < len(tasks) else {task["id"]: task.get("name", "") for task in tasks}
            found = self._documents[head.number] = _Contents(dict(_asked_for(plain)), steps)
            if len(self._documents) > _DOCUMENTS:
                self._documents.popitem(last=False)
        return found


class _News:
    """What some batches of the log say about what can be found."""

    def __init__(self) -> None:
        self.runs: set[int] = set()
        """Those that are new or have changed."""
        self.whole: set[int] = set()
        """Those of which all tasks may have changed."""
        self.suspended: set[int] = set()
        self.units: dict[int, list[tuple[int, int]]] = {}
        """New ones by run, from one number to before another."""
        self.errors: dict[int, dict[int, str]] = {}
        """By run and unit."""

    def take(self, record: Mapping[str, Any]) -> None:
        """Note what a record says."""
        run = record.get("run")
        if not isinstance(run, int):
            return
        match record.get("event"):
            case "admitted" | "grown":
                self.runs.add(run)
                self.units.setdefault(run, []).append((record["first"], record["first"] + record["tasks"]))
            case "failed":
                self.errors.setdefault(run, {})[record["unit"]] = str(record.get("reason", ""))
            case "ended":
                self.runs.add(run)
            case "suspended":
                self.runs.add(run)
                self.suspended.add(run)
            case "resumed":
                self.runs.add(run)
                self.whole.add(run)
                self.suspended.discard(run)


def ended_counts(counts: Mapping[int, int]) -> dict[int, int]:
    """How many units of an ended run stand in each state: what did not end was cancelled."""
    found: dict[int, int] = {}
    for state, count in counts.items():
        ended = state if state >= UnitState.DONE else int(UnitState.CANCELLED)
        found[ended] = found.get(ended, 0) + count
    return found


def _joined(document: bytes) -> dict[str, str]:
    """The names of the tasks that each chain of a workflow consists of."""
    linked = link(decode(document))
    tasks = linked.workflow.tasks
    return {
        tasks[chain[0]].id: " ".join(f"{tasks[place].id} {tasks[place].name}" for place in chain)
        for chain in linked.chains
    }


def _task(head: Head, unit: UnitRow, contents: _Contents, errors: Mapping[int, str]) -> tuple[int, int, list[str]]:
    state = unit.state
    if head.ended is not None and state < UnitState.DONE:
        state = int(UnitState.CANCELLED)
    status = UnitState(state).name.lower() if head.ended is not None and state in _BAD else ""
    asked, steps = contents.capabilities.get(unit.chain, ()), contents.steps.get(unit.chain, "")
    if unit.tasks is not None:
        chain = orjson.loads(unit.tasks)
        asked = _capabilities_of(chain)
        steps = " ".join(call.get("id", "") for call in chain.get("calls", {}).get("$tuple", ()))
    error = f"{errors.get(unit.number, '')} {unit.message}"
    name = f"{unit.chain} {steps}"
    entry = words.entry(head.number, head.tenant, name, error=error, capabilities=asked, status=status)
    return unit.number, head.number, entry


def _asked_for(document: Any) -> Iterator[tuple[str, Sequence[str]]]:
    """Which tasks of a document ask for which capabilities, read without making the document anew."""
    if isinstance(document, dict):
        if document.get("id") and (found := _capabilities_of(document)):
            yield document["id"], found
        for each in document.values():
            yield from _asked_for(each)
    elif isinstance(document, list):
        for each in document:
            yield from _asked_for(each)


def _capabilities_of(task: Any) -> Sequence[str]:
    requirement = task.get("requirement") if isinstance(task, dict) else None
    asked = requirement.get("capabilities") if isinstance(requirement, dict) else None
    return asked.get("$set", ()) if isinstance(asked, dict) else ()
