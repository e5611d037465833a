"""What goes beyond the claims: our settings, variants that were studied, and what was left out."""

from statistics import fmean

from tradewind.experiments.slacksched.judge import gain
from tradewind.experiments.slacksched.measure import mean_reduction
from tradewind.experiments.slacksched.run import CAPACITY, OWN, SLACKSCHED, STANDARD, Study
from tradewind.experiments.slacksched.winds import is_measured


def notes(study: Study) -> list[str]:
    """A sentence or two each."""
    return [readings(study), variants(study), orders(study), mixed(study), traces()]


def readings(study: Study) -> str:
    """What the paper does not give."""
    used = fmean(each.used for each in study[STANDARD, CAPACITY])
    return (
        "Chosen after early runs, alike for all policies: tasks of 1, 2, 4 or 8 cores, jobs of 12 to 28 tasks, a job"
        " every 5 minutes"
        f" (on {STANDARD}, {used:.0%} of the cores are in use from the first job to the end of the last), run times up"
        " to 90 minutes, or 20 hours on C8. Seeds change traces and jobs, not the clusters' calibration."
    )


def variants(study: Study) -> str:
    """Which form of the completion probability is the default, and why."""
    names = {
        "first": "next change only (equation 1)",
        "several": "several changes",
        "shrink": "next shrink (equation 3, our default)",
        "naive": "without machines still waiting for a change",
        "literal": "algorithm 1 to the letter, where many wait for one room",
        "heartbeat": "algorithm 3",
    }
    found = ", ".join(f"{words} {gain(study, STANDARD, name):.1%}" for name, words in names.items())
    return f"Variants of SlackSched on {STANDARD}: {found}."


def orders(study: Study) -> str:
    """What the order of killing decides."""
    found = []
    for name in study.extent.clusters:
        oldest = fmean(each.waste for each in study[name, CAPACITY])
        newest = fmean(each.waste for each in study[f"{name} {OWN}", CAPACITY])
        found.append(f"{name} {oldest:.1%} / {newest:.1%}")
    return (
        "The order in which attempts give way on a shrink decides how much there is to gain: work wasted by plain"
        f" placement, oldest / newest first: {', '.join(found)}."
    )


def mixed(study: Study) -> str:
    """Appendix B.3."""
    found = mean_reduction(study["mixed", SLACKSCHED], study["mixed", CAPACITY])
    return f"With half of the jobs saving their progress every minute at no cost (Fig. 23): {found:.1%} over all jobs."


def traces() -> str:
    """Where the traces come from."""
    wind = "windy spells of measured Belgian offshore wind" if is_measured() else "made up"
    return (
        "The production traces are private. Ours are made by `tradewind traces harvest` from the published figures; the"
        f" sizes of changes were set after first runs; power is {wind}."
    )
