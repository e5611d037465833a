"""From a request to the deadline paper's claims and figures."""

from tradewind.experiments.claims import Report
from tradewind.experiments.request import Reproduction, Request, drawn
from tradewind.experiments.scs.extent import FULL, QUICK, Extent
from tradewind.experiments.scs.figures import NAMES, draw_figures
from tradewind.experiments.scs.judge import judge
from tradewind.experiments.scs.notes import notes
from tradewind.experiments.scs.progress import Progress
from tradewind.experiments.scs.run import run_study, steps
from tradewind.experiments.scs.table import write_causes, write_table


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims, draw the figures and write the tables; without matplotlib, no figures."""
    extent = extent or (QUICK if request.is_quick else FULL)
    step = request.steps(steps(extent) + len(NAMES))
    study = run_study(extent, request.seed, step, Progress(request.out / "results.jsonl"), request.workers)
    remarks = notes(study, extent)
    table, tried = request.out / "cells.csv", request.out / "causes.csv"
    write_table(study, table)
    write_causes(study.causes, tried)
    remarks.append(f"All cells, one by one, are in {table.name}, what was tried to find causes in {tried.name}.")
    pictures = drawn(lambda: draw_figures(study, request.out, step), remarks)
    return Reproduction(Report("scs", request.seed, judge(study), remarks), tuple(pictures))
