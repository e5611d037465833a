"""Remarks beyond the claims: other workflows, the two readings, and what was left out."""

from statistics import fmean

from tradewind.experiments.pfa.words import percent
from tradewind.experiments.scs.causes import Causes
from tradewind.experiments.scs.extent import FULL, Extent
from tradewind.experiments.scs.lookup import cells_of, over
from tradewind.experiments.scs.others import sources
from tradewind.experiments.scs.run import Study
from tradewind.experiments.scs.settings import PLUS, RIVALS, SCS, VARIANTS


def notes(study: Study, extent: Extent) -> list[str]:
    """Return all remarks, most important first."""
    found = [*(other_workflows(study, source) for source in sources()), ratios(study), billing(study.causes), READINGS]
    if "real" not in sources():
        found.append("Real workflows (WfInstances) were left out: their files are not here.")
    if extent != FULL:
        found.append("A shortened run: fewer draws, hours and volumes. Chance matters more than in the full run.")
    return [note for note in found if note]


def other_workflows(study: Study, source: str) -> str:
    """Compare the policies on workflows from another source."""
    cases = list(dict.fromkeys(other for other, _ in study.others if other.source == source))
    if not cases:
        return ""
    cost = {v: [study.others[other, v].cost for other in cases] for v in VARIANTS}
    late = {v: sum(study.others[other, v].late for other in cases) for v in VARIANTS}
    best = [min(row) for row in zip(*(cost[v] for v in VARIANTS if v != PLUS), strict=True)]
    relative = {v: fmean(c / b for c, b in zip(cost[v], best, strict=True) if b) for v in VARIANTS}
    near = sum(c <= 1.02 * b for c, b in zip(cost[PLUS], best, strict=True))
    names = "Real workflows (WfInstances)" if source == "real" else "Generated workflows"
    return (
        f"{names}, {len(cases)} cases (deadlines 2 and 6 times the minimum). Mean cost relative to the cheapest other"
        f" than scs+: {', '.join(f'{v.label} {value:.2f}' for v, value in relative.items())}. Late jobs:"
        f" {', '.join(f'{v.label} {count}' for v, count in late.items())}. SCS+ is cheapest or within 2% in {near} of"
        f" {len(cases)}."
    )


def ratios(study: Study) -> str:
    """Describe the effect of weak preferences."""
    cells = cells_of(study.cells, ratios="weak")
    if not cells:
        return ""
    gaps = [over(study.cells, cell, PLUS, (SCS, *RIVALS)) for cell in cells]
    won = sum(over(study.cells, cell, SCS, RIVALS) < 0 for cell in cells)
    return (
        f"Weak ratios (times without a preferred type): scs is cheapest in {won} of {len(cells)} cells, scs+ costs"
        f" {percent(min(gaps))} to {percent(max(gaps))} against the best of the others."
    )


def billing(causes: Causes) -> str:
    """Compare the cost of the paper's three policies without the factors that SCS loses by."""
    if not causes.costs:
        return ""
    rows = (
        f"{billed}: {', '.join(f'{policy} {cost:.1f}' for policy, cost in row.items())}, scs cheapest in"
        f" {causes.won[billed]}"
        for billed, row in causes.costs.items()
    )
    return f"Cost over {causes.cells} cells (stable, one draw) by billing. {'; '.join(rows)}."


READINGS = (
    "Readings. The paper's rivals schedule a task where an instance 'is available', and otherwise acquire one."
    " `reserve` reads that as a slot that is free now; `queue` lets a task wait for a live machine within its window."
    " Both plan a whole job on arrival and acquire machines for later tasks in advance: a lag for each stage would make"
    " half-hour deadlines impossible."
)
