"""Look up results of a study, averaged over its draws."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from tradewind.experiments.scs.experiment import Result
from tradewind.experiments.scs.run import Results
from tradewind.experiments.scs.settings import BASE_VOLUME, Cell, Variant


def cells_of(results: Results, volume: float = BASE_VOLUME, ratios: str = "strong") -> list[Cell]:
    """Return the cells of a volume, in order."""
    return list(dict.fromkeys(cell for cell, _ in results if cell.volume == volume and cell.ratios == ratios))


def volumes(results: Results) -> list[float]:
    """Return the volumes that were run, smallest first."""
    return sorted({cell.volume for cell, _ in results})


def mean_cost(results: Results, cell: Cell, variant: Variant) -> float:
    """Return the mean cost of a cell."""
    return fmean(result.cost for result in results[cell, variant])


def utilisation(results: Sequence[Result]) -> float:
    """Return the fraction of the held machine time in which something ran."""
    held = sum(result.held for result in results)
    return sum(result.busy for result in results) / held if held else 0.0


def punctual(results: Iterable[Result]) -> float:
    """Return the fraction of jobs that met their deadline."""
    found = list(results)
    jobs = sum(result.jobs for result in found)
    return 1 - sum(result.late for result in found) / jobs if jobs else 1.0


def late(results: Results, variant: Variant) -> tuple[int, int]:
    """Return the number of late jobs under a policy, and of all jobs."""
    found = [result for (_, each), row in results.items() if each == variant for result in row]
    return sum(result.late for result in found), sum(result.jobs for result in found)


def cheapest(results: Results, cell: Cell, variants: Sequence[Variant]) -> Variant:
    """Return the policy that costs least in a cell."""
    return min(variants, key=lambda variant: mean_cost(results, cell, variant))


def over(results: Results, cell: Cell, variant: Variant, others: Sequence[Variant]) -> float:
    """Return the relative extra cost of a policy over the cheapest of others; negative if it costs less."""
    least = min(mean_cost(results, cell, other) for other in others)
    return mean_cost(results, cell, variant) / least - 1 if least else 0.0
