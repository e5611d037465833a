"""Explain why tasks in a folder's store are waiting, and why they ran again."""

from tradewind.client.backend import Plain
from tradewind.core.transitions import UnitState
from tradewind.live.store.port import RunDetail, Store
from tradewind.live.store.rows import UnitRow


def reason(unit: UnitRow, live: Plain | None, *, is_running: bool) -> Plain:
    """Explain what blocks a task: according to the session, or what is known without one."""
    if live is not None:
        return {"cause": live["cause"], "text": live["text"], "until": live["until"]}
    if unit.state >= UnitState.DONE:
        said = f": {unit.message}" if unit.message else ""
        return {"cause": "ended", "text": f"is {UnitState(unit.state).name.lower()}{said}", "until": None}
    text = "" if is_running else "no session is running; `tradewind run --resume` continues"
    return {"cause": "waits" if is_running else "interrupted", "text": text, "until": None}


def again(detail: RunDetail, unit: UnitRow) -> Plain:
    """Explain why a task was tried more than once."""
    rows = [row for row in detail.attempts if row.unit == unit.number and row.outcome not in ("done", "cached")]
    why = [
        {"attempt": row.attempt, "outcome": row.outcome, "reason": row.reason, "machine": row.machine} for row in rows
    ]
    return {"task": unit.number, "name": unit.chain, "attempts": unit.attempt, "why": why}


def recalls(store: Store, detail: RunDetail, unit: UnitRow) -> list[Plain]:
    """Return, for each call of a task, whether it came from the cache or what had changed."""
    from tradewind.live.cache.explain import Whose, explained  # noqa: PLC0415 - slow

    whose = Whose(detail.run.id, detail.run.tenant, detail.run.name)
    return list(explained(whose, unit, detail.attempts, store))


def summary(detail: RunDetail, waiting: list[Plain], *, is_running: bool) -> str:
    """Summarise a run in one line."""
    if detail.run.ended is not None:
        return f"the run is {detail.run.status}"
    if not is_running:
        return "no session is running; `tradewind run --resume` continues it"
    causes: dict[str, int] = {}
    for each in waiting:
        causes[each["cause"]] = causes.get(each["cause"], 0) + 1
    return ", ".join(f"{count} {cause}" for cause, count in sorted(causes.items(), key=lambda item: -item[1]))
