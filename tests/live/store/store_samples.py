"""Rows for tests, with as little said as the test is about."""

from tradewind.live.store.coding import Record, pack
from tradewind.live.store.port import Changes
from tradewind.live.store.rows import LogRow, RunChange, RunRow, UnitChange, UnitRow, run_id
from tradewind.model.action import Json

WAITING, READY, RUNNING, DONE = 0, 1, 2, 4


def a_run(
    number: int,
    *,
    submitted: int = 0,
    ended: int | None = None,
    status: str = "active",
    tenant: str = "ada",
    generator: Json | None = None,
) -> RunRow:
    return RunRow(
        number=number,
        id=run_id(submitted, number),
        name=f"run {number}",
        tenant=tenant,
        priority=0,
        deadline=None,
        submitted=submitted,
        ended=ended,
        status=status,
        parameters={"size": number},
        generator=generator,
        document=b"document %d" % number,
    )


def an_end(number: int, at: int, status: str = "done") -> RunChange:
    return RunChange(number, priority=0, deadline=None, ended=at, status=status)


def units_of(run: int, first: int, count: int) -> list[UnitRow]:
    return [UnitRow(run, number, f"chain-{number}", None, WAITING) for number in range(first, first + count)]


def done(unit: UnitRow) -> UnitChange:
    return UnitChange(unit.run, unit.number, DONE, 1, 0, 0, 3, 10, 20, {"step": {"out": unit.number}}, "")


def a_batch(first: int, at: int, *records: Record) -> LogRow:
    return LogRow(first, first + max(1, len(records)) - 1, at, pack(records))


def crash_batch(number: int) -> Changes:
    """A batch that touches many tables and pages; the same for the same number."""
    size = 20
    changes = Changes(
        new_runs=[a_run(number, submitted=number, generator={"step": number})],
        new_units=units_of(number, number * size, size),
        log=[a_batch(number, number, {"at": number, "event": "admitted", "run": number})],
        notes={"batch": number},
    )
    if number:
        changes.units = [done(unit) for unit in units_of(number - 1, (number - 1) * size, size)]
    if number >= 3:
        changes.runs = [an_end(number - 3, number)]
    return changes
