"""What would become of a workflow under a deadline: looked up in a simulation of it alone, before anything is spent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tradewind.core.estimates import Learned
from tradewind.core.log import Record, Sink, SinkFor
from tradewind.core.state import State
from tradewind.model.command import Start
from tradewind.model.event import Finished
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import MINUTE, Duration, Money, Time
from tradewind.model.workflow import Task, Workflow
from tradewind.sim.simulate import simulate

NOW: Duration = 1
"""A deadline that nothing can meet, so that a policy hurries as much as it can."""


@dataclass(frozen=True, slots=True)
class StepProspect:
    """Where and when a task would run."""

    task: str
    type: str
    machine: int
    begin: Time
    end: Time
    latest: Time
    """When it has to end at the latest, if all that follows runs on its fastest types without waiting."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What would become of a workflow."""

    deadline: Duration
    finish: Duration
    cost: Money
    machines: Mapping[str, int]
    """How many of each type would be rented."""
    steps: Sequence[StepProspect]
    warnings: Sequence[str] = field(default=())

    @property
    def slack(self) -> Duration:
        """Time left until the deadline; below zero it is missed."""
        return self.deadline - self.finish


class _Watch:
    """Notes what ran where."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.begins: dict[str, tuple[str, int, Time]] = {}
        self.ends: dict[str, Time] = {}

    def observe(self, record: Record) -> None:
        if isinstance(record, Start):
            unit = self._state.units[record.unit]
            kind = self._state.machines[record.machine].kind.type.name
            self.begins[unit.task.id] = (kind, record.machine, record.at)
        elif isinstance(record, Finished):
            found = self._state.units.get(record.unit)
            if found is not None:
                self.ends[found.task.id] = record.at


def look_ahead(
    workflow: Workflow,
    machines: tuple[MachineType, ...],
    deadline: Duration,
    policy: str = "scs+",
    parameters: Mapping[str, Any] | None = None,
    interval: Duration = MINUTE,
    sinks: Sequence[SinkFor] = (),
) -> Prospect:
    """What would become of a workflow that has so long, on machines that are rented for it alone."""
    warnings: list[str] = []
    timed = with_times(workflow, machines, warnings)
    seen: list[_Watch] = []

    def watch(state: State) -> Sink:
        seen.append(_Watch(state))
        return seen[0].observe

    scenario = Scenario((), machines, policy=policy, parameters=parameters or {}, interval=interval)
    outcome = simulate(scenario, [Submission(0, replace(timed, deadline=deadline))], [watch, *sinks])
    tenant = outcome.meter.tenants[0]
    begins, ends = seen[0].begins, seen[0].ends
    latest = latest_ends(timed, machines, deadline)
    steps = [
        StepProspect(task.id, *begins[task.id], ends.get(task.id, outcome.meter.end), latest[task.id])
        for task in timed.tasks
        if task.id in begins
    ]
    rented: dict[str, set[int]] = {}
    for step in steps:
        rented.setdefault(step.type, set()).add(step.machine)
    return Prospect(
        deadline,
        outcome.meter.end,
        tenant.charged - tenant.refunded,
        {kind: len(numbers) for kind, numbers in rented.items()},
        steps,
        warnings,
    )


def tightest(
    workflow: Workflow,
    machines: tuple[MachineType, ...],
    policy: str = "scs+",
    parameters: Mapping[str, Any] | None = None,
    interval: Duration = MINUTE,
) -> Prospect:
    """The soonest end that can be had, and what it costs to have it."""
    hurried = look_ahead(workflow, machines, NOW, policy, parameters, interval)
    careful = look_ahead(workflow, machines, hurried.finish, policy, parameters, interval)
    return careful if careful.slack >= 0 else hurried


def with_times(workflow: Workflow, machines: Sequence[MachineType], warnings: list[str]) -> Workflow:
    """A workflow in which every task has a time on every type; where it declares none, the documented guess."""
    estimate = Learned(warn=warnings.append)
    tasks = tuple(
        replace(task, runtimes={type.name: estimate.of(task, type) for type in machines}) for task in workflow.tasks
    )
    return replace(workflow, tasks=tasks)


def latest_ends(workflow: Workflow, machines: Sequence[MachineType], deadline: Duration) -> dict[str, Time]:
    """When each task has to end so that the rest can still be in time."""
    fastest = [_fastest(task, machines) for task in workflow.tasks]
    latest = [deadline] * len(fastest)
    for place in range(len(fastest) - 1, -1, -1):
        for parent in workflow.parents[place]:
            latest[parent] = min(latest[parent], latest[place] - fastest[place])
    return {task.id: time for task, time in zip(workflow.tasks, latest, strict=True)}


def _fastest(task: Task, machines: Sequence[MachineType]) -> Duration:
    able = [task.runtimes[type.name] for type in machines if type.offers(task.requirement)]
    return min(able, default=0)
