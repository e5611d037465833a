"""The table that summarises simulations, with one column per policy that finishes the work."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tradewind.model.units import money, seconds, show_duration, show_money
from tradewind.policies.compose import BALANCER, PLACER

Figures = dict[str, Any]


def amount(value: float) -> str:
    """Format money with two decimals, or as many as a small amount needs."""
    return f"{value:,.2f}" if value >= 1 or not value else show_money(money(float(f"{value:.3g}")))


def _time(value: float | None) -> str:
    return "-" if value is None else show_duration(seconds(value))


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


_ROWS: Sequence[tuple[str, Callable[[Figures], str]]] = (
    ("workflows", lambda f: f"{f['workflows']:,}"),
    ("tasks", lambda f: f"{f['tasks']:,}"),
    ("makespan", lambda f: _time(f["makespan_s"])),
    ("cost", lambda f: amount(f["cost_total"])),
    ("mean cost per interval", lambda f: amount(f["cost_per_interval"]["mean"])),
    ("highest cost per interval", lambda f: amount(f["cost_per_interval"]["max"])),
    ("intervals over budget", lambda f: str(f["intervals_over_budget"])),
    ("slowdown, mean", lambda f: _ratio(f["slowdown"]["mean"])),
    ("slowdown, median", lambda f: _ratio(f["slowdown"]["median"])),
    ("slowdown, 95 %", lambda f: _ratio(f["slowdown"]["p95"])),
    ("waiting, mean", lambda f: _time(f["waiting_s"]["mean"])),
    ("machines missing, spare", lambda f: f"{f['elasticity']['a_u']:.1%}, {f['elasticity']['a_o']:.1%}"),
    ("time missing, spare", lambda f: f"{f['elasticity']['t_u']:.0%}, {f['elasticity']['t_o']:.0%}"),
    ("machines busy, held", lambda f: f"{f['busy_share']:.1%}, {f['allocated_share']:.1%}"),
    ("mean decision", lambda f: f"{f['decision_ms']['mean']:.2f} ms"),
    ("simulated in", lambda f: f"{f['wall_s']:.2f} s"),
)


def _unfinished(figures: Figures) -> str:
    count = figures["unfinished_workflows"]
    return f"{count} of {figures['workflows']}" if count else ""


_TROUBLE: Sequence[tuple[str, Callable[[Figures], str]]] = (
    ("never finished", _unfinished),
    ("failed workflows", lambda f: str(f["failed_workflows"] or "")),
    ("rejected workflows", lambda f: str(f["refused_workflows"] or "")),
    (
        "failed / lost attempts",
        lambda f: f"{f['failures']}, {f['lost_attempts']}" if f["failures"] or f["lost_attempts"] else "",
    ),
    ("preempted attempts", lambda f: str(f["preempted_attempts"] or "")),
    ("deadlines missed", lambda f: str(f["deadline_misses"] or "")),
)


def print_summary(figures: Sequence[Figures], console: Console) -> None:
    """Print metrics side by side; leave out policies that never finish if others do, and name them."""
    finished = [each for each in figures if not each["unfinished_workflows"]]
    for block in _blocks(finished or figures, console.width):
        console.print(summary_table(block))
    for each in figures if finished else ():
        if each["unfinished_workflows"]:
            console.print(f"left out: {_heading(each)} never finished {_unfinished(each)}", highlight=False)


def _blocks(figures: Sequence[Figures], width: int) -> Iterator[list[Figures]]:
    """Yield as many columns at a time as fit the width."""
    rows = (*_ROWS, *_TROUBLE)
    names = max(len(name) for name, _ in rows)
    block: list[Figures] = []
    left = width - names
    for each in figures:
        needed = 2 + max(len(show(each)) for _, show in rows)
        if block and needed > left:
            yield block
            block, left = [], width - names
        block.append(each)
        left -= needed
    yield block


def summary_table(figures: Sequence[Figures]) -> Table:
    """Return a table of metrics side by side, with rows for failures only if there are any."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for each in figures:
        table.add_column(_heading(each), justify="right", overflow="fold")
    for name, show in _ROWS:
        table.add_row(name, *(show(each) for each in figures))
    for name, show in _TROUBLE:
        cells = [show(each) for each in figures]
        if any(cells):
            table.add_row(name, *cells)
    return table


def _heading(figures: Figures) -> str:
    own = {key: value for key, value in figures["parameters"].items() if key not in (PLACER, BALANCER)}
    return " ".join([figures["policy"], *(f"{key}={value}" for key, value in own.items())])
