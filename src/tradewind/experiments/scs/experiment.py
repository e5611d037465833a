"""One experiment: a policy on the jobs of one draw of a cell, or on another workflow, and its result."""

from dataclasses import dataclass

from tradewind.core.why import ensure_ended
from tradewind.experiments.scs.others import Other, jobs_of
from tradewind.experiments.scs.settings import Cell, Variant, scenario
from tradewind.experiments.scs.workload import submissions
from tradewind.model.scenario import Submission
from tradewind.model.units import in_units
from tradewind.sim.simulate import Outcome, simulate


@dataclass(frozen=True, slots=True)
class Result:
    """The cost and outcome of one run."""

    cost: float
    jobs: int
    late: int
    """Jobs that missed their deadline."""
    held: int
    """Machine time, in microseconds."""
    busy: int

    @property
    def utilisation(self) -> float:
        """Return the fraction of the held machine time in which something ran."""
        return self.busy / self.held if self.held else 0.0


@dataclass(frozen=True, slots=True)
class Experiment:
    """One policy on the jobs of one draw of a cell, or on another workflow."""

    case: Cell | Other
    variant: Variant
    draw: int
    size: int
    """Hours to simulate, or jobs to submit."""
    seed: int


def run_experiment(experiment: Experiment) -> Result:
    """Simulate one experiment."""
    case, variant = experiment.case, experiment.variant
    if isinstance(case, Other):
        return measure(simulate(scenario(variant, experiment.seed), jobs_of(case, experiment.size, experiment.seed)))
    work: list[Submission] = submissions(case, experiment.draw, experiment.seed, experiment.size)
    seed = experiment.seed * 1_000 + experiment.draw
    return measure(simulate(scenario(variant, seed, case), work))


def measure(outcome: Outcome) -> Result:
    """Measure one run."""
    ensure_ended(outcome.unfinished, outcome.scenario.policy)
    meter = outcome.meter
    tenant = meter.tenants[0]
    runs = meter.runs
    last = max([meter.end, *(level.since for level in tenant.allocated)])
    late = sum(run.deadline is not None and run.ended is not None and run.ended > run.deadline for run in runs)
    return Result(
        cost=in_units(tenant.charged - tenant.refunded),
        jobs=len(runs),
        late=late,
        held=sum(level.until(last) for level in tenant.allocated),
        busy=sum(level.until(last) for level in tenant.busy),
    )
