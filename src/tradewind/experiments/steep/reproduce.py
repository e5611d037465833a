"""Reproduce the capability paper: simulated at full size, with real processes at reduced size."""

from pathlib import Path

from tradewind.experiments.claims import Claim, Report
from tradewind.experiments.request import Reproduction, Request, Step, drawn
from tradewind.experiments.steep.figures import FIGURES, draw_figures
from tradewind.experiments.steep.judge import judge
from tradewind.experiments.steep.live.figures import LIVE_FIGURES, draw_live
from tradewind.experiments.steep.live.judge import judge_live
from tradewind.experiments.steep.live.settings import FULL_LIVE, QUICK_LIVE, LiveExtent
from tradewind.experiments.steep.live.study import STEPS, LiveStudy, run_live_study
from tradewind.experiments.steep.notes import live_notes, notes
from tradewind.experiments.steep.run import Study, run_study, steps
from tradewind.experiments.steep.settings import FULL, QUICK, Extent


def reproduce(request: Request, extent: Extent | None = None, live: LiveExtent | None = None) -> Reproduction:
    """Run the experiments, judge the claims and draw the figures; without matplotlib, claims only."""
    extent = extent or (QUICK if request.is_quick else FULL)
    live = live or (QUICK_LIVE if request.is_quick else FULL_LIVE)
    step = request.steps((steps(extent) + FIGURES) * request.is_simulated + (STEPS + LIVE_FIGURES) * request.is_live)
    claims: list[Claim] = []
    remarks: list[str] = []
    study: Study | None = None
    seen: LiveStudy | None = None
    if request.is_simulated:
        study = run_study(extent, request.seed, step, request.workers)
        claims += judge(study)
        remarks += notes(study, extent)
    if request.is_live:
        seen = run_live_study(live, request.seed, step)
        claims += judge_live(seen)
        remarks += live_notes(live)
    pictures = drawn(lambda: _draw(study, seen, request.out, step), remarks)
    return Reproduction(Report("steep", request.seed, claims, remarks), tuple(pictures))


def _draw(study: Study | None, seen: LiveStudy | None, folder: Path, step: Step) -> list[Path]:
    pictures = [] if study is None else draw_figures(study, folder, step)
    return pictures if seen is None else pictures + draw_live(seen, folder, step)
