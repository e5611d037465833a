"""Draw one run over time: demand, machines held and busy, and cost, for each tenant.

Machines held are stacked by type under the line of busy ones; where the line of demand is above the stack, tasks are
waiting. Below, the money reserved in each interval is compared with the budget.
"""

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from tradewind.core.metrics import TenantMeter
from tradewind.core.series import Curves, Series
from tradewind.model.units import in_units, show_duration
from tradewind.pictures.canvas import canvas
from tradewind.pictures.scale import BINS, MANY, Stairs, TimeScale, stairs, time_scale
from tradewind.pictures.style import BUDGET, BUSY, DEMAND, GREY, type_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEADROOM = 2.5
"""Demand above this multiple of the machines held is cut off, and its peak written as text."""


def draw_timeline(series: Series, path: Path, title: str = "") -> None:
    """Draw a run into a file; the suffix (svg, png, pdf) determines the format."""
    tenants = len(series.curves)
    columns = 1 if tenants <= 2 else 2
    rows = -(-tenants // columns)
    with canvas(path, 9.5 if columns == 1 else 14, 0.7 + 3.9 * rows) as figure:
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        grid = figure.add_gridspec(2 * rows, columns, height_ratios=[2.6, 1] * rows)
        for index in range(tenants):
            row, column = divmod(index, columns)
            machines = figure.add_subplot(grid[2 * row, column])
            money = figure.add_subplot(grid[2 * row + 1, column], sharex=machines)
            _draw_tenant(series, index, machines, money)
            machines.locator_params(axis="y", integer=True)
            if column == 0:
                machines.set_ylabel("machines, tasks")
                money.set_ylabel("reserved\nper interval")
        _explain(figure, series)


def _draw_tenant(series: Series, index: int, machines: "Axes", money: "Axes") -> None:
    meter = series.meter
    tenant = meter.tenants[index]
    end = max(meter.end, 1)
    scale = time_scale(end)
    _draw_machines(machines, series.curves[index], end, scale, type_colours(len(meter.kinds)))
    _draw_money(money, tenant, end, scale)
    scale.apply(machines, 0, end)
    machines.tick_params(labelbottom=False)
    is_averaged = len(series.curves[index].at) > MANY
    money.set_xlabel(f"{scale.name} (averages over {show_duration(end // BINS)})" if is_averaged else scale.name)
    machines.set_title(tenant.tenant.name)
    machines.set_title(
        _in_a_line(series, index),
        loc="right",
        fontweight="normal",
        fontsize=9,
        color=GREY,
    )


def _in_a_line(series: Series, index: int) -> str:
    """Summarise a tenant's workflows: their number, speed and cost."""
    tenant = series.meter.tenants[index]
    slowdowns = [run.slowdown for run in series.meter.runs if run.tenant == index and run.status == "done"]
    mean = f", mean slowdown {fmean(slowdowns):.2f}" if slowdowns else ""
    workflows = f"{len(slowdowns):,} workflow{'' if len(slowdowns) == 1 else 's'}"
    return f"{workflows}{mean}, cost {in_units(tenant.charged - tenant.refunded):,.6g}"


def _draw_machines(axes: "Axes", curves: Curves, end: int, scale: TimeScale, colours: list[str]) -> None:
    base: list[float] | None = None
    held = [0.0]
    for kind, colour in enumerate(colours):
        curve = stairs(curves.at, [row[kind] for row in curves.supply], 0, end).thinned()
        held = curve.values if base is None else [low + own for low, own in zip(base, curve.values, strict=True)]
        axes.stairs(held, _in(scale, curve), baseline=base or 0, fill=True, color=colour, linewidth=0)
        base = held
    demand = stairs(curves.at, curves.demand, 0, end).thinned()
    axes.stairs(demand.values, _in(scale, demand), baseline=None, color=DEMAND, linewidth=1.1)
    busy = stairs(curves.at, [sum(row) for row in curves.busy], 0, end).thinned()
    axes.stairs(
        busy.values, _in(scale, busy), baseline=None, color=BUSY, linewidth=1.1
    )  # drawn over demand: where it hides demand, nothing is waiting
    most = max(held)
    top = max(most, min(demand.top, _HEADROOM * most) if most else demand.top, 1)
    axes.set_ylim(0, 1.08 * top)
    if demand.top > top:
        peak = max(curves.demand)
        axes.text(
            0.995,
            0.97,
            f"demand peaks at {peak:,}",
            transform=axes.transAxes,
            ha="right",
            va="top",
            color=DEMAND,
            bbox={"color": "white", "alpha": 0.85, "pad": 1.5},
        )


def _draw_money(axes: "Axes", tenant: TenantMeter, end: int, scale: TimeScale) -> None:
    interval = tenant.tenant.interval
    count = len(tenant.per_interval(end))
    edges = [index * interval for index in range(count + 1)]
    base: list[float] | None = None
    curve = Stairs([0, 1], [0.0])
    for kind, colour in enumerate(type_colours(len(tenant.allocated))):
        spent = [in_units(tenant.spending[index][kind]) if index in tenant.spending else 0.0 for index in range(count)]
        curve = Stairs(edges, spent).thinned()
        top = curve.values if base is None else [low + own for low, own in zip(base, curve.values, strict=True)]
        axes.stairs(top, _in(scale, curve), baseline=base or 0, fill=True, color=colour, linewidth=0)
        base = top
    totals = [in_units(amount) for amount in tenant.per_interval(end)]
    highest = max(totals, default=0.0)
    if count > MANY:  # show the peaks that an average hides
        peaks = [max(totals[count * place // BINS : count * (place + 1) // BINS]) for place in range(BINS)]
        axes.stairs(peaks, _in(scale, curve), baseline=None, color=GREY, linewidth=0.8)
    budget = tenant.tenant.budget
    if budget is not None:
        axes.axhline(in_units(budget), color=BUDGET, linestyle=(0, (4, 3)), linewidth=1.2)
        highest = max(highest, in_units(budget))
    axes.set_ylim(0, 1.12 * highest or 1)


def _in(scale: TimeScale, curve: Stairs) -> list[float]:
    return [scale(edge) for edge in curve.edges]


def _explain(figure: "Figure", series: Series) -> None:
    """Draw one legend for all panels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  # an extra
    from matplotlib.patches import Patch  # noqa: PLC0415

    kinds, tenants, end = series.meter.kinds, series.meter.tenants, series.meter.end
    marks: list[Patch | Line2D] = [
        Patch(color=colour, label=f"{kind.name} held")
        for kind, colour in zip(kinds, type_colours(len(kinds)), strict=True)
    ]
    marks.append(Line2D([], [], color=BUSY, label="machines busy"))
    marks.append(Line2D([], [], color=DEMAND, label="demand: tasks running or waiting"))
    if any(tenant.tenant.budget is not None for tenant in tenants):
        marks.append(Line2D([], [], color=BUDGET, linestyle=(0, (4, 3)), label="budget"))
    if any(end > MANY * tenant.tenant.interval for tenant in tenants):
        marks.append(Line2D([], [], color=GREY, label="most expensive interval"))
    figure.legend(handles=marks, loc="outside lower left", ncols=min(len(marks), 6), columnspacing=1.4)
