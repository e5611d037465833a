"""Bar charts like the paper's (Fig. 9 to 19 and 22 to 24), drawn from our runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from tradewind.experiments.slacksched.curves import COLOURS, CURVES
from tradewind.experiments.slacksched.judge import gain
from tradewind.experiments.slacksched.measure import mean_reduction
from tradewind.experiments.slacksched.run import (
    CAPACITY,
    ERRORS,
    LARGE_SPOT,
    LONGEST,
    NEWEST,
    NODELAY,
    ORACLE,
    OWN,
    SLACKSCHED,
    SPACINGS,
    STANDARD,
    Study,
)
from tradewind.experiments.slacksched.settings import SHORT
from tradewind.model.units import MINUTE
from tradewind.pictures.canvas import canvas
from tradewind.pictures.style import BLUE, GREEN, GREY, ORANGE, PINK
from tradewind.sim.traces.provider import PLACEMENTS

Rows = Mapping[str, Sequence[float]]
"""By scheme: a value for each label."""


def draw_figures(study: Study, folder: Path, step: Callable[[str], None]) -> list[Path]:
    """Draw all figures into a folder and return the files written."""
    written = []
    for name, (title, labels, rows, axis) in sheets(study).items():
        path = folder / f"{name}.svg"
        draw_bars(path, title, labels, rows, axis)
        written.append(path)
        step(f"drawing {path.name}")
    for name, draw in CURVES.items():
        path = folder / f"{name}.svg"
        draw(path, study)
        written.append(path)
        step(f"drawing {path.name}")
    return written


FIGURES = 10 + len(CURVES)


def sheets(study: Study) -> dict[str, tuple[str, Sequence[str], Rows, str]]:
    """Return the charts to draw: title, labels, rows and the name of the axis."""
    clusters = study.extent.clusters
    reduction = "mean reduction, %"
    base = study[STANDARD, CAPACITY][: len(study[f"error {ERRORS[0]:+.0%}", SLACKSCHED])]

    def gains(experiments: Sequence[str], schemes: Sequence[str]) -> Rows:
        return {scheme: [100 * gain(study, each, scheme) for each in experiments] for scheme in schemes}

    both = (SLACKSCHED, ORACLE)
    usual, spaced = SHORT.longest // MINUTE, SHORT.spacing // MINUTE
    lengths = {minutes: STANDARD if minutes == usual else f"longest {minutes}" for minutes in sorted((*LONGEST, usual))}
    loads = {
        minutes: STANDARD if minutes == spaced else f"spacing {minutes}" for minutes in sorted((*SPACINGS, spaced))
    }
    markets = ("on-demand", "spot", LARGE_SPOT, "harvest", NEWEST, SLACKSCHED)
    forms = ("first", "several", "shrink")
    return {
        "fig9-clusters": ("By cluster", clusters, gains(clusters, (NODELAY, *both)), reduction),
        "fig9-newest-first": (
            "By cluster, newest killed first",
            clusters,
            gains([f"{name} {OWN}" for name in clusters], both),
            reduction,
        ),
        "fig11-run-times": (
            "By distribution of run times",
            ("uniform", "gaussian", "pareto"),
            gains((STANDARD, "gaussian", "pareto"), both),
            reduction,
        ),
        "fig12-length": (
            "By longest task",
            [f"{each} min" for each in lengths],
            gains(list(lengths.values()), both),
            reduction,
        ),
        "fig14-load": (
            "By spacing of jobs",
            [f"{each} min" for each in loads],
            gains(list(loads.values()), both),
            reduction,
        ),
        "fig15-errors": (
            "By error of estimates",
            [f"{error:+.0%}" for error in ERRORS],
            {
                scheme: [100 * mean_reduction(study[f"error {error:+.0%}", scheme], base) for error in ERRORS]
                for scheme in both
            },
            reduction,
        ),
        "fig16-acquirer": (
            "Scheduler and acquirer",
            PLACEMENTS,
            gains(PLACEMENTS, (SLACKSCHED, f"{CAPACITY}+acquirer", f"{SLACKSCHED}+acquirer")),
            reduction,
        ),
        "fig17-cost": (
            "Cost of the same work",
            markets,
            {"cost": [fmean(each.cost for each in study["cost", name]) for name in markets]},
            "cost",
        ),
        "fig18-markets": (
            "Completion time relative to spot",
            markets,
            {"reduction": [100 * mean_reduction(study["cost", name], study["cost", "spot"]) for name in markets]},
            reduction,
        ),
        "fig22-forms": (
            "Forms of the completion probability, and rivals",
            (*forms, "checkpoint 1", "checkpoint 2", "replicate"),
            {
                "reduction": [
                    100 * gain(study, STANDARD, name) for name in (*forms, "checkpoint 1", "checkpoint 2", "replicate")
                ]
            },
            reduction,
        ),
    }


def draw_bars(path: Path, title: str, labels: Sequence[str], rows: Rows, axis: str) -> None:
    """Draw bars side by side, one colour per scheme."""
    with canvas(path, max(4.0, 0.9 * len(labels) + 2), 3.0) as figure:
        axes = figure.subplots()
        width = 0.8 / len(rows)
        others = iter((PINK, ORANGE, GREEN, GREY))
        for place, (scheme, values) in enumerate(rows.items()):
            shift = (place - (len(rows) - 1) / 2) * width
            colour = COLOURS.get(scheme) or (BLUE if len(rows) == 1 else next(others))
            axes.bar([each + shift for each in range(len(labels))], values, width, color=colour, label=scheme)
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.set_xticks(range(len(labels)), [label.replace(", ", ",\n") for label in labels])
        axes.set_ylabel(axis)
        axes.set_title(title)
        if len(rows) > 1:
            axes.legend(loc="best")
