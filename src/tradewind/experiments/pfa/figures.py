"""The paper's figures 3 to 16, drawn from our runs, each in its own file.

Policies have the same colours as everywhere else. Where the paper shows only User 1, so do we.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tradewind.experiments.parallel import run_jobs
from tradewind.experiments.pfa.dynamics import draw_dynamics
from tradewind.experiments.pfa.lookup import elasticity, slowdowns, total, users
from tradewind.experiments.pfa.measure import ByKind, UserResult
from tradewind.experiments.pfa.run import Study
from tradewind.experiments.pfa.settings import (
    BASELINE,
    DIFFERENT,
    EQUAL,
    MAIN,
    RICHEST,
    SECOND_WORKLOAD,
    TYPES,
    VARIANTS,
    Setting,
    Variant,
)
from tradewind.pictures.canvas import canvas
from tradewind.pictures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PINK, RED, SKY, YELLOW, policy_colour
from tradewind.pictures.violins import Violin, draw_violins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

View: TypeAlias = tuple[Setting, int]
"""A setting from the point of view of one user."""

EQUALS: Sequence[View] = ((EQUAL[0], 0), (BASELINE, 0), (RICHEST, 0))
BOTH: Sequence[View] = ((DIFFERENT, 0), (DIFFERENT, 1))
PHASES = {
    "profile": SKY,
    "tokens": BLUE,
    "fit": PALE,
    "budget": PINK,
    "supply": YELLOW,
    "consolidate": RED,
    "allocate": GREEN,
    "plan": ORANGE,
    "release": BLACK,
    "rest": GREY,
}


def draw_figures(study: Study, folder: Path, step: Callable[[str], None], workers: int = 0) -> list[Path]:
    """Draw all figures into a folder and return the files written."""
    jobs = [(name, study, folder / f"{name}.svg") for name in FIGURES]
    written = []
    with closing(run_jobs(draw_figure, jobs, workers)) as drawing:
        for _, path in drawing:
            written.append(path)
            step(f"drawing {path.name}")
    return sorted(written)


def draw_figure(job: tuple[str, Study, Path]) -> Path:
    """Draw one figure and return the file written."""
    name, study, path = job
    FIGURES[name](study, path)
    return path


def short(variant: Variant) -> str:
    """Return a variant's label in two lines, so that many fit side by side."""
    return variant.label.replace("alpha", "\u03b1").replace(" ", "\n")


def _colour(variant: Variant) -> str:
    return policy_colour(variant.policy)


def _decision_times(study: Study, path: Path) -> None:
    with canvas(path, 6, 4) as figure:
        axes = figure.add_subplot()
        draw_violins(
            axes,
            [
                Violin(short(v), [1000 * lap for lap in timing.decisions], _colour(v))
                for v, timing in study.timings.items()
            ],
            logarithmic=True,
        )
        axes.set_ylabel("decision time [ms]")
        axes.set_title("Decision time, budget 100 (Fig. 3)")


def _phases(study: Study, path: Path) -> None:
    with canvas(path, 8, 3.4) as figure:
        axes = figure.add_subplot()
        seen = set()
        for place, (_, timing) in enumerate(study.timings.items()):
            shares = {name: timing.share(name) for name in timing.phases} | {"rest": 1 - timing.share()}
            left = 0.0
            for name, share in shares.items():
                label = "" if name in seen else name
                seen.add(name)
                axes.barh(place, 100 * share, left=left, color=PHASES.get(name, GREY), height=0.6, label=label or None)
                left += 100 * share
        axes.set_yticks(range(len(study.timings)), [variant.label for variant in study.timings])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.grid(visible=False)
        axes.set_xlabel("share of decision time [%]")
        axes.set_title("Breakdown of decision time (Fig. 4)")
        figure.legend(loc="outside lower center", ncols=5)


def _slowdowns(study: Study, path: Path, views: Sequence[tuple[Setting, int | None]]) -> None:
    columns = min(2, len(views))
    rows = -(-len(views) // columns)
    with canvas(path, 6.2 * columns, 3.4 * rows) as figure:
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes, (setting, user) in zip(panels.flat, views, strict=True):
            draw_violins(
                axes,
                [
                    Violin(short(variant), slowdowns(study, setting, variant, user), _colour(variant))
                    for variant in VARIANTS
                    if (setting, variant) in study.results
                ],
                logarithmic=True,
            )
            axes.set_title(_title(setting, user))
            axes.tick_params(axis="x", labelsize=7.5)
        for row in panels:
            row[0].set_ylabel("slowdown")


def _by_type(
    study: Study,
    path: Path,
    views: Sequence[View],
    figure_of: Callable[[UserResult], Mapping[str, list[float]]],
    name: str,
) -> None:
    names = [*(kind.name for kind in TYPES), "total"]
    with canvas(path, 10.5, 2.5 * len(views)) as figure:
        panels = figure.subplots(len(views), len(names), squeeze=False, sharey="row")
        for row, (setting, user) in zip(panels, views, strict=True):
            values = {variant: [figure_of(each) for each in users(study, setting, variant, user)] for variant in MAIN}
            for axes, kind in zip(row, names, strict=True):
                draw_violins(
                    axes,
                    [
                        Violin(short(variant), [value for each in found for value in each[kind]], _colour(variant))
                        for variant, found in values.items()
                    ],
                )
                axes.set_title(f"{_title(setting, user)}, {kind}" if kind == names[0] else kind)
                axes.tick_params(axis="x", labelsize=8)
            row[0].set_ylabel(name)
            row[0].set_ylim(bottom=0)


def _costs(result: UserResult) -> Mapping[str, list[float]]:
    return _with_total(result.costs)


def _busy(result: UserResult) -> Mapping[str, list[float]]:
    return _percentages(result.busy)


def _held(result: UserResult) -> Mapping[str, list[float]]:
    return _percentages(result.held)


def _with_total(by_kind: ByKind) -> Mapping[str, list[float]]:
    by_name = {kind.name: list(row) for kind, row in zip(TYPES, by_kind, strict=True)}
    return by_name | {"total": total(by_kind)}


def _percentages(by_kind: ByKind) -> Mapping[str, list[float]]:
    limits = {kind.name: kind.limit for kind in TYPES}
    limits["total"] = sum(limits.values())
    return {name: [100 * value / limits[name] for value in row] for name, row in _with_total(by_kind).items()}


def _elasticity(study: Study, path: Path, views: Sequence[View]) -> None:
    metrics = ("a_u", "a_o", "t_u", "t_o")
    with canvas(path, 3.6 * len(views) + 0.6, 3.6) as figure:
        panels = figure.subplots(1, len(views), squeeze=False, sharey=True)
        for axes, (setting, user) in zip(panels.flat, views, strict=True):
            _elasticity_bars(axes, metrics, {v: elasticity(study, setting, v, user) for v in MAIN})
            axes.set_title(_title(setting, user))
        panels[0][0].set_ylabel("elasticity [%], lower is better")
        figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(MAIN))


def _elasticity_bars(axes: "Axes", metrics: Sequence[str], rows: Mapping[Variant, Mapping[str, float]]) -> None:
    width = 0.8 / len(rows)
    for place, (variant, row) in enumerate(rows.items()):
        axes.bar(
            [index + (place - (len(rows) - 1) / 2) * width for index in range(len(metrics))],
            [100 * row[metric] for metric in metrics],
            width=0.92 * width,
            color=_colour(variant),
            alpha=0.55 if "alpha" in variant.label else 1.0,
            label=variant.label.replace("alpha", "\u03b1"),
        )
    axes.set_xticks(range(len(metrics)), ["$a_U$", "$a_O$", "$t_U$", "$t_O$"])


def _title(setting: Setting, user: int | None) -> str:
    workload = "WL II" if setting.workload == 2 else "WL I"
    if user is None:
        return f"budget {setting.budgets[0]}, {workload}"
    return f"user {user + 1}, budget {setting.budgets[user]}"


FIGURES: Mapping[str, Callable[[Study, Path], None]] = {
    "fig03_decision_time": _decision_times,
    "fig04_phases": _phases,
    "fig05_slowdown_equal": partial(_slowdowns, views=[(setting, None) for setting in EQUAL]),
    "fig06_slowdown_different": partial(_slowdowns, views=BOTH),
    "fig07_slowdown_workload_2": partial(_slowdowns, views=[(SECOND_WORKLOAD, None)]),
    "fig08_cost_equal": partial(_by_type, views=EQUALS, figure_of=_costs, name="cost per interval"),
    "fig09_cost_different": partial(_by_type, views=BOTH, figure_of=_costs, name="cost per interval"),
    "fig10_elasticity_equal": partial(_elasticity, views=EQUALS),
    "fig11_elasticity_different": partial(_elasticity, views=BOTH),
    "fig12_busy_equal": partial(_by_type, views=EQUALS, figure_of=_busy, name="busy machines [%]"),
    "fig13_busy_different": partial(_by_type, views=BOTH, figure_of=_busy, name="busy machines [%]"),
    "fig14_held_equal": partial(_by_type, views=EQUALS, figure_of=_held, name="allocated machines [%]"),
    "fig15_held_different": partial(_by_type, views=BOTH, figure_of=_held, name="allocated machines [%]"),
    "fig16_dynamics": lambda study, path: draw_dynamics(study.dynamics, path),
}
