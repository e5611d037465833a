"""Remarks beyond the claims: how much of PFA's lead is due to placement, and what was left out."""

from tradewind.experiments.pfa.lookup import mean_cost, mean_slowdown, mean_wait
from tradewind.experiments.pfa.run import Study
from tradewind.experiments.pfa.settings import (
    BASELINE,
    FULL,
    INTERVAL,
    PFA_MA,
    PLF,
    PLF_DYNAMIC,
    SCF,
    SCF_DYNAMIC,
    Extent,
)
from tradewind.experiments.pfa.words import percent
from tradewind.model.units import in_seconds


def notes(study: Study, extent: Extent) -> list[str]:
    """Return all remarks, most important first."""
    found = [placement(study), OVERHEAD, OPTIMUM]
    if extent != FULL:
        found.append(
            f"A shortened run: {extent.repetitions} of {FULL.repetitions} sets, {extent.workflows} workflows each."
            " Chance matters more, and close verdicts may differ from the full run."
        )
    return found


def placement(study: Study) -> str:
    """Compare PLF and SCF with PFA's placement, which the paper did not try."""
    pfa = PFA_MA[0]
    slowdown, wait, cost = (
        {v: figure(study, BASELINE, v) for v in (pfa, PLF, SCF, PLF_DYNAMIC, SCF_DYNAMIC)}
        for figure in (mean_slowdown, mean_wait, mean_cost)
    )
    closed = []
    for planned, dynamic in ((PLF, PLF_DYNAMIC), (SCF, SCF_DYNAMIC)):
        lead = slowdown[planned] - slowdown[pfa]
        gained = slowdown[planned] - slowdown[dynamic]
        if lead > 0:
            part = percent(gained / lead) if gained < lead else "all"
            closed.append(f"{part} of PFA's lead over {planned.label}")
    return (
        f"Placement. Under a plan, a workflow waits for the next tick: {wait[PLF]:.0f} s (plf) and {wait[SCF]:.0f} s"
        f" (scf) until its first task starts, where half an interval is {in_seconds(INTERVAL) / 2:.0f} s; under PFA"
        f" {wait[pfa]:.0f} s. With the same renting but immediate starts (ours, not the paper's), this becomes"
        f" {wait[PLF_DYNAMIC]:.0f} and {wait[SCF_DYNAMIC]:.0f} s, and mean slowdown at 100 falls from"
        f" {slowdown[PLF]:.2f} to {slowdown[PLF_DYNAMIC]:.2f} (plf) and from {slowdown[SCF]:.2f} to"
        f" {slowdown[SCF_DYNAMIC]:.2f} (scf), next to {slowdown[pfa]:.2f} (pfa):"
        f" {' and '.join(closed) or 'no lead of PFA'} disappears when only this rule is changed. Cost per interval is"
        f" then: pfa {cost[pfa]:.0f}, plf {cost[PLF_DYNAMIC]:.0f}, scf {cost[SCF_DYNAMIC]:.0f}."
    )


OVERHEAD = (
    "Not simulated: files, Airflow's latency, and decision times, which sometimes delayed the authors' runs. PLF and"
    " SCF get exact run times; PFA uses none. The workflows come from our generators, fitted to the paper's Table 2."
)
OPTIMUM = "Claim 9 (up to 8 times slower than the optimum on 15 workflows, Fig. 18) needs the optimum; not judged yet."
