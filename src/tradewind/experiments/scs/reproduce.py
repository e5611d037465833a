"""From a request to the deadline paper's claims and figures."""

from itertools import count
from pathlib import Path

from tradewind.experiments.claims import Report
from tradewind.experiments.request import Reproduction, Request
from tradewind.experiments.scs.figures import NAMES, draw_figures
from tradewind.experiments.scs.judge import judge
from tradewind.experiments.scs.notes import notes
from tradewind.experiments.scs.run import run_study, steps
from tradewind.experiments.scs.settings import FULL, QUICK, Extent
from tradewind.experiments.scs.table import write_table
from tradewind.pictures.canvas import load_matplotlib


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims, draw the figures and write the table; without matplotlib, no figures."""
    extent = extent or (QUICK if request.is_quick else FULL)
    total = steps(extent) + len(NAMES)
    done = count(1)

    def step(label: str) -> None:
        request.progress(next(done), total, label)

    study = run_study(extent, request.seed, step, request.workers)
    remarks = notes(study, extent)
    table = request.out / "cells.csv"
    write_table(study, table)
    remarks.append(f"All cells, one by one, are in {table.name}.")
    pictures: list[Path] = []
    try:
        load_matplotlib()
    except ValueError as error:
        remarks.append(f"No figures were drawn: {error}.")
    else:
        pictures = draw_figures(study, request.out, step)
    return Reproduction(Report("scs", request.seed, judge(study), remarks), tuple(pictures))
