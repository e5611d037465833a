"""Of each call of a chain that has ended: whether it was taken from the cache, or else what differed from before."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tradewind.live.cache.cache import step_of
from tradewind.live.cache.why import why_not_cached
from tradewind.live.store.port import Store
from tradewind.live.store.rows import AttemptRow, CacheRow, UnitRow

_MOST = 1_000
"""Earlier calls of a step that are compared."""
_NOTHING = "it ran, and nothing is remembered of it: it says cache: false, or reads files that changed meanwhile"


class Whose(NamedTuple):
    """A run, as the cache knows it."""

    id: str
    tenant: str
    program: str


def explained(run: Whose, unit: UnitRow, attempts: Sequence[AttemptRow], store: Store) -> Iterator[dict[str, Any]]:
    """For each call that has left something behind: `call`, `cached`, a `text`, and what differed as plain values."""
    recalled = next((each.reason for each in attempts if each.unit == unit.number and each.outcome == "cached"), None)
    for call, results in (unit.results or {}).items():
        if recalled is not None:
            yield {"call": call, "cached": True, "text": f"taken from the cache, {recalled}"}
        elif results:
            step = step_of(run.program, call)
            rows = store.cached(tenant=run.tenant, step=step, limit=_MOST)
            yield {"call": call, **_explained(run, call, results, [row for row in rows if row.step == step])}
        else:
            yield {"call": call, "cached": False, "text": "it declares no outputs, and is run each time"}


def _explained(run: Whose, call: str, results: Any, rows: list[CacheRow]) -> dict[str, Any]:
    own = next((row for row in rows if row.run == run.id and row.call == call), None)
    if own is None:
        equal = next((row for row in rows if row.results == results), None)
        if equal is None:
            return {"cached": False, "text": _NOTHING}
        return {"cached": True, "text": f"taken from the cache, as in run {equal.run}"}
    found = why_not_cached(own, rows)
    return {
        "cached": False,
        "text": f"it ran: {found}",
        "closest": None if found.closest is None else {"run": found.closest.run, "call": found.closest.call},
        "differences": [each._asdict() for each in found.differences],
    }
