"""The language of search: words, and conditions such as `status:failed start:>=2026-01-31`.

    align gpu                    both words, anywhere
    "align reads" -test trim*    words together, one that must not be there, the beginning of one
    is:task status:failed        only tasks, only those that failed
    name:align error:timeout capability:gpu tenant:ada run:1kq2z3a-17
    start:>=2026-01-31 end:<-2h  times: a day, a moment (ISO 8601), or so long ago

Conditions on the same field are alternatives (`status:failed status:cancelled`), all others must hold together.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from tradewind.live.store import words
from tradewind.model.errors import TradewindError
from tradewind.model.units import DAY, SECOND, Time, parse_duration

RUN_STATUSES = ("active", "suspended", "done", "failed", "cancelled")
TASK_STATUSES = ("waiting", "ready", "running", "delayed", "done", "failed", "cancelled")
KINDS = ("run", "task")
_FIELDS = ("is", "status", "name", "error", "capability", "tenant", "run", "start", "end")
_PART = re.compile(r'\s*(-?)(?:([A-Za-z_]+):)?(?:"([^"]*)"|([^\s"]+))')
_TIME = re.compile(r"(>=|<=|>|<|=)?(.+)", re.DOTALL)
_LONGEST = 1000
_MOST = 50


class QueryError(TradewindError):
    """A query that cannot be read; `column` is where, counted from one."""

    def __init__(self, reason: str, column: int) -> None:
        super().__init__(f"column {column}: {reason}")
        self.column = column


@dataclass(frozen=True, slots=True)
class Term:
    """A word that must be there, or must not."""

    letter: str
    """Where: see `tradewind.live.store.words`."""
    word: str
    is_prefix: bool = False
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time; `since` belongs to it, `until` does not."""

    since: Time | None = None
    until: Time | None = None

    def within(self, other: "Span") -> "Span":
        """What two stretches have in common."""
        since = [each for each in (self.since, other.since) if each is not None]
        until = [each for each in (self.until, other.until) if each is not None]
        return Span(max(since, default=None), min(until, default=None))

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for."""

    terms: tuple[Term, ...] = ()
    kinds: frozenset[str] = frozenset(KINDS)
    statuses: frozenset[str] = frozenset()
    """Empty: any."""
    tenants: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    """Ids."""
    start: Span = field(default=Span())
    end: Span = field(default=Span())


def parse(text: str, now: Time) -> Query:
    """What a text asks for; times ago are counted from now."""
    if len(text) > _LONGEST:
        raise QueryError(f"a query has at most {_LONGEST} characters", _LONGEST)
    query, at = Query(), 0
    while at < len(text.rstrip()):
        part = _PART.match(text, at)
        if part is None:
            raise QueryError("a quotation mark is not closed", at + 1)
        minus, name, quoted, plain = part.groups()
        column = part.start() + len(part[0]) - len(part[0].lstrip()) + 1
        query = _with(query, bool(minus), name, quoted, plain, column, now)
        if len(query.terms) > _MOST:
            raise QueryError(f"a query has at most {_MOST} words", column)
        at = part.end()
    return query


def _with(
    query: Query, is_absent: bool, name: str | None, quoted: str | None, plain: str | None, column: int, now: Time
) -> Query:
    value = plain if quoted is None else quoted
    assert value is not None  # noqa: S101  by the expression
    if name is not None and name.lower() not in _FIELDS:
        known = ", ".join(_FIELDS)
        raise QueryError(f"there is no field {name!r}; known are {known}, and words may stand in quotes", column)
    key = (name or "").lower()
    if is_absent and key not in ("", "name", "error", "capability"):
        raise QueryError(f"{key!r} cannot be denied", column)
    match key:
        case "is" if value.lower() in KINDS:
            kinds = query.kinds if query.kinds != frozenset(KINDS) else frozenset[str]()
            return replace(query, kinds=kinds | {value.lower()})
        case "is" | "status":
            if value.lower() not in {*RUN_STATUSES, *TASK_STATUSES}:
                known = ", ".join(dict.fromkeys((*RUN_STATUSES, *TASK_STATUSES)))
                raise QueryError(f"there is no status {value!r}; known are {known}", column)
            return replace(query, statuses=query.statuses | {value.lower()})
        case "tenant":
            return replace(query, tenants=query.tenants | {value})
        case "run":
            return replace(query, runs=query.runs | {value})
        case "start":
            return replace(query, start=query.start.within(_span(value, column, now)))
        case "end":
            return replace(query, end=query.end.within(_span(value, column, now)))
        case _:
            letter = key[0] if key else words.ANY
            is_prefix = quoted is None and value.endswith("*")
            found = list(words.split(value))
            terms = [
                Term(letter, word, is_prefix and place == len(found) - 1, is_absent) for place, word in enumerate(found)
            ]
            return replace(query, terms=query.terms + tuple(terms))


def _span(text: str, column: int, now: Time) -> Span:
    match = _TIME.fullmatch(text)
    sign, value = (match[1], match[2]) if match else (None, text)
    begin, end = _moment(value, column, now)
    match sign:
        case ">=":
            return Span(begin, None)
        case ">":
            return Span(end, None)
        case "<":
            return Span(None, begin)
        case "<=":
            return Span(None, end)
        case _:
            return Span(begin, end)


def _moment(text: str, column: int, now: Time) -> tuple[Time, Time]:
    """A day, a second or a moment, as the stretch from its beginning to just after its end."""
    if text.startswith("-"):
        try:
            at = now - parse_duration(text[1:])
        except (ValueError, OverflowError) as error:
            raise QueryError(str(error), column) from None
        return _bounded(at, at + 1)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise QueryError(
            f"{text!r} is not a time; write 2026-01-31, 2026-01-31T12:00 or, for so long ago, -2h", column
        ) from None
    moment = found if found.tzinfo else found.replace(tzinfo=UTC)
    at = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    length = DAY if len(text) <= 10 else SECOND if not moment.microsecond else 1
    return _bounded(at, at + length)


def _bounded(since: Time, until: Time) -> tuple[Time, Time]:
    most = 2**62
    return max(-most, min(most, since)), max(-most, min(most, until))
