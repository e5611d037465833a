"""Figures like the paper's, drawn from our runs: Fig. 9 to 19 and 22 to 24."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from tradewind.experiments.slacksched.judge import gain
from tradewind.experiments.slacksched.measure import mean_reduction
from tradewind.experiments.slacksched.run import (
    CAPACITY,
    ERRORS,
    LONGEST,
    NODELAY,
    ORACLE,
    OWN,
    SLACKSCHED,
    SPACINGS,
    STANDARD,
    Study,
)
from tradewind.pictures.canvas import canvas
from tradewind.pictures.style import BLUE, GREEN, GREY, ORANGE, PINK
from tradewind.sim.traces.provider import PLACEMENTS

COLOURS: Mapping[str, str] = MappingProxyType({CAPACITY: GREY, NODELAY: ORANGE, SLACKSCHED: BLUE, ORACLE: GREEN})
Rows = Mapping[str, Sequence[float]]
"""By scheme: a value for each label."""


def draw_figures(study: Study, folder: Path, step: Callable[[str], None]) -> list[Path]:
    """Draw all figures into a folder; the files written."""
    written = []
    for name, (title, labels, rows, axis) in sheets(study).items():
        path = folder / f"{name}.svg"
        draw_bars(path, title, labels, rows, axis)
        written.append(path)
        step(f"drawing {path.name}")
    path = folder / "fig10-distributions.svg"
    draw_distributions(path, study)
    step(f"drawing {path.name}")
    return [*written, path]


FIGURES = 12


def sheets(study: Study) -> dict[str, tuple[str, Sequence[str], Rows, str]]:
    """What is drawn: title, labels, rows and the name of the axis."""
    clusters = study.extent.clusters
    reduction = "mean reduction, %"
    base = study[STANDARD, CAPACITY][: len(study[f"error {ERRORS[0]:+.0%}", SLACKSCHED])]

    def gains(experiments: Sequence[str], schemes: Sequence[str]) -> Rows:
        return {scheme: [100 * gain(study, each, scheme) for each in experiments] for scheme in schemes}

    both = (SLACKSCHED, ORACLE)
    lengths = [f"longest {minutes}" for minutes in LONGEST]
    loads = [f"spacing {minutes}" for minutes in SPACINGS]
    markets = ("on-demand", "spot", "harvest", SLACKSCHED)
    forms = ("first", "several", "shrink")
    return {
        "fig9-clusters": ("Over clusters", clusters, gains(clusters, (NODELAY, *both)), reduction),
        "fig9-newest-first": (
            "Over clusters, newest killed first",
            clusters,
            gains([f"{name} {OWN}" for name in clusters], both),
            reduction,
        ),
        "fig11-run-times": (
            "Over run times",
            ("uniform", "gaussian", "pareto"),
            gains((STANDARD, "gaussian", "pareto"), both),
            reduction,
        ),
        "fig12-length": ("Over the longest task", [f"{each} min" for each in LONGEST], gains(lengths, both), reduction),
        "fig14-load": ("Over the spacing of jobs", [f"{each} min" for each in SPACINGS], gains(loads, both), reduction),
        "fig15-errors": (
            "Over errors of estimates",
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
        "fig19-power": ("With wind power", ("power",), gains(("power",), (SLACKSCHED,)), reduction),
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
    """Bars side by side, one colour for each scheme."""
    with canvas(path, max(4.0, 0.9 * len(labels) + 2), 3.0) as figure:
        axes = figure.subplots()
        width = 0.8 / len(rows)
        others = iter((PINK, ORANGE, GREEN, GREY))
        for place, (scheme, values) in enumerate(rows.items()):
            shift = (place - (len(rows) - 1) / 2) * width
            colour = COLOURS.get(scheme) or (BLUE if len(rows) == 1 else next(others))
            axes.bar([each + shift for each in range(len(labels))], values, width, color=colour, label=scheme)
        axes.set_xticks(range(len(labels)), labels)
        axes.set_ylabel(axis)
        axes.set_title(title)
        if len(rows) > 1:
            axes.legend(loc="best")


def draw_distributions(path: Path, study: Study) -> None:
    """Completion times of all jobs, as shares that have ended (Fig. 10)."""
    with canvas(path, 8.0, 3.0) as figure:
        panels = figure.subplots(1, 2)
        for axes, (title, experiment) in zip(panels, (("C2", STANDARD), ("C8, long tasks", "long")), strict=True):
            for scheme, colour in COLOURS.items():
                times = sorted(time for each in study[experiment, scheme] for time in each.completion)
                shares = [(place + 1) / len(times) for place in range(len(times))]
                axes.plot(times, shares, color=colour, label=scheme)
            axes.set_title(title)
            axes.set_xlabel("completion time, h")
        panels[0].legend(loc="lower right")
