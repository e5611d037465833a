"""From a request to the claims and figures of the paper on harvested capacity."""

from itertools import count

from tradewind.experiments.claims import Report
from tradewind.experiments.request import Reproduction, Request
from tradewind.experiments.slacksched.figures import FIGURES, draw_figures
from tradewind.experiments.slacksched.judge import judge
from tradewind.experiments.slacksched.notes import notes
from tradewind.experiments.slacksched.run import FULL, QUICK, Extent, run_study, steps
from tradewind.pictures.canvas import load_matplotlib


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims and draw the figures; without matplotlib, claims only."""
    extent = extent or (QUICK if request.is_quick else FULL)
    total = steps(extent) + FIGURES
    done = count(1)

    def step(label: str) -> None:
        request.progress(next(done), total, label)

    study = run_study(extent, request.seed, step, request.workers)
    remarks = notes(study)
    pictures = []
    try:
        load_matplotlib()
    except ValueError as error:
        remarks.append(f"No figures were drawn: {error}.")
    else:
        pictures = draw_figures(study, request.out, step)
    return Reproduction(Report("slacksched", request.seed, judge(study), remarks), tuple(pictures))
