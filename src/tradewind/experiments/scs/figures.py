"""The paper's figures 8 to 14, drawn from our runs, each in its own file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tradewind.experiments.scs.lookup import cells_of, mean_cost, punctual, utilisation, volumes
from tradewind.experiments.scs.run import Study
from tradewind.experiments.scs.settings import (
    APPLICATIONS,
    GAIN,
    GAIN_QUEUE,
    GREEDY,
    GREEDY_QUEUE,
    LAGGING,
    NOISY,
    PATTERNS,
    PLUS,
    SCS,
    VARIANTS,
    Cell,
    Variant,
)
from tradewind.model.units import HOUR
from tradewind.pictures.canvas import canvas
from tradewind.pictures.style import BLUE, GREEN, ORANGE, RED, SKY, YELLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {SCS: BLUE, PLUS: RED, GREEDY: ORANGE, GREEDY_QUEUE: YELLOW, GAIN: GREEN, GAIN_QUEUE: SKY}
NAMES = ("fig08-pipeline", "fig09-parallel", "fig10-hybrid", "fig11-volume", "fig12-times", "fig13-lag", "fig14-time")


def draw_figures(study: Study, folder: Path, step: Callable[[str], None]) -> list[Path]:
    """Draw all figures into a folder and return the files written."""
    written = [folder / f"{name}.svg" for name in NAMES]
    for number, (application, path) in enumerate(zip(APPLICATIONS, written, strict=False), start=8):
        _application(study, path, application, number)
        step(f"drawing {path.name}")
    _volume(study, written[3])
    _imprecise(study, written[4], NOISY, "Run times vary by 20%: pipeline, 0.5 h (Fig. 12)")
    _imprecise(study, written[5], LAGGING, "The lag varies by 20%: pipeline, 1 h (Fig. 13)")
    _decisions(study, written[6])
    for path in written[3:]:
        step(f"drawing {path.name}")
    return written


def _bars(axes: "Axes", groups: Sequence[str], rows: dict[Variant, list[float]]) -> None:
    """Draw groups of bars side by side."""
    width = 0.8 / len(rows)
    for place, (variant, values) in enumerate(rows.items()):
        at = [group + (place - (len(rows) - 1) / 2) * width for group in range(len(groups))]
        axes.bar(at, values, width, color=COLOURS[variant], label=variant.label)
    axes.set_xticks(range(len(groups)), groups)


def _application(study: Study, path: Path, application: str, number: int) -> None:
    cells = [cell for cell in cells_of(study.cells) if cell.application == application]
    with canvas(path, 12, 6) as figure:
        panels = figure.subplots(2, len(PATTERNS), sharey="row", squeeze=False)
        for column, pattern in enumerate(PATTERNS):
            row = [cell for cell in cells if cell.pattern == pattern]
            groups = [f"{cell.deadline / HOUR:g} h" for cell in row]
            _bars(panels[0][column], groups, {v: [mean_cost(study.cells, c, v) for c in row] for v in VARIANTS})
            shares = {v: [100 * utilisation(study.cells[c, v]) for c in row] for v in VARIANTS}
            _bars(panels[1][column], groups, shares)
            panels[0][column].set_title(pattern)
        panels[0][0].set_ylabel("cost")
        panels[1][0].set_ylabel("utilisation [%]")
        figure.suptitle(f"{application.capitalize()} application (Fig. {number})")
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(VARIANTS))


def _volume(study: Study, path: Path) -> None:
    found = volumes(study.cells)
    with canvas(path, 3.2 * len(found), 3.6) as figure:
        panels = figure.subplots(1, len(found), squeeze=False)[0]
        for axes, volume in zip(panels, found, strict=True):
            cells = [c for c in cells_of(study.cells, volume) if c.application == "pipeline" and c.deadline == HOUR]
            _bars(
                axes, [c.pattern for c in cells], {v: [mean_cost(study.cells, c, v) for c in cells] for v in VARIANTS}
            )
            axes.set_title(f"{volume:g} jobs per hour")
            axes.tick_params(axis="x", labelsize=7.5)
        panels[0].set_ylabel("cost")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.suptitle("Pipeline, 1 h, by volume (Fig. 11)")
        figure.legend(handles, labels, loc="outside lower center", ncols=len(VARIANTS))


def _imprecise(study: Study, path: Path, cells: Sequence[Cell], title: str) -> None:
    with canvas(path, 7, 3.6) as figure:
        axes = figure.add_subplot()
        rows = {v: [100 * punctual(study.noise[cell, v]) for cell in cells] for v in VARIANTS}
        _bars(axes, [cell.pattern for cell in cells], rows)
        axes.set_ylabel("jobs on time [%]")
        axes.set_title(title)
        figure.legend(loc="outside lower center", ncols=len(VARIANTS))


def _decisions(study: Study, path: Path) -> None:
    with canvas(path, 5, 3.6) as figure:
        axes = figure.add_subplot()
        for variant, timings in study.timings.items():
            laps = [1000 * timing.turn for timing in timings.values()]
            axes.plot(list(timings), laps, "o-", color=COLOURS[variant], label=variant.label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("active jobs")
        axes.set_ylabel("one decision [ms]")
        axes.set_title("Decision time (Fig. 14)")
