"""Finding runs and tasks by a query: full text first, newest first, then what only rows can tell.

Only so many candidates are looked at in one go, so that no query takes long; a page says where the next one goes on,
and a count whether it is exact.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from tradewind.core.transitions import UnitState
from tradewind.live.search import RUN_STATUSES, TASK_STATUSES, Query, Span, Term
from tradewind.live.store import words
from tradewind.live.store.readers import Readers

BUDGET = 5_000
"""Candidates that one query looks at."""
_FEW = 200
"""So many runs can be named in a query one by one."""

_ENDED_BADLY = frozenset({"failed", "cancelled"})
_STATES = {state.name.lower(): (int(state),) for state in UnitState} | {
    "waiting": (UnitState.WAITING, UnitState.READY),
    "ready": (UnitState.WAITING, UnitState.READY),
}
"""As they are stored: whether a waiting unit is ready is known to the core alone."""


class Hit(NamedTuple):
    """A run or a task that was found."""

    number: int
    run: int


class Found(NamedTuple):
    """What a query has found."""

    hits: list[Hit]
    total: int
    is_exact: bool
    """Whether there are no more than counted."""
    last: int | None
    """Where to go on; None: there is nothing more."""


NOTHING = Found([], 0, is_exact=True, last=None)


class Searcher:
    """Answers queries; any thread may ask."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def runs(self, query: Query, tenant: str | None, before: int | None, limit: int) -> Found:
        """Runs that a query finds, behind a number."""
        statuses = query.statuses & set(RUN_STATUSES)
        if "run" not in query.kinds or (query.statuses and not statuses) or _is_empty(query, tenant):
            return NOTHING
        groups = [[f"{words.STATUS}:{status}" for status in sorted(statuses)]] if statuses else []
        if query.runs:
            groups.append(self._named(query.runs))
        if not all(groups):
            return NOTHING
        filters = [*_within("x.submitted", query.start), *_within("x.ended", query.end)]
        join = "JOIN runs x ON x.number = w.number"
        return self._found("run_words", query, tenant, groups, join, filters, before, limit)

    def tasks(self, query: Query, tenant: str | None, before: int | None, limit: int) -> Found:
        """Tasks that a query finds, behind a number."""
        statuses = query.statuses & set(TASK_STATUSES)
        if "task" not in query.kinds or (query.statuses and not statuses) or _is_empty(query, tenant):
            return NOTHING
        groups: list[list[str]] = []
        filters = [*_within("x.started", query.start), *_within("x.ended", query.end)]
        if statuses and statuses <= _ENDED_BADLY:
            groups.append([f"{words.STATUS}:{status}" for status in sorted(statuses)])
        elif statuses:
            states = sorted({state for status in statuses for state in _STATES[status]})
            filters.append(f"x.state IN ({','.join(map(str, states))})")
        if query.runs:
            groups.append(self._named(query.runs))
        if possible := self._possible(query, statuses):
            groups.append(possible[0])
        if not all(groups):
            return NOTHING
        join = "JOIN units x ON x.run = w.run AND x.number = w.number"
        return self._found("task_words", query, tenant, groups, join, filters, before, limit)

    def _named(self, ids: Iterable[str]) -> list[str]:
        """The words of runs with some ids."""
        wanted = {f"id{at}": id for at, id in enumerate(sorted(ids))}
        marks = ", ".join(f":{name}" for name in wanted)
        rows = self._readers.fetch(f"SELECT number FROM runs WHERE id IN ({marks})", **wanted)  # noqa: S608
        return [f"{words.RUN}:{number}" for (number,) in rows]

    def _possible(self, query: Query, statuses: frozenset[str]) -> tuple[list[str]] | None:
        """The words of the few runs that can have such tasks; None: they are many, or all."""
        conditions = []
        if statuses and not statuses & {"done", *_ENDED_BADLY}:
            conditions.append("ended IS NULL")
        latest = [each for each in (query.start.until, query.end.until) if each is not None]
        earliest = [each for each in (query.start.since, query.end.since) if each is not None]
        if latest:
            conditions.append(f"submitted < {min(latest)}")
        if earliest:
            conditions.append(f"(ended IS NULL OR ended >= {max(earliest)})")
        if not conditions:
            return None
        where = " AND ".join(conditions)
        rows = self._readers.fetch(f"SELECT number FROM runs WHERE {where} LIMIT {_FEW + 1}")  # noqa: S608  numbers
        return None if len(rows) > _FEW else ([f"{words.RUN}:{number}" for (number,) in rows],)

    def _found(
        self,
        table: str,
        query: Query,
        tenant: str | None,
        groups: list[list[str]],
        join: str,
        filters: list[str],
        before: int | None,
        limit: int,
    ) -> Found:
        tenants = query.tenants if tenant is None else {tenant}
        alternatives = [[words.exact(words.TENANT, name) for name in sorted(tenants)]] if tenants else []
        where, values = self._matched(table, query.terms, [*groups, *alternatives], before)
        number = "rowid" if self._readers.is_sqlite else "number"
        candidates = f"SELECT {number} AS number, run FROM {table} WHERE {where} ORDER BY {number} DESC LIMIT"  # noqa: S608
        if filters:
            check = " AND ".join(filters)
            order = "" if self._readers.is_sqlite else "ORDER BY w.number DESC"  # SQLite keeps the order of candidates
            found = (
                f"SELECT w.number, w.run FROM ({candidates} {BUDGET}) w {join} WHERE {check} {order} LIMIT {limit + 1}"  # noqa: S608
            )
            counted = f"""
                SELECT COUNT(*), SUM(CASE WHEN {check} THEN 1 ELSE 0 END), MIN(w.number)
                FROM ({candidates} {BUDGET}) w {join}
            """  # noqa: S608
        else:
            found = f"{candidates} {limit + 1}"
            counted = f"SELECT COUNT(*), COUNT(*), 0 FROM (SELECT {number} FROM {table} WHERE {where} LIMIT {BUDGET}) w"  # noqa: S608
        hits = [Hit(row[0], row[1]) for row in self._readers.fetch(found, **values)]
        ((seen, total, least),) = self._readers.fetch(counted, **values)
        is_exact = seen < BUDGET
        beyond = int(least) if filters and not is_exact else None
        last = hits[limit - 1].number if len(hits) > limit else beyond
        return Found(hits[:limit], int(total or 0), is_exact, last)

    def _matched(
        self, table: str, terms: Iterable[Term], groups: list[list[str]], before: int | None
    ) -> tuple[str, dict[str, Any]]:
        behind = 2**62 if before is None else before
        if self._readers.is_sqlite:
            return f"{table} MATCH :match AND rowid < :before", {
                "match": _sqlite_match(terms, groups),
                "before": behind,
            }
        match = _postgres_match(terms, groups)
        return "words @@ CAST(:match AS tsquery) AND number < :before", {"match": match, "before": behind}


def _is_empty(query: Query, tenant: str | None) -> bool:
    """Whether only things of other tenants are asked for."""
    return tenant is not None and bool(query.tenants) and tenant not in query.tenants


def _within(column: str, span: Span) -> list[str]:
    found = []
    if span.since is not None:
        found.append(f"{column} >= {span.since}")
    if span.until is not None:
        found.append(f"{column} < {span.until}")
    return [f"({column} IS NOT NULL AND {each})" for each in found]


def _sqlite_match(terms: Iterable[Term], groups: list[list[str]]) -> str:
    terms = list(terms)
    wanted = [f'"{t.letter}:{t.word}"{"*" if t.is_prefix else ""}' for t in terms if not t.is_absent]
    wanted += [f"({' OR '.join(_quoted(word) for word in group)})" for group in groups]
    absent = [f' NOT "{t.letter}:{t.word}"{"*" if t.is_prefix else ""}' for t in terms if t.is_absent]
    text = " AND ".join(wanted or [_quoted(words.EVERY)])
    for each in absent:
        text = f"({text}){each}"
    return text


def _postgres_match(terms: Iterable[Term], groups: list[list[str]]) -> str:
    wanted = [f"{'!' if t.is_absent else ''}'{t.letter}:{t.word}'{':*' if t.is_prefix else ''}" for t in terms]
    wanted += [f"({' | '.join(_single(word) for word in group)})" for group in groups]
    return " & ".join([*wanted, _single(words.EVERY)] if all(each[0] == "!" for each in wanted) else wanted)


def _quoted(word: str) -> str:
    return f'"{word}"'


def _single(word: str) -> str:
    return f"'{word}'"
