"""Run all experiments with real processes, one after the other, so that they do not compete for processors."""

from collections.abc import Callable
from dataclasses import dataclass

from tradewind.experiments.steep.live.settings import LiveExtent
from tradewind.experiments.steep.live.world import Seen, run_live
from tradewind.experiments.steep.settings import NEW, OLD

STEPS = 5


@dataclass(frozen=True, slots=True)
class LiveStudy:
    """All results that the live claims are judged by; pairs are the new and the old heuristic."""

    static: tuple[Seen, Seen]
    dynamic: tuple[Seen, Seen]
    faults: Seen


def run_live_study(extent: LiveExtent, seed: int, step: Callable[[str], None]) -> LiveStudy:
    """Run the experiments; times, and possibly placements, differ from run to run."""

    def run(label: str, policy: str) -> Seen:
        reduced = {"1": extent.static, "2": extent.dynamic, "4": extent.faults}[label]
        seen = run_live(reduced, policy, seed)
        step(f"live experiment {label}")
        return seen

    return LiveStudy((run("1", NEW), run("1", OLD)), (run("2", NEW), run("2", OLD)), run("4", NEW))
