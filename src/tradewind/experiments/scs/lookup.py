"""Figures of a study, taken over its draws."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from tradewind.experiments.scs.experiment import Result
from tradewind.experiments.scs.run import Results
from tradewind.experiments.scs.settings import BASE_VOLUME, Cell, Variant


def cells_of(results: Results, volume: float = BASE_VOLUME, ratios: str = "strong") -> list[Cell]:
    """The cells of a volume, in order."""
    return list(dict.fromkeys(cell for cell, _ in results if cell.volume == volume and cell.ratios == ratios))


def volumes(results: Results) -> list[float]:
    """The volumes that were run, smallest first."""
    return sorted({cell.volume for cell, _ in results})


def mean_cost(results: Results, cell: Cell, variant: Variant) -> float:
    """What a run of a cell costs, on average."""
    return fmean(result.cost for result in results[cell, variant])


def utilisation(results: Sequence[Result]) -> float:
    """The share of all machine time held in which something ran."""
    held = sum(result.held for result in results)
    return sum(result.busy for result in results) / held if held else 0.0


def punctual(results: Iterable[Result]) -> float:
    """The share of jobs that were in time."""
    found = list(results)
    jobs = sum(result.jobs for result in found)
    return 1 - sum(result.late for result in found) / jobs if jobs else 1.0


def late(results: Results, variant: Variant) -> tuple[int, int]:
    """Jobs that were late under a policy, and all jobs."""
    found = [result for (_, each), row in results.items() if each == variant for result in row]
    return sum(result.late for result in found), sum(result.jobs for result in found)


def cheapest(results: Results, cell: Cell, variants: Sequence[Variant]) -> Variant:
    """The policy of some that costs least in a cell."""
    return min(variants, key=lambda variant: mean_cost(results, cell, variant))


def over(results: Results, cell: Cell, variant: Variant, others: Sequence[Variant]) -> float:
    """By what share a policy costs more than the cheapest of others; below zero it costs less."""
    least = min(mean_cost(results, cell, other) for other in others)
    return mean_cost(results, cell, variant) / least - 1 if least else 0.0
