"""Judge the paper's claims with real processes: all chains are done, once, on the right agents.

The gain of a heuristic is reported but not judged: on a busy host, the times of two runs differ for other reasons, too.
"""

from tradewind.experiments.claims import Claim
from tradewind.experiments.steep.live.study import LiveStudy
from tradewind.experiments.steep.live.world import Seen
from tradewind.experiments.steep.measure import done, length_of, longest_without
from tradewind.experiments.steep.settings import KILLS, SETS, SETUPS
from tradewind.model.units import SECOND

_CAUTION = "Real processes on a possibly busy host: times are reported, not judged."


def judge_live(study: LiveStudy) -> list[Claim]:
    """Judge all claims."""
    return [
        pair(
            "1 live",
            "the same with real processes: chains that sleep, on eight workers; all on the right agents",
            "all; 10.8% shorter",
            study.static,
        ),
        pair(
            "2 live",
            "the same with real processes: workers created on demand, starting from one",
            "seven created; 8.6% shorter",
            study.dynamic,
        ),
        faults(study.faults),
    ]


def pair(name: str, claim: str, paper: str, runs: tuple[Seen, Seen]) -> Claim:
    """Judge claims 1 and 2."""
    new, old = (length_of(seen.lanes, 0) for seen in runs)
    gain, shared = 1 - new.whole / max(1, old.whole), 1 - new.shared / max(1, old.shared)
    counts = " and ".join(f"{done(seen.lanes, 0):,}" for seen in runs)
    return Claim(
        name,
        claim,
        paper,
        f"{counts} of {runs[0].chains:,} done, {_placed(*runs)}, on {_processes(*runs)};"
        f" {new.whole / SECOND:.1f} s / {old.whole / SECOND:.1f} s: {_by(gain)} (R3 and R4 alone: {_by(shared)})",
        all(is_sound(seen) and len(seen.lanes) == sum(SETUPS.values()) for seen in runs),
        _CAUTION,
    )


def faults(seen: Seen) -> Claim:
    """Judge claim 4."""
    length = length_of(seen.lanes, 0)
    lost = sum(lane.is_lost for lane in seen.lanes)
    again = sum(not bar.is_done for lane in seen.lanes for bar in lane.bars)
    created = len(seen.lanes) - sum(SETUPS.values())
    without = {name: longest_without(seen.lanes, name, 0) for name in SETS}
    name, (since, time) = max(without.items(), key=lambda item: item[1][1])
    return Claim(
        "4 live",
        "the same with real processes: eight workers killed with SIGKILL; all chains finish, capabilities come back",
        "all 1,000",
        f"{done(seen.lanes, 0):,} of {seen.chains:,} done, {_placed(seen)}, in {length.whole / SECOND:.1f} s;"
        f" {seen.killed} killed, {again} chains run again, {created} agents created; longest without {name}:"
        f" {time / SECOND:.1f} s, from {since / SECOND:.1f} s on",
        is_sound(seen) and seen.killed == lost == KILLS and created > 0,
        _CAUTION,
    )


def is_sound(seen: Seen) -> bool:
    """Return whether all chains are done, each recorded once, on agents that offer what they required."""
    return done(seen.lanes, 0) == seen.recorded == seen.chains and length_of(seen.lanes, 0).is_right and seen.are_apart


def _placed(*runs: Seen) -> str:
    is_right = all(length_of(seen.lanes, 0).is_right for seen in runs)
    is_once = all(seen.recorded == seen.chains for seen in runs)
    return f"{'all' if is_right else 'not all'} on the right agents, {'' if is_once else 'not '}each recorded once"


def _processes(*runs: Seen) -> str:
    numbers = sorted({seen.processes for seen in runs})
    return f"{' and '.join(map(str, numbers))} processes"


def _by(gain: float) -> str:
    return f"{abs(gain):.1%} {'shorter' if gain >= 0 else 'longer'}"
