"""Curves like the paper's: Fig. 10, 13, 19, 23 and 24."""

from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from types import MappingProxyType

from tradewind.experiments.slacksched.measure import ratios
from tradewind.experiments.slacksched.run import CAPACITY, NODELAY, ORACLE, SLACKSCHED, STANDARD, Study
from tradewind.model.units import DAY, HOUR, MINUTE
from tradewind.pictures.canvas import canvas
from tradewind.pictures.style import BLUE, GREEN, GREY, ORANGE
from tradewind.sim.traces.clusters import CLUSTERS, STABILITY
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.statistics import intervals, stable_for

COLOURS: Mapping[str, str] = MappingProxyType({CAPACITY: GREY, NODELAY: ORANGE, SLACKSCHED: BLUE, ORACLE: GREEN})
SPAN = 10 * DAY
CONFIDENCES: Mapping[float, str] = MappingProxyType({0.5: GREEN, 0.7: BLUE, 0.8: ORANGE})


def draw_distributions(path: Path, study: Study) -> None:
    """Draw the distribution of completion times of all jobs (Fig. 10)."""
    with canvas(path, 8.0, 3.0) as figure:
        panels = figure.subplots(1, 2)
        for axes, (title, experiment) in zip(panels, (("C2", STANDARD), ("C8, long tasks", "long")), strict=True):
            for scheme, colour in COLOURS.items():
                times = sorted(time for each in study[experiment, scheme] for time in each.completion)
                axes.plot(times, _shares(times), color=colour, label=scheme)
            axes.set_title(title)
            axes.set_xlabel("completion time, h")
        panels[0].set_ylabel("share of jobs")
        panels[0].legend(loc="lower right")


def draw_stability(path: Path, _study: Study) -> None:
    """Draw how long a C2 machine must have been stable to stay stable for the length of a task (Fig. 13)."""
    gaps = intervals(make_servers(CLUSTERS[STANDARD], 64, 3 * SPAN, 0), DAY, DAY + SPAN)
    lengths = range(5, 95, 5)
    with canvas(path, 5.0, 3.0) as figure:
        axes = figure.subplots()
        for confidence, colour in CONFIDENCES.items():
            needed = [stable_for(gaps, length * MINUTE, confidence) for length in lengths]
            found = [(length, time / HOUR) for length, time in zip(lengths, needed, strict=True) if time is not None]
            axes.plot(*zip(*found, strict=True), color=colour, label=f"{confidence:.0%}")
        line = [STABILITY * length / 60 for length in lengths]
        axes.plot(list(lengths), line, color=GREY, linestyle="--", label=f"{STABILITY} times its length")
        axes.set_xlabel("length of a task, min")
        axes.set_ylabel("stable for, h")
        axes.set_title("Stable time needed, by probability")
        axes.legend(loc="upper left")


def draw_mixed(path: Path, study: Study) -> None:
    """Draw completion relative to plain placement if half of the jobs save their progress (Fig. 23)."""
    kinds = (("interruptible", GREEN), ("uninterruptible", BLUE))
    pairs = list(zip(study["mixed", SLACKSCHED], study["mixed", CAPACITY], strict=True))
    found: dict[bool, list[float]] = {True: [], False: []}
    for one, two in pairs:
        for ratio, saves in zip(ratios(one, two), one.interruptible, strict=False):
            found[saves].append(ratio)
    lines = {label: (sorted(found[label == "interruptible"]), colour) for label, colour in kinds}
    _draw_relative(path, "Half of the jobs interruptible", lines)


def draw_power(path: Path, study: Study) -> None:
    """Draw completion relative to plain placement if wind drives capacity (Fig. 19)."""
    pairs = zip(study["power", SLACKSCHED], study["power", CAPACITY], strict=True)
    found = sorted(ratio for one, two in pairs for ratio in ratios(one, two))
    _draw_relative(path, "With wind power", {SLACKSCHED: (found, BLUE)})


def _draw_relative(path: Path, title: str, lines: Mapping[str, tuple[list[float], str]]) -> None:
    with canvas(path, 5.0, 3.0) as figure:
        axes = figure.subplots()
        for label, (values, colour) in lines.items():
            axes.plot(values, _shares(values), color=colour, label=label)
        axes.axvline(1, color=GREY, linewidth=0.8)
        axes.set_xlabel("completion time relative to plain placement")
        axes.set_ylabel("share of jobs")
        axes.set_title(title)
        axes.legend(loc="lower right")


def draw_converging(path: Path, study: Study) -> None:
    """Draw the fraction of machines on stable servers, hour by hour (Fig. 24)."""
    with canvas(path, 5.0, 3.0) as figure:
        axes = figure.subplots()
        for scheme, label, colour in (("none", "without acquirer", GREY), ("acquirer", "with acquirer", BLUE)):
            runs = [each.converging for each in study["halves", scheme]]
            means = [100 * fmean(values) for values in zip(*runs, strict=False)]
            axes.plot(range(1, len(means)), means[1:], color=colour, label=label)  # there are none in the first hour
        axes.set_ylim(0, 105)
        axes.set_xlabel("hours")
        axes.set_ylabel("machines on stable servers, %")
        axes.set_title("Half of the servers are stable")
        axes.legend(loc="lower right")


def _shares(values: list[float]) -> list[float]:
    return [(place + 1) / len(values) for place in range(len(values))]


CURVES: Mapping[str, Callable[[Path, Study], None]] = MappingProxyType(
    {
        "fig10-distributions": draw_distributions,
        "fig13-stability": draw_stability,
        "fig19-power": draw_power,
        "fig23-mixed": draw_mixed,
        "fig24-converging": draw_converging,
    }
)
