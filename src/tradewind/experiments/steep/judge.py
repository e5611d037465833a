"""Judge the paper's claims by our simulations: one function per experiment.

Claims 1 and 2 say by how much the new heuristic shortens a run. They hold if our gain is within three percentage points
of the paper's, with the workload that the paper's run lengths imply. The gain with equal shares is shown next to it:
the heuristic moves only chains of R3 and R4, so a whole run gains as much as these do if they finish last, and less
otherwise. The notes list all readings.
"""

from collections.abc import Sequence
from statistics import fmean

from tradewind.core.summary import percentile
from tradewind.experiments.claims import Claim
from tradewind.experiments.steep.run import Pair, Study
from tradewind.experiments.steep.settings import BASELINE, INFERRED, KILLS, PAPER_TIMES
from tradewind.model.units import MINUTE, Duration, in_seconds, show_duration

NEAR = 0.03
SPREAD = 0.02
"""How far apart agents may finish and still count as almost together."""
FLAT = 1.5
"""How much longer the last three tenths of the chains may take than the first, on a shared host."""
PAPER_PLACEMENT = 15_100
"""Microseconds per chain, from Table 2."""


def judge(study: Study) -> list[Claim]:
    """Judge all claims."""
    return [
        faster(
            study, 1, "100 chains on eight agents: all on the right agents, and the run is shorter than with the old"
        ),
        faster(study, 2, "1,000 chains from one agent, others created on demand: the run is shorter than with the old"),
        scalable(study),
        fault_tolerant(study),
    ]


def faster(study: Study, experiment: int, claim: str) -> Claim:
    """Judge claims 1 and 2 (Fig. 4)."""
    pairs = study.pairs[experiment, INFERRED]
    equal = fmean(gains(study.pairs[experiment, BASELINE], "whole"))
    new, old = PAPER_TIMES[experiment]
    published = 1 - new / old
    gained = gains(pairs, "whole")
    is_right = all(pair.new.is_right and pair.old.is_right for pair in pairs)
    low, high = (percentile(sorted(gained), share) for share in (0.05, 0.95))
    return Claim(
        str(experiment),
        f"{claim} heuristic",
        f"{published:.1%} ({clock(new)} / {clock(old)})",
        f"{fmean(gained):.1%} ({lengths(pairs)}; 90% of draws: {low:.1%} to {high:.1%}); {equal:.1%} with equal shares;"
        f" {'all' if is_right else 'not all'} on the right agents",
        is_right and abs(fmean(gained) - published) <= NEAR,
        "The paper does not give the shares of the required sets. With a tenth more chains of R3 and R4, the only ones"
        " that the heuristic moves, they finish last, as its run lengths imply; with equal shares, R1 and R2 finish"
        " about as late. See the readings.",
    )


def scalable(study: Study) -> Claim:
    """Judge claim 3 (Fig. 5a, Table 2)."""
    scale = study.scale
    first, last = fmean(scale.tenths[:3]), fmean(scale.tenths[-3:])
    return Claim(
        "3",
        "300,000 chains on 1,000 agents: no gaps, all agents finish almost together, and placing a chain takes as long"
        " at the end as at the start",
        "over 6.5 hours; 15.1 ms per chain",
        f"{scale.done:,} of {scale.chains:,} chains on {scale.agents:,} agents in {show_duration(scale.length)};"
        f" longest gap {in_seconds(scale.gap):g} s; agents finish within {scale.spread:.1%} of the run;"
        f" {first:.0f} us per chain in the first three tenths, {last:.0f} in the last",
        scale.done == scale.chains
        and scale.is_right
        and scale.gap <= PAPER_PLACEMENT
        and scale.spread <= SPREAD
        and last <= FLAT * first,
        f"Processor time of core, policy and simulated cloud together: {scale.cpu:.0f} s in total, in"
        f" {scale.wall:.0f} s of real time. The paper's figure includes a database and messages.",
    )


def fault_tolerant(study: Study) -> Claim:
    """Judge claim 4 (Fig. 5b)."""
    faults = study.faults
    name, (since, time) = max(faults.without.items(), key=lambda item: item[1][1])
    return Claim(
        "4",
        "eight agents killed: all 1,000 chains finish, and agents are created for missing capabilities",
        "all; no agent for R3 from minute 3 to 7",
        f"{faults.done:,} of {faults.chains:,} done in {show_duration(faults.length)}"
        f" ({show_duration(faults.undisturbed)} without kills); {faults.kills} killed, {faults.again} chains run again,"
        f" {faults.created} agents created; no agent for {name} from minute {since / MINUTE:.1f} to"
        f" {(since + time) / MINUTE:.1f}",
        faults.done == faults.chains and faults.kills == KILLS and faults.created > 0 and faults.is_right,
        "The agents to kill and the times are drawn at random; the paper does not give them.",
    )


def gains(pairs: Sequence[Pair], part: str) -> list[float]:
    """Return by how much the new heuristic shortens each run, or the part of it that it can affect."""
    return [1 - getattr(pair.new, part) / getattr(pair.old, part) for pair in pairs]


def lengths(pairs: Sequence[Pair]) -> str:
    """Format the mean lengths of runs, new and old."""
    new, old = (fmean(getattr(pair, name).whole for pair in pairs) for name in ("new", "old"))
    return f"{clock(in_seconds(round(new)))} / {clock(in_seconds(round(old)))}"


def clock(time: float) -> str:
    """Format seconds as the paper does: `11:48`."""
    return f"{round(time) // 60}:{round(time) % 60:02d}"


def mean_length(times: Sequence[Duration]) -> str:
    """Format the mean length of runs."""
    return clock(in_seconds(round(fmean(times))))
