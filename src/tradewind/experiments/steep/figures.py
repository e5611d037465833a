"""The paper's timelines (Fig. 4 and 5), drawn from our runs."""

from collections.abc import Callable
from pathlib import Path

from tradewind.experiments.steep.run import Study
from tradewind.experiments.steep.settings import BASELINE, NEW, OLD, start_of
from tradewind.pictures.lanes import draw_lanes

FIGURES = 4


def draw_figures(study: Study, folder: Path, step: Callable[[str], None]) -> list[Path]:
    """Draw all figures into a folder and return the files written."""
    start = start_of(BASELINE)
    shown = study.shown
    sheets = {
        "fig4-experiment1": (
            "Experiment 1: 100 chains on eight agents",
            {"new heuristic": shown[f"1 {NEW}"], "old heuristic": shown[f"1 {OLD}"]},
        ),
        "fig4-experiment2": (
            "Experiment 2: 1,000 chains, agents created on demand",
            {"new heuristic": shown[f"2 {NEW}"], "old heuristic": shown[f"2 {OLD}"]},
        ),
        "fig5-experiment3": (
            f"Experiment 3: {study.scale.chains:,} chains, by the capabilities of the agents",
            {"new heuristic": shown["3"]},
        ),
        "fig5-experiment4": ("Experiment 4: eight agents killed", {"new heuristic": shown["4"]}),
    }
    written = []
    for name, (title, runs) in sheets.items():
        path = folder / f"{name}.png"
        draw_lanes(runs, path, title, start)
        written.append(path)
        step(name)
    return written
