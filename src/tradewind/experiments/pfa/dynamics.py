"""Demand, supply and busy machines over half an hour, for each policy and user (the paper's Fig. 16)."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tradewind.core.series import Curves
from tradewind.experiments.pfa.run import WINDOW, Dynamics
from tradewind.experiments.pfa.settings import INTERVAL, SIZE, TYPES, USERS, Variant
from tradewind.model.units import SECOND, Time
from tradewind.pictures.canvas import canvas
from tradewind.pictures.scale import stairs
from tradewind.pictures.style import BUSY, DEMAND, GREY, PALE, type_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEGIN, END = WINDOW
CEILING = 1.25 * SIZE
"""Demand above this is cut off."""


def draw_dynamics(dynamics: Mapping[Variant, Dynamics], path: Path) -> None:
    """Draw one panel per policy and user."""
    with canvas(path, 11, 2.3 * len(dynamics) * len(USERS) + 0.5) as figure:
        panels = figure.subplots(len(dynamics) * len(USERS), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        rows = [(variant, found, user) for variant, found in dynamics.items() for user in range(len(USERS))]
        for axes, (variant, found, user) in zip(panels, rows, strict=True):
            _draw(axes, found.curves[user], found.arrivals[user])
            axes.set_title(f"{variant.label}, {USERS[user]}")
            axes.set_ylabel("machines, tasks")
        panels[0].set_ylim(0, CEILING)
        panels[0].set_xlim(0, (END - BEGIN) / SECOND)
        panels[-1].set_xlabel("seconds")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)


def _draw(axes: "Axes", curves: Curves, arrivals: tuple[Time, ...]) -> None:
    base: list[float] | None = None
    for kind, (type_, colour) in enumerate(zip(TYPES, type_colours(len(TYPES)), strict=True)):
        curve = stairs(curves.at, [row[kind] for row in curves.supply], BEGIN, END)
        top = curve.values if base is None else [low + own for low, own in zip(base, curve.values, strict=True)]
        edges = [_seconds(edge) for edge in curve.edges]
        axes.stairs(top, edges, baseline=base or 0, fill=True, color=colour, linewidth=0, label=f"{type_.name} held")
        base = top
    demand = stairs(curves.at, curves.demand, BEGIN, END)
    busy = stairs(curves.at, [sum(row) for row in curves.busy], BEGIN, END)
    for label, line, colour in (("demand", demand, DEMAND), ("busy", busy, BUSY)):
        edges = [_seconds(edge) for edge in line.edges]
        axes.stairs(line.values, edges, baseline=None, color=colour, linewidth=1, label=label)
    axes.axhline(SIZE, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), label=f"all {SIZE} machines")
    shown = [_seconds(at) for at in arrivals if BEGIN <= at < END]
    axes.vlines(shown, 0, CEILING, color=PALE, linewidth=0.9, zorder=0.5, label="arrivals")
    axes.set_xticks(range(0, (END - BEGIN) // SECOND + 1, 2 * INTERVAL // SECOND))


def _seconds(at: Time) -> float:
    return (at - BEGIN) / SECOND
