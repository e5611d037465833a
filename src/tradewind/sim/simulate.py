"""Simulating a scenario from end to end, and what comes of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from tradewind.core.log import Record, Sink, SinkFor
from tradewind.core.metrics import Meter
from tradewind.core.summary import summarise
from tradewind.core.why import Stuck, stuck
from tradewind.model.scenario import Scenario, Submission
from tradewind.policies.compose import label
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.rehearsal import Prepare, as_it_is
from tradewind.sim.runtimes import RunTimes
from tradewind.sim.stopwatch import Stopwatch
from tradewind.sim.traces.source import provider_of
from tradewind.sim.workload import submissions

_MOST = 100
"""Runs that never end and are told of one by one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a simulation found."""

    scenario: Scenario
    meter: Meter
    stopwatch: Stopwatch
    wall: float
    """Seconds of real time."""
    unfinished: Sequence[Stuck]
    """Runs that would never end."""

    @property
    def failed(self) -> Sequence[str]:
        """Runs that failed, each with the reason."""
        return [f"{run.workflow} failed: {run.failure}" for run in self.meter.runs if run.status == "failed"]

    def figures(self) -> dict[str, Any]:
        """The figures of the run as plain values; those of real time come last, for they differ from run to run."""
        figures = summarise(self.meter)
        return {
            "policy": label(self.scenario.policy, self.scenario.parameters),
            "parameters": dict(self.scenario.parameters),
            "seed": self.scenario.seed,
            **figures,
            "unfinished": [_plain(each) for each in self.unfinished[:_MOST]],
            "decision_ms": self.stopwatch.milliseconds("decision"),
            "wall_s": self.wall,
            "tasks_per_s": self.meter.finished / self.wall if self.wall else 0.0,
        }


def simulate(
    scenario: Scenario,
    work: Sequence[Submission] | None = None,
    sinks: Sequence[SinkFor] = (),
    times: RunTimes | None = None,
    prepare: Prepare = as_it_is,
) -> Outcome:
    """Run a scenario; each sink gets every record as it happens. `times` and `prepare`: see `Simulation`."""
    work = submissions(scenario) if work is None else work
    stopwatch = Stopwatch()
    begin = perf_counter()
    policy = build(scenario.policy, scenario.parameters)
    simulation = Simulation(scenario, work, policy, stopwatch.phase, provider_of(scenario), times, prepare)
    units = simulation.state.units
    meter = Meter(simulation.state.all_pools, simulation.state.kinds, lambda unit: units[unit].task.id)
    simulation.run(_together([meter.observe, *(sink_for(simulation.state) for sink_for in sinks)]))
    return Outcome(scenario, meter, stopwatch, perf_counter() - begin, stuck(simulation.state))


def _plain(each: Stuck) -> dict[str, Any]:
    return {
        "workflow": each.workflow,
        "tenant": each.tenant,
        "task": each.task,
        "requires": each.requirement,
        "tasks_left": each.left,
        "cause": str(each.reason.cause),
        "why": str(each),
    }


def _together(sinks: Sequence[Sink]) -> Sink:
    if len(sinks) == 1:
        return sinks[0]

    def sink(record: Record) -> None:
        for each in sinks:
            each(record)

    return sink
