"""The paper's figures 3 to 8, drawn from our runs, and one for section V."""

from collections.abc import Callable
from pathlib import Path

from tradewind.experiments.tascaas.judge import groups, shown
from tradewind.experiments.tascaas.run import Study
from tradewind.experiments.tascaas.world import Outcome, Ran, measures_of
from tradewind.model.units import MINUTE, in_seconds
from tradewind.pictures.canvas import canvas
from tradewind.pictures.style import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY

FIGURES = 7
_LINES = (PINK, GREEN, SKY, ORANGE, BLUE, RED, GREY)


def draw_figures(study: Study, folder: Path, step: Callable[[str], None]) -> list[Path]:
    """Draw all figures into a folder; the files written."""
    by_target = groups(study)
    drawers: dict[str, Callable[[Path], None]] = {
        "fig3-slots": lambda path: draw_slots(shown(study), path),
        "fig7-steady": lambda path: draw_speeds(study.steady, path, "Constant speeds, target 2700 s"),
        "fig8-falling": lambda path: draw_speeds(study.falling, path, "Falling speeds, target 1500 s"),
        "section5-static": lambda path: draw_gains(study, path),
    }
    for number, target in ((4, 1500), (5, 2100), (6, 2700)):
        jobs = by_target.get(target, [])
        drawers[f"fig{number}-{target}s"] = lambda path, jobs=jobs, target=target: draw_jobs(jobs, target, path)  # type: ignore[misc]
    written = []
    for name, draw in sorted(drawers.items()):
        path = folder / f"{name}.png"
        draw(path)
        written.append(path)
        step(name)
    return written


def draw_slots(outcome: Outcome, path: Path) -> None:
    """Fig. 3: partitions on slots, and slots asked for."""
    times = [sample.at / MINUTE for sample in outcome.samples]
    with canvas(path, 9, 4) as figure:
        axes = figure.subplots()
        axes.set_title("Slots in use and slots required")
        axes.step(times, [sample.needed for sample in outcome.samples], where="post", color=GREEN, label="required")
        axes.step(times, [sample.slots for sample in outcome.samples], where="post", color=GREY, lw=0.7, label="there")
        axes.step(times, [sample.active for sample in outcome.samples], where="post", color=BLUE, label="in use")
        axes.set_xlabel("minutes")
        axes.set_ylabel("slots")
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right", ncols=3)


def draw_jobs(jobs: list[Ran], target: int, path: Path) -> None:
    """Fig. 4 to 6: how long each job took, and with how many partitions."""
    with canvas(path, 7, 4) as figure:
        axes = figure.subplots()
        axes.set_title(f"Jobs with a target of {target} s")
        places = range(len(jobs))
        bars = axes.twinx()
        bars.bar(places, [job.made for job in jobs], color=SKY, alpha=0.5)
        bars.set_ylabel("partitions")
        bars.grid(visible=False)
        axes.set_zorder(bars.get_zorder() + 1)
        axes.patch.set_visible(False)
        axes.plot(places, [in_seconds((job.ended or 0) - job.submitted) for job in jobs], "o", color=BLUE)
        axes.axhline(target, color=RED)
        axes.set_ylim(0, 1.1 * target)
        axes.set_xlabel("job")
        axes.set_ylabel("seconds from submission to end")


def draw_speeds(outcome: Outcome, path: Path, title: str) -> None:
    """Fig. 7 and 8: the speed of each partition, report by report."""
    with canvas(path, 8, 4) as figure:
        axes = figure.subplots()
        axes.set_title(title)
        for number, measures in measures_of(outcome, outcome.jobs[0]).items():
            colour = _LINES[number % len(_LINES)]
            axes.plot([in_seconds(measures[0].at)], [0], "s", color=colour)
            rows = [measure for measure in measures[1:] if measure.speed > 0]
            axes.plot([in_seconds(m.at) for m in rows], [m.speed for m in rows], ".-", color=colour)
        axes.set_xlabel("seconds")
        axes.set_ylabel("iterations per second")
        axes.set_ylim(bottom=-5)


def draw_gains(study: Study, path: Path) -> None:
    """Section V: by how much balanced jobs are shorter than static ones, for each kind of noise."""
    levels = sorted(study.levels, key=lambda level: level.gain)
    with canvas(path, 8, 4.5) as figure:
        axes = figure.subplots()
        axes.set_title("Balanced against static partitioning")
        axes.boxplot(
            [[100 * gain for gain in level.gains] for level in levels], orientation="horizontal", whis=(0, 100)
        )
        axes.set_yticks(range(1, len(levels) + 1), [f"{level.name} ({level.cv:.0%})" for level in levels])
        axes.set_xlabel("shorter by %")
        axes.grid(visible=True, axis="x")
