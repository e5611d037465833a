"""How the experiments are reduced to run on one host in about a minute.

The chains, agents and limits are those of the simulated experiments 1, 2 and 4; a chain sleeps as long as it would run
there, and all times are divided by a pace: run times, the time that VMs take to start, the interval between look-ups.
Experiment 3 is not run: a thousand agents do not fit on one host.
"""

from dataclasses import dataclass

from tradewind.experiments.steep.settings import BASELINE, DYNAMIC, FAULTS, INTERVAL, STATIC, Trial
from tradewind.model.units import Duration

KILLED_BETWEEN = (0.15, 0.65)
"""Shares of the chains after whose ends agents are killed: about minutes 2:30 to 10 of the paper's run."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """An experiment, faster than in the paper."""

    trial: Trial
    pace: int
    """How many times."""

    @property
    def boot(self) -> Duration:
        """How long an agent takes to start; where none are created, they are just there."""
        return 0 if self.trial.is_static else BASELINE.boot // self.pace

    @property
    def interval(self) -> Duration:
        """Between two look-ups."""
        return INTERVAL // self.pace


@dataclass(frozen=True, slots=True)
class LiveExtent:
    """How much is run for real."""

    static: Reduced = Reduced(STATIC, 200)
    dynamic: Reduced = Reduced(DYNAMIC, 60)
    faults: Reduced = Reduced(FAULTS, 60)


FULL_LIVE = LiveExtent()
QUICK_LIVE = LiveExtent(Reduced(STATIC, 400), Reduced(DYNAMIC, 150), Reduced(FAULTS, 150))
