"""Write the results of all cells, and of the search for causes, as CSV files."""

import csv
from pathlib import Path

from tradewind.experiments.scs.causes import Causes
from tradewind.experiments.scs.lookup import mean_cost, punctual, utilisation
from tradewind.experiments.scs.run import Study
from tradewind.experiments.scs.settings import SCS

HEADINGS = (
    "application",
    "pattern",
    "deadline_h",
    "volume_per_h",
    "ratios",
    "noise",
    "lag_noise",
    "policy",
    "draws",
    "jobs",
    "cost",
    "late",
    "in_time",
    "utilisation",
)


def write_table(study: Study, path: Path) -> None:
    """Write a line for each policy in each cell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADINGS)
        for results in (study.cells, study.noise):
            for (cell, variant), row in results.items():
                writer.writerow(
                    (
                        cell.application,
                        cell.pattern,
                        cell.deadline / 3_600_000_000,
                        cell.volume,
                        cell.ratios,
                        cell.noise,
                        cell.lag_noise,
                        variant.label,
                        len(row),
                        sum(result.jobs for result in row),
                        round(mean_cost(results, cell, variant), 4),
                        sum(result.late for result in row),
                        round(punctual(row), 5),
                        round(utilisation(row), 4),
                    )
                )


def write_causes(causes: Causes, path: Path) -> None:
    """Write a line for each change that was tried to explain why SCS is late and expensive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("why", "tried", "policy", "figure", "value", "of"))
        for label, late in causes.late.items():
            writer.writerow(("late", label, SCS.label, "late jobs", late, causes.jobs))
        for billed, row in causes.costs.items():
            for policy, cost in row.items():
                writer.writerow(("dear", billed, policy, "cost", round(cost, 4), ""))
            writer.writerow(("dear", billed, SCS.label, "cells won", causes.won[billed], causes.cells))
