"""Timelines of the runs with real processes, like Fig. 4 and 5 of the paper."""

from collections.abc import Callable
from pathlib import Path

from tradewind.experiments.steep.live.study import LiveStudy
from tradewind.pictures.lanes import draw_lanes

LIVE_FIGURES = 3


def draw_live(study: LiveStudy, folder: Path, step: Callable[[str], None]) -> list[Path]:
    """Draw all figures into a folder and return the files written."""
    names = ("new heuristic", "old heuristic")
    sheets = {
        "live-experiment1": (
            f"Experiment 1, real processes: {study.static[0].chains:,} chains on eight processes",
            {name: seen.lanes for name, seen in zip(names, study.static, strict=True)},
        ),
        "live-experiment2": (
            f"Experiment 2, real processes: {study.dynamic[0].chains:,} chains, processes created on demand",
            {name: seen.lanes for name, seen in zip(names, study.dynamic, strict=True)},
        ),
        "live-experiment4": (
            f"Experiment 4, real processes: {study.faults.killed} processes killed",
            {"new heuristic": study.faults.lanes},
        ),
    }
    written = []
    for name, (title, runs) in sheets.items():
        path = folder / f"{name}.png"
        draw_lanes(runs, path, title)
        written.append(path)
        step(name)
    return written
