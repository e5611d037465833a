"""Reduced versions of the experiments that run on one host in about a minute.

The chains, agents and limits are those of the simulated experiments 1, 2 and 4. A chain sleeps for its simulated run
time. All times are divided by a pace: run times, the start time of VMs, and the interval between look-ups. Experiment 3
is not run: a thousand agents do not fit on one host.
"""

from dataclasses import dataclass

from tradewind.experiments.steep.settings import BASELINE, DYNAMIC, FAULTS, INTERVAL, STATIC, Trial
from tradewind.model.units import Duration

KILLED_BETWEEN = (0.15, 0.65)
"""Fractions of finished chains at which agents are killed: about minutes 2:30 to 10 of the paper's run."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """An experiment, faster than in the paper."""

    trial: Trial
    pace: int
    """Speed-up factor."""

    @property
    def boot(self) -> Duration:
        """Return how long an agent takes to start; zero if none are created later."""
        return 0 if self.trial.is_static else BASELINE.boot // self.pace

    @property
    def interval(self) -> Duration:
        """Return the interval between two look-ups."""
        return INTERVAL // self.pace


@dataclass(frozen=True, slots=True)
class LiveExtent:
    """How much to run with real processes."""

    static: Reduced = Reduced(STATIC, 200)
    dynamic: Reduced = Reduced(DYNAMIC, 60)
    faults: Reduced = Reduced(FAULTS, 60)


FULL_LIVE = LiveExtent()
QUICK_LIVE = LiveExtent(Reduced(STATIC, 400), Reduced(DYNAMIC, 150), Reduced(FAULTS, 150))
