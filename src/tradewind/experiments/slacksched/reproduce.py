"""Reproduce the paper on harvested capacity: from a request to claims and figures."""

from tradewind.experiments.claims import Report
from tradewind.experiments.request import Reproduction, Request, drawn
from tradewind.experiments.slacksched.figures import FIGURES, draw_figures
from tradewind.experiments.slacksched.judge import judge
from tradewind.experiments.slacksched.notes import notes
from tradewind.experiments.slacksched.run import FULL, QUICK, Extent, run_study, steps


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims and draw the figures; without matplotlib, claims only."""
    extent = extent or (QUICK if request.is_quick else FULL)
    step = request.steps(steps(extent) + FIGURES)
    study = run_study(extent, request.seed, step, request.workers)
    remarks = notes(study)
    pictures = drawn(lambda: draw_figures(study, request.out, step), remarks)
    return Reproduction(Report("slacksched", request.seed, judge(study), remarks), tuple(pictures))
