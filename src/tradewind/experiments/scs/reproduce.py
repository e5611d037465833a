"""Reproduce the deadline paper: from a request to claims, figures and tables."""

from tradewind.experiments.claims import Report, not_judged
from tradewind.experiments.request import Reproduction, Request, drawn
from tradewind.experiments.scs.extent import FULL, QUICK, Extent
from tradewind.experiments.scs.figures import NAMES, draw_figures
from tradewind.experiments.scs.judge import judge
from tradewind.experiments.scs.notes import notes
from tradewind.experiments.scs.progress import Progress
from tradewind.experiments.scs.run import run_study, steps
from tradewind.experiments.scs.table import write_causes, write_table

TOO_SMALL = ("6", "8")
"""Claims that a quick run may decide differently from a full run."""


def reproduce(request: Request, extent: Extent | None = None) -> Reproduction:
    """Run the experiments, judge the claims, draw the figures and write the tables; without matplotlib, no figures."""
    extent = extent or (QUICK if request.is_quick else FULL)
    step = request.steps(steps(extent) + len(NAMES))
    study = run_study(extent, request.seed, step, Progress(request.out / "results.jsonl"), request.workers)
    remarks = notes(study, extent)
    table, tried = request.out / "cells.csv", request.out / "causes.csv"
    write_table(study, table)
    write_causes(study.causes, tried)
    remarks.append(f"All cells are listed in {table.name}, the search for causes in {tried.name}.")
    pictures = drawn(lambda: draw_figures(study, request.out, step), remarks)
    claims = not_judged(judge(study), TOO_SMALL if request.is_quick else ())
    return Reproduction(Report("scs", request.seed, claims, remarks), tuple(pictures))
