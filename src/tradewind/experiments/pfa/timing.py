"""How long decisions take, measured so that policies can be compared on a machine that does other things too.

We take the processor time of the deciding thread, which other programs do not lengthen, let the policies take turns in
one process, and keep of each decision the least of several rounds: a round can only be disturbed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import thread_time

from tradewind.experiments.pfa.settings import BASELINE, MAIN, Variant, scenario
from tradewind.model.scenario import Submission
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

_WARM_UP = 20
"""Workflows of a run that is not measured: whoever comes first would pay for cold caches."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that decisions took."""

    decisions: tuple[float, ...]
    phases: Mapping[str, float]
    """The policy's marked steps, added up over all decisions; what the core does in a decision is in none of them."""

    def share(self, *phases: str) -> float:
        """Of all decision time, what goes into some phases; with none named, into all of them."""
        wanted = phases or tuple(self.phases)
        return sum(self.phases.get(phase, 0.0) for phase in wanted) / sum(self.decisions)


class Laps:
    """Collects the processor time of named phases."""

    def __init__(self) -> None:
        self.by_phase: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what happens inside."""
        begin = thread_time()
        try:
            yield
        finally:
            self.by_phase[name].append(thread_time() - begin)


def time_decisions(
    work: Sequence[Submission], seed: int, rounds: int, step: Callable[[str], None]
) -> dict[Variant, Timing]:
    """Time the decisions of the main policies at the baseline, in turns, after a short run of each to warm up."""
    for variant in MAIN:
        _laps(variant, work[:_WARM_UP], seed)
    laps: dict[Variant, list[Mapping[str, Sequence[float]]]] = {variant: [] for variant in MAIN}
    for _ in range(rounds):
        for variant in MAIN:
            laps[variant].append(_laps(variant, work, seed))
            step(f"timing {variant.label}")
    return {variant: timing_of(found) for variant, found in laps.items()}


def _laps(variant: Variant, work: Sequence[Submission], seed: int) -> Mapping[str, Sequence[float]]:
    clock = Laps()
    policy = build(variant.policy, variant.parameters)
    Simulation(scenario(BASELINE, variant, seed), work, policy, clock.phase).run(lambda _record: None)
    return clock.by_phase


def timing_of(rounds: Sequence[Mapping[str, Sequence[float]]]) -> Timing:
    """What several rounds of the same decisions say about the time they take."""
    least = {name: [min(laps) for laps in zip(*(each[name] for each in rounds), strict=True)] for name in rounds[0]}
    decisions = tuple(least.pop("decision"))
    return Timing(decisions, {name: sum(laps) for name, laps in least.items()})
