"""From a request to the capability paper's claims and figures: the simulated part.

The live part, with real processes at reduced size, belongs beside it: a `live` module that takes the same request and
returns claims of its own, to be appended below.
"""

from itertools import count

from tradewind.experiments.claims import Report
from tradewind.experiments.request import Reproduction, Request
from tradewind.experiments.steep.figures import FIGURES, draw_figures
from tradewind.experiments.steep.judge import judge
from tradewind.experiments.steep.notes import notes
from tradewind.experiments.steep.run import run_study, steps
from tradewind.experiments.steep.settings import FULL, QUICK, Extent
from tradewind.pictures.canvas import load_matplotlib


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims and draw the figures; without matplotlib, claims only."""
    extent = extent or (QUICK if request.is_quick else FULL)
    total = steps(extent) + FIGURES
    done = count(1)

    def step(label: str) -> None:
        request.progress(next(done), total, label)

    study = run_study(extent, request.seed, step, request.workers)
    remarks = notes(study, extent)
    pictures = []
    try:
        load_matplotlib()
    except ValueError as error:
        remarks.append(f"No figures were drawn: {error}.")
    else:
        pictures = draw_figures(study, request.out, step)
    return Reproduction(Report("steep", request.seed, judge(study), remarks), tuple(pictures))
