"""Reproduce the budget paper: from a request to claims and figures."""

from tradewind.experiments.claims import Report, not_judged
from tradewind.experiments.pfa.figures import FIGURES, draw_figures
from tradewind.experiments.pfa.judge import judge
from tradewind.experiments.pfa.notes import notes
from tradewind.experiments.pfa.run import run_study, steps
from tradewind.experiments.pfa.settings import FULL, QUICK, Extent
from tradewind.experiments.request import Reproduction, Request, drawn

TOO_SMALL = ("2", "6", "8")
"""Claims that a quick run may decide differently from a full run."""


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims and draw the figures; without matplotlib, claims only."""
    extent = extent or (QUICK if request.is_quick else FULL)
    step = request.steps(steps(extent) + len(FIGURES))
    study = run_study(extent, request.seed, step, request.workers)
    remarks = notes(study, extent)
    pictures = drawn(lambda: draw_figures(study, request.out, step, request.workers), remarks)
    claims = not_judged(judge(study), TOO_SMALL if request.is_quick else ())
    return Reproduction(Report("pfa", request.seed, claims, remarks), tuple(pictures))
