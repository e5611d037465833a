"""Every question that people ask of a store, named and described, in SQLAlchemy's words for both databases."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, func, select

from tradewind.live.notes import names_of_notes
from tradewind.live.store.rows import AttemptRow, UnitRow
from tradewind.live.store.statements import HEAD
from tradewind.live.store.tables import attempts, documents, generators, log, notes, runs, units
from tradewind.model.units import Time

_HEAD = tuple(runs.c[name] for name in HEAD)


def latest_runs(tenant: str | None, status: str | None, limit: int) -> Select[Any]:
    """The newest runs, perhaps of one tenant or with one status, without what is large."""
    query = select(*_HEAD).order_by(runs.c.number.desc()).limit(limit)
    if tenant is not None:
        query = query.where(runs.c.tenant == tenant)
    if status is not None:
        query = query.where(runs.c.status == status)
    return query


def counts_of_units(numbers: Sequence[int]) -> Select[Any]:
    """How many units of each of some runs stand in each state."""
    return (
        select(units.c.run, units.c.state, func.count())
        .where(units.c.run.in_(numbers))
        .group_by(units.c.run, units.c.state)
        .order_by(units.c.run, units.c.state)
    )


def run_by_id(id: str) -> Select[Any]:
    """A run with its document, parameters and generator."""
    return (
        select(*_HEAD, documents.c.parameters, generators.c.state, documents.c.document)
        .join(documents, documents.c.run == runs.c.number)
        .outerjoin(generators, generators.c.run == runs.c.number)
        .where(runs.c.id == id)
    )


def units_of_run(number: int) -> Select[Any]:
    """All units of a run, by number."""
    return select(*(units.c[name] for name in UnitRow._fields)).where(units.c.run == number).order_by(units.c.number)


def notes_of_run(number: int) -> Select[Any]:
    """What is noted of a run."""
    return select(notes.c.name, notes.c.value).where(notes.c.name.in_(names_of_notes(number)))


def attempts_of_run(number: int) -> Select[Any]:
    """All attempts of a run that have ended, by unit and attempt."""
    return (
        select(*(attempts.c[name] for name in AttemptRow._fields))
        .where(attempts.c.run == number)
        .order_by(attempts.c.unit, attempts.c.attempt)
    )


def life_of_run(number: int) -> Select[Any]:
    """When a run was submitted and when it ended."""
    return select(runs.c.submitted, runs.c.ended).where(runs.c.number == number)


def log_page(after: int, since: Time | None, size: int) -> Select[Any]:
    """The next batches of the log behind a `seq`, perhaps only those since a time."""
    query = select(log.c.first, log.c.at, log.c.payload).where(log.c.first > after).order_by(log.c.first).limit(size)
    return query if since is None else query.where(log.c.at >= since)
