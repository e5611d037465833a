"""The table that sums up simulations, one column for each policy."""

from collections.abc import Callable, Sequence
from typing import Any

from rich.table import Table

from tradewind.model.units import money, seconds, show_duration, show_money

Figures = dict[str, Any]


def amount(value: float) -> str:
    """Money to two places, or as many as it takes to see any of it."""
    return f"{value:,.2f}" if value >= 1 or not value else show_money(money(float(f"{value:.3g}")))


_ROWS: Sequence[tuple[str, Callable[[Figures], str]]] = (
    ("workflows", lambda f: f"{f['workflows']:,}"),
    ("tasks", lambda f: f"{f['tasks']:,}"),
    ("makespan", lambda f: show_duration(seconds(f["makespan_s"]))),
    ("cost", lambda f: amount(f["cost_total"])),
    ("mean cost an interval", lambda f: amount(f["cost_per_interval"]["mean"])),
    ("highest cost an interval", lambda f: amount(f["cost_per_interval"]["max"])),
    ("intervals over budget", lambda f: str(f["intervals_over_budget"])),
    ("slowdown, mean", lambda f: f"{f['slowdown']['mean']:.2f}"),
    ("slowdown, median", lambda f: f"{f['slowdown']['median']:.2f}"),
    ("slowdown, 95 %", lambda f: f"{f['slowdown']['p95']:.2f}"),
    ("waiting, mean", lambda f: show_duration(seconds(f["waiting_s"]["mean"]))),
    ("machines lacking, spare", lambda f: f"{f['elasticity']['a_u']:.1%}, {f['elasticity']['a_o']:.1%}"),
    ("time lacking, spare", lambda f: f"{f['elasticity']['t_u']:.0%}, {f['elasticity']['t_o']:.0%}"),
    ("machines busy, held", lambda f: f"{f['busy_share']:.1%}, {f['allocated_share']:.1%}"),
    ("mean decision", lambda f: f"{f['decision_ms']['mean']:.2f} ms"),
    ("simulated in", lambda f: f"{f['wall_s']:.2f} s"),
)
_TROUBLE: Sequence[tuple[str, Callable[[Figures], str]]] = (
    ("never finished", lambda f: str(f["unfinished_workflows"] or "")),
    ("failed workflows", lambda f: str(f["failed_workflows"] or "")),
    ("refused workflows", lambda f: str(f["refused_workflows"] or "")),
    (
        "failed / lost attempts",
        lambda f: f"{f['failures']}, {f['lost_attempts']}" if f["failures"] or f["lost_attempts"] else "",
    ),
    ("preempted attempts", lambda f: str(f["preempted_attempts"] or "")),
    ("deadlines missed", lambda f: str(f["deadline_misses"] or "")),
)


def summary_table(figures: Sequence[Figures]) -> Table:
    """Figures side by side; what went wrong is shown where anything did."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for each in figures:
        table.add_column(_heading(each), justify="right")
    for name, show in _ROWS:
        table.add_row(name, *(show(each) for each in figures))
    for name, show in _TROUBLE:
        cells = [show(each) for each in figures]
        if any(cells):
            table.add_row(name, *cells)
    return table


def _heading(figures: Figures) -> str:
    parameters = ",".join(f"{key}={value}" for key, value in figures["parameters"].items())
    return f"{figures['policy']} {parameters}".strip()
