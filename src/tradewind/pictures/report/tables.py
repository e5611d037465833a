"""The text and tables of a report, as HTML."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from tradewind.model.units import SECOND, Duration, in_units, show_duration
from tradewind.pictures.report.account import Account
from tradewind.pictures.report.chart import colour
from tradewind.pictures.report.costs import Use
from tradewind.pictures.report.facts import DONE, RUNNING, Attempt, Unit
from tradewind.pictures.report.waits import Held

MOST_ROWS = 60
"""Maximum number of rows of a table; the rest is counted in its last row."""
_PATH_ENDS = 30
"""Number of links shown at each end of a long path."""
_UNKNOWN = "\N{EN DASH}"
_TAIL = 4000
"""Maximum number of characters of a failed attempt's output."""


def summary(account: Account) -> str:
    """Return the summary cards."""
    costs = account.costs.total
    tasks = sum(run.tasks for run in account.runs)
    done = sum(step.done for step in account.steps.values())
    attempts = sum(step.attempts for step in account.steps.values())
    failed = sum(step.failed for step in account.steps.values())
    path = sum(link.length for link in account.path)
    length = account.end - account.begin
    late = [run for run in account.runs if run.deadline is not None and (run.ended or account.end) > run.deadline]
    figures = [
        ("status", account.status, {"done": "good", "failed": "bad"}.get(account.status, "")),
        ("makespan", show_time(length), ""),
        ("tasks done", f"{done:,}" if done == tasks else f"{done:,} of {tasks:,}", "" if done == tasks else "bad"),
        (
            "unsuccessful attempts" if failed else "attempts",
            f"{failed:,} of {attempts:,}" if failed else f"{attempts:,}",
            "bad" * (failed > 0),
        ),
        ("machines", f"{costs.machines:,}" + (f", {costs.lost:,} lost" if costs.lost else ""), ""),
        ("of held time busy", _percent(costs.at_work, costs.held), ""),
        ("cost", _amount(costs.cost), ""),
        (f"wasted, {_percent(costs.waste, costs.cost)}", _amount(costs.waste), "")
        if costs.cost
        else ("wasted", _UNKNOWN, ""),
        (f"critical path, {_percent(path, length)}", show_time(path), "") if path else ("critical path", _UNKNOWN, ""),
    ]
    if recalled := sum(run.recalled for run in account.runs):
        figures.insert(3, ("from the cache", f"{recalled:,}", ""))
    if any(run.deadline is not None for run in account.runs):
        figures.append(("deadline", f"{len(late)} missed" if late else "met", "bad" if late else "good"))
    cards = "".join(
        f'<div class="card {mood}"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for name, value, mood in figures
    )
    return f'<div class="cards">{cards}</div>'


def subtitle(account: Account) -> str:
    """Return when it ran and what it consisted of."""
    words = [_counted(len(account.runs), "run"), f"{_counted(len(account.steps), 'kind')} of tasks"]
    words += sorted({f"tenant {run.tenant}" for run in account.runs})[:3]
    if account.source.is_real:
        words.insert(0, f"submitted {datetime.fromtimestamp(account.begin / 1e6, UTC):%Y-%m-%d %H:%M:%S} UTC")
    return escape(" · ".join(words))


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'s'[: number != 1]}"


def steps(account: Account) -> str:
    """Return a table of work, cost and waste by step."""
    uses = account.costs.steps
    most = max(
        (uses[name].cost if account.costs.total.cost else step.busy for name, step in account.steps.items()), default=0
    )
    rows = []
    for at, (name, step) in enumerate(account.steps.items()):
        use = uses[name]
        bars = (
            [("useful", use.useful), ("repeated", use.repeated)]
            if account.costs.total.cost
            else [("useful", step.busy)]
        )
        mean = step.busy // step.attempts if step.attempts else 0
        failed = f'<span class="bad">{step.failed:,}</span>' if step.failed else ""
        cells = (
            f'<i style="background:{colour(at)}"></i>{escape(name)}',
            f"{step.units:,}",
            f"{step.done:,}",
            failed,
            show_time(mean),
            show_time(step.longest),
            show_time(step.busy),
            show_time(step.waited) if step.waited else "",
            _amount(use.cost) if use.cost else "",
            _amount(use.repeated) if use.repeated else "",
            _bar(bars, most),
        )
        rows.append((step.busy, cells))
    rows.sort(key=lambda row: -row[0])
    head = ("step", "tasks", "done", "failed", "mean", "longest", "work", "waited", "cost", "wasted", "")
    return _table(head, [cells for _, cells in rows])


def types(account: Account) -> str:
    """Return a table of cost by machine type."""
    uses = sorted(account.costs.types.items(), key=lambda item: (-item[1].cost, -item[1].held, item[0]))
    is_paid = account.costs.total.cost > 0
    most = max((use.cost if is_paid else use.held for _, use in uses), default=0)
    head = ("machine type", "machines", "lost", "held", "busy", "cost", "useful", "repeated", "booting", "idle", "")
    rows = [
        (
            escape(name),
            f"{use.machines:,}",
            f'<span class="bad">{use.lost:,}</span>' if use.lost else "",
            show_time(use.held),
            _percent(use.at_work, use.held),
            *(_amount(each) if is_paid else "" for each in (use.cost, use.useful, use.repeated, use.booting, use.idle)),
            _bar(_parts(use), most)
            if is_paid
            else _bar([("useful", use.at_work), ("idle", use.held - use.at_work)], most),
        )
        for name, use in uses
    ]
    return _table(head, rows)


def _parts(use: Use) -> list[tuple[str, float]]:
    return [("useful", use.useful), ("repeated", use.repeated), ("booting", use.booting), ("idle", use.idle)]


def path(account: Account) -> str:
    """Return the critical path, shortened in the middle if it is long."""
    if not account.path:
        return "<p>Nothing has ended yet.</p>"
    length = max(account.end - account.begin, 1)
    waited = sum(link.waited for link in account.path)
    links = list(account.path)
    rows: list[tuple[str, ...]] = []
    for at, link in enumerate(links):
        if len(links) > 2 * _PATH_ENDS and at == _PATH_ENDS:
            rows.append((f"<em>… {len(links) - 2 * _PATH_ENDS:,} more …</em>", "", "", "", "", ""))
        if len(links) > 2 * _PATH_ENDS and _PATH_ENDS <= at < len(links) - _PATH_ENDS:
            continue
        machine = account.facts.machines.get(link.attempt.machine)
        since = (link.attempt.begin - account.begin) / length * 100
        bar = (
            f'<div class="span"><u style="left:{since - link.waited / length * 100:.2f}%;'
            f'width:{link.waited / length * 100:.2f}%"></u>'
            f'<s style="left:{since:.2f}%;width:{max(link.length / length * 100, 0.3):.2f}%"></s></div>'
        )
        rows.append(
            (
                escape(_name(link.unit, link.attempt)),
                escape(_AFTER[link.after]),
                show_time(link.waited) if link.waited else "",
                show_time(link.length),
                escape(f"{machine.kind} {machine.number}" if machine is not None else ""),
                bar,
            )
        )
    work = sum(link.length for link in account.path)
    words = (
        f"<p>{_counted(len(links), 'task')} in a row: {show_time(work)} of work and {show_time(waited)} of waiting"
        f" in a makespan of {show_time(length)}.</p>"
    )
    return words + _table(("task", "after", "waited", "ran", "on", ""), rows, most=2 * _PATH_ENDS + 1, sums=False)


_AFTER = {
    "parent": "its last parent",
    "attempt": "the previous attempt",
    "machine": "the previous task on its machine",
    "submission": "the submission",
}


def waits(account: Account) -> str:
    """Return waiting times by step and cause, and the longest single waits."""
    if not account.waits:
        return "<p>No task had to wait.</p>"
    sums: dict[tuple[str, Held, str], list[Duration]] = defaultdict(list)
    units = account.facts.units
    for wait in account.waits:
        sums[units[wait.unit].kind, wait.held, wait.other].append(wait.length)
    order = sorted(sums.items(), key=lambda item: (-sum(item[1]), item[0]))
    most = sum(order[0][1])
    rows = [
        (
            escape(kind),
            escape(held),
            escape(other),
            f"{len(lengths):,}",
            show_time(sum(lengths)),
            show_time(sum(lengths) // len(lengths)),
            show_time(max(lengths)),
            _bar([(held.name.lower(), sum(lengths))], most),
        )
        for (kind, held, other), lengths in order
    ]
    longest = sorted(account.waits, key=lambda wait: (-wait.length, wait.unit))[:15]
    single = [
        (
            escape(units[wait.unit].id),
            escape(wait.held),
            escape(wait.other),
            show_time(wait.length),
            f"{show_time(wait.begin - account.begin)}",
        )
        for wait in longest
    ]
    head = ("step", "waited for", "detail", "times", "total", "mean", "longest", "")
    by_step = _table(head, rows, most=30)
    return f"{by_step}<h3>Longest waits</h3>{_table(('task', 'waited for', 'detail', 'for', 'from'), single)}"


def failures(account: Account) -> str:
    """Return unsuccessful attempts with their output."""
    found = [
        (unit, attempt) for unit in account.units for attempt in unit.attempts if attempt.outcome not in (DONE, RUNNING)
    ]
    words = "".join(f'<p class="bad">rejected: {escape(each)}</p>' for each in account.facts.refused)
    if not found:
        return words or "<p>Nothing has failed.</p>"
    reasons: dict[tuple[str, str], int] = defaultdict(int)
    for unit, attempt in found:
        reasons[unit.kind, attempt.reason or attempt.outcome] += 1
    by_reason = [
        (escape(kind), escape(reason), f"{count:,}")
        for (kind, reason), count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    found.sort(key=lambda pair: (pair[1].end or 0, pair[0].number))
    details = "".join(_failure(account, unit, attempt) for unit, attempt in _last_first(found))
    return words + _table(("step", "reason", "attempts"), by_reason, most=20) + details


def _last_first(found: Sequence[tuple[Unit, Attempt]]) -> Iterator[tuple[Unit, Attempt]]:
    """Yield attempts that ended a unit first, up to a maximum."""
    final = [pair for pair in found if pair[1] is pair[0].attempts[-1]]
    others = [pair for pair in found if pair[1] is not pair[0].attempts[-1]]
    yield from (final + others)[:40]


def _failure(account: Account, unit: Unit, attempt: Attempt) -> str:
    machine = account.facts.machines.get(attempt.machine)
    where = f" on {machine.kind} {machine.number}" if machine is not None else ""
    tail = account.source.tails.get((unit.number, attempt.number), "")
    text = f"<pre>{escape(tail[-_TAIL:])}</pre>" if tail else ""
    when = show_time((attempt.end or account.end) - account.begin)
    head = f"{escape(_name(unit, attempt))}: {escape(attempt.reason or attempt.outcome)}"
    words = f"<p>{attempt.outcome} after {when}{escape(where)}</p>"
    is_open = " open" if tail and attempt is unit.attempts[-1] else ""
    return f"<details{is_open}><summary>{head}</summary>{words}{text}</details>"


def _name(unit: Unit, attempt: Attempt) -> str:
    return f"{unit.id} (attempt {attempt.number})" if len(unit.attempts) > 1 else unit.id


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, most: int = MOST_ROWS, sums: bool = True) -> str:
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[:most])
    if sums and len(rows) > most:
        body += f'<tr><td colspan="{len(head)}"><em>and {len(rows) - most:,} more</em></td></tr>'
    heads = "".join(f"<th>{escape(each)}</th>" for each in head)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _bar(parts: Sequence[tuple[str, float]], most: float) -> str:
    if not most:
        return ""
    inner = "".join(
        f'<b class="{name}" style="width:{value / most * 100:.2f}%" title="{name}"></b>'
        for name, value in parts
        if value > 0
    )
    return f'<div class="bar">{inner}</div>'


def _amount(value: float) -> str:
    """Format money to four significant digits."""
    units = in_units(1) * value
    return f"{units:,.2f}" if abs(units) >= 100 else f"{units:.4g}"


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else _UNKNOWN


def show_time(duration: Duration) -> str:
    """Format a duration to three significant digits, like `show_duration` above a second."""
    if 0 < duration < SECOND:
        return f"{duration / 1000:.3g}ms"
    return show_duration(duration)
