"""Compare several policies on the same work in one picture: cost, duration, and machines over time.

Bars show cost, makespan and slowdown. Below them are the machines held (pale) and busy (strong) over the same period:
the pale area is paid for but idle.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradewind.core.series import Series
from tradewind.core.summary import summarise
from tradewind.model.units import seconds, show_duration
from tradewind.pictures.canvas import canvas
from tradewind.pictures.scale import held_and_busy, time_scale
from tradewind.pictures.style import BLACK, GREY, policy_colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_comparison(runs: Mapping[str, Series], path: Path, title: str = "") -> None:
    """Draw runs of the same work, by the label of their policy, into one file.

    Policies under which it never finishes are left out, with a note.
    """
    if not runs:
        raise ValueError("there is nothing to compare")
    summed = {label: summarise(series.meter) for label, series in runs.items()}
    colour_of = {label: policy_colour(label, place) for place, label in enumerate(runs)}
    labels = [label for label, each in summed.items() if each["slowdown"]["mean"] is not None]
    left_out = [label for label in summed if label not in labels]
    if not labels:
        raise ValueError(f"there is nothing to compare: {_never(left_out)}")
    if left_out:
        title = f"{title}\nleft out: {_never(left_out)}".lstrip()
    runs = {label: runs[label] for label in labels}
    colours = [colour_of[label] for label in labels]
    figures = [summed[label] for label in labels]
    width = max(9.5, 2.6 * len(runs) + 1)
    with canvas(path, width, 0.42 * len(runs) + 4.4) as figure:
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        above, below = figure.subfigures(2, 1, height_ratios=[0.42 * len(runs) + 0.9, 3.2], squeeze=False).flat
        panels = above.subplots(1, 3, sharey=True)
        _draw_bars(panels[0], "cost", labels, [f["cost_total"] for f in figures], colours, _money)
        _draw_bars(panels[1], "makespan", labels, [f["makespan_s"] for f in figures], colours, _time)
        _draw_bars(
            panels[2], "mean slowdown", labels, [f["slowdown"]["mean"] for f in figures], colours, "{:.2f}".format
        )
        row = below.subplots(1, len(runs), sharey=True, squeeze=False)[0]
        span = max(series.meter.end for series in runs.values())
        for axes, label, colour, found in zip(row, labels, colours, figures, strict=True):
            _draw_machines(axes, label, runs[label], span, colour, found)
        row[0].set_ylabel("machines held and busy")


def _draw_bars(
    axes: "Axes", title: str, labels: Sequence[str], values: Sequence[float], colours: Sequence[str], show: Any
) -> None:
    places = range(len(labels))
    axes.barh(places, values, color=colours, height=0.62)
    axes.set_yticks(places, labels)
    axes.set_title(title)
    axes.grid(visible=False)
    axes.xaxis.set_visible(False)
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.5, -0.5)  # the first on top
    most = max(values, default=0.0) or 1.0
    axes.set_xlim(0, 1.35 * most)
    for place, value in zip(places, values, strict=True):
        best = value == min(values)
        axes.text(
            value + 0.02 * most,
            place,
            show(value),
            va="center",
            color=BLACK,
            fontweight="bold" if best else "normal",
        )


def _draw_machines(
    axes: "Axes", label: str, series: Series, span: int, colour: str, figures: Mapping[str, Any]
) -> None:
    scale = time_scale(span)
    held, busy = held_and_busy(series.curves, max(series.meter.end, 1))
    for curve, strength in ((held.thinned(), 0.3), (busy.thinned(), 1.0)):
        edges = [scale(edge) for edge in curve.edges]
        axes.stairs(curve.values, edges, fill=True, color=colour, alpha=strength, linewidth=0)
    axes.axvline(scale(series.meter.end), color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    scale.apply(axes, 0, round(1.03 * span))
    axes.set_xlabel(scale.name)
    use = figures["busy_share"] / figures["allocated_share"] if figures["allocated_share"] else 0.0
    axes.set_title(label)
    axes.set_title(f"{use:.0%} of paid time used", loc="right", fontweight="normal", fontsize=8, color=GREY)


def _never(labels: Sequence[str]) -> str:
    return f"under {', '.join(labels)} the work never finished"


def _money(value: float) -> str:
    return f"{value:,.2f}".removesuffix(".00")


def _time(value: float) -> str:
    return show_duration(seconds(value))
