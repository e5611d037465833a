"""Remarks beyond the claims: how the gains depend on what the paper leaves open, and what was left out."""

from statistics import fmean

from tradewind.experiments.steep.judge import NEAR, gains, mean_length
from tradewind.experiments.steep.live.settings import LiveExtent
from tradewind.experiments.steep.run import Study
from tradewind.experiments.steep.settings import BASELINE, FULL, NEW, PAPER_TIMES, Extent, start_of
from tradewind.model.units import in_seconds


def notes(study: Study, extent: Extent) -> list[str]:
    """Return all remarks, most important first."""
    found = [readings(study), arrivals(study), many(study), LEFT_OUT]
    if extent != FULL:
        found.append(
            f"A quick run: {extent.draws[0]} and {extent.draws[1]} draws, not {FULL.draws[0]} and {FULL.draws[1]}, and"
            f" {extent.scale.chains:,} chains on {study.scale.agents} agents in experiment 3."
        )
    return found


def readings(study: Study) -> str:
    """Compare the gain of the new heuristic in each reading."""
    rows = []
    for (experiment, reading), pairs in study.pairs.items():
        shared, whole = fmean(gains(pairs, "shared")), fmean(gains(pairs, "whole"))
        new, old = PAPER_TIMES[experiment]
        paper = 1 - new / old
        near = [name for name, gain in (("R3/R4", shared), ("whole", whole)) if abs(gain - paper) <= NEAR] or [
            "neither"
        ]
        share = fmean(abs(gain - paper) <= NEAR for gain in gains(pairs, "whole"))
        rows.append(f"  {experiment}  {reading.name:32}{shared:8.1%}{whole:9.1%}{share:9.0%}   {' and '.join(near)}")
    heading = (
        "Readings. The paper gives neither the shares of the required sets nor the run times of chains. Gain of the new"
        " heuristic by experiment and reading, mean over all draws; how many draws of a whole run come within three"
        " points of the paper's, which is one draw; and which mean does:"
    )
    columns = f"  #  {'':32}{'R3/R4':>8}{'whole':>9}{'draws':>9}   within 3 points"
    return "\n".join((heading, columns, *rows))


def arrivals(study: Study) -> str:
    """Describe when agents come up in experiment 2."""
    lanes = study.shown[f"2 {NEW}"]
    start = start_of(BASELINE)
    ups = sorted((lane.up or 0) - start for lane in lanes if lane.acquired >= start)
    shown = ", ".join(f"{in_seconds(up) // 60:.0f}:{in_seconds(up) % 60:02.0f}" for up in ups)
    return (
        f"Agents of experiment 2 come up at {shown}; in the paper, four at about minute 3, one between 3 and 4, two"
        " around 6:30. With the old heuristic, agents that offer both sets first take all of one set, the first in"
        " the workflow, and the agent for that set alone becomes idle early, as A4 does in Fig. 4b."
    )


def many(study: Study) -> str:
    """Describe the benefit of creating several machines at once."""
    before = mean_length([pair.new.whole for pair in study.pairs[2, BASELINE][: len(study.many)]])
    after = mean_length([length.whole for length in study.many])
    return (
        "Beyond the paper (its open problem, section 7.3): creating as many machines at once as the waiting work"
        f" justifies, instead of one of a setup at a time, shortens experiment 2 from {before} to {after}."
    )


LEFT_OUT = (
    "Not simulated: the time it takes to place a chain, and the gaps between chains that the author observed in the old"
    " system but not in the new one; both are part of the paper's comparison. In experiment 3 every agent is a separate"
    " machine and all are created at once, where the paper creates VMs of 125 agents one after the other."
)


def live_notes(extent: LiveExtent) -> list[str]:
    """Describe how the experiments were reduced to run with real processes."""
    static, dynamic = extent.static, extent.dynamic
    text = (
        f"For real, time is {static.pace} times as fast as in the paper in experiment 1 (chains sleep for"
        f" {in_seconds(static.trial.mean // static.pace):.2f} s on average), {dynamic.pace} times in 2 and 4"
        f" ({in_seconds(dynamic.trial.mean // dynamic.pace):.2f} s; agents start in {in_seconds(dynamic.boot):.1f} s,"
        f" look-ups are {in_seconds(dynamic.interval):.2f} s apart). The cost of starting a process is not reduced with"
        " them. Experiment 3 is not run with real processes: a thousand agents do not fit on one host."
    )
    return [text]
