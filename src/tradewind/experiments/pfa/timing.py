"""Time decisions so that policies can be compared on a host that is also doing other work.

We measure the processor time of the deciding thread, which other programs do not affect, let the policies take turns in
one process, and keep the minimum of several rounds for each decision: disturbances only ever add time.
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
"""Workflows of a warm-up run, which keeps cold caches out of the measurement."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Decision times in seconds."""

    decisions: tuple[float, ...]
    phases: Mapping[str, float]
    """The policy's marked steps, summed over all decisions; the core's part of a decision is in none of them."""

    def share(self, *phases: str) -> float:
        """Return the fraction of decision time spent in some phases; by default, in all of them."""
        wanted = phases or tuple(self.phases)
        return sum(self.phases.get(phase, 0.0) for phase in wanted) / sum(self.decisions)


class Laps:
    """A collector of the processor time of named phases."""

    def __init__(self) -> None:
        self.by_phase: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure the time spent in this block."""
        begin = thread_time()
        try:
            yield
        finally:
            self.by_phase[name].append(thread_time() - begin)


def time_decisions(
    work: Sequence[Submission], seed: int, rounds: int, step: Callable[[str], None]
) -> dict[Variant, Timing]:
    """Time the decisions of the main policies at the baseline, in turns, after a short warm-up run of each."""
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
    """Return the minimum over several rounds of the same decisions."""
    least = {name: [min(laps) for laps in zip(*(each[name] for each in rounds), strict=True)] for name in rounds[0]}
    decisions = tuple(least.pop("decision"))
    return Timing(decisions, {name: sum(laps) for name, laps in least.items()})
