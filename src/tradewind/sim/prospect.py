"""What would become of a workflow under a deadline: looked up in a simulation of it alone, before anything is spent.

A program is rehearsed: it unfolds as in a real run if its results are as assumed, and so a policy sees only the steps
that can begin.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tradewind.core.chains.link import Linked, link
from tradewind.core.estimates import Learned
from tradewind.core.log import Record, Sink, SinkFor
from tradewind.core.machines import Kind
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.model.command import Acquire, Refused, Start
from tradewind.model.errors import TradewindError
from tradewind.model.event import Finished
from tradewind.model.machine import BootLag, MachineType
from tradewind.model.program import Program, Step
from tradewind.model.scenario import Rehearsal, Scenario, Submission
from tradewind.model.units import MINUTE, Duration, Money, Time
from tradewind.model.workflow import Task, Workflow
from tradewind.sim.rehearsal import first_part
from tradewind.sim.simulate import simulate

NOW: Duration = 1
"""A deadline that nothing can meet, so that a policy hurries as much as it can."""
_TRIES = 5

Work: TypeAlias = Workflow | Rehearsal


class ProspectError(TradewindError):
    """Work that would not end well."""


@dataclass(frozen=True, slots=True)
class Terms:
    """On what something would run."""

    machines: tuple[MachineType, ...]
    policy: str = "scs+"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    interval: Duration = MINUTE
    estimates: Learned = field(default_factory=Learned)
    """How long steps take, and machines until they are up."""


@dataclass(frozen=True, slots=True)
class StepProspect:
    """Where and when a chain of tasks, most often a single one, would run."""

    tasks: Sequence[str]
    """One after the other, as `run` places them."""
    name: str
    """What tasks of this sort have in common."""
    type: str
    machine: int
    begin: Time
    end: Time
    latest: Time | None
    """When it has to end at the latest, if all that follows runs on its fastest types without waiting; None: only a
    real run knows what follows.
    """


@dataclass(frozen=True, slots=True)
class Prospect:
    """What would become of a workflow."""

    deadline: Duration
    finish: Duration
    cost: Money
    machines: Mapping[str, int]
    """How many of each type would be rented."""
    steps: Sequence[StepProspect]

    @property
    def slack(self) -> Duration:
        """Time left until the deadline; below zero it is missed."""
        return self.deadline - self.finish


class _Watch:
    """Notes what ran where."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.begins: dict[str, tuple[str, str, int, Time]] = {}
        self.ends: dict[str, Time] = {}
        self.rented: dict[str, int] = {}
        self.refused: list[str] = []

    def observe(self, record: Record) -> None:
        if isinstance(record, Start):
            unit = self._state.units[record.unit]
            kind = self._state.machines[record.machine].kind.type.name
            self.begins[unit.task.id] = (unit.task.name, kind, record.machine, record.at)
        elif isinstance(record, Finished):
            found = self._state.units.get(record.unit)
            if found is not None:
                self.ends[found.task.id] = record.at
        elif isinstance(record, Acquire):
            kind = self._state.kinds[record.kind].type.name
            self.rented[kind] = self.rented.get(kind, 0) + 1
        elif isinstance(record, Refused):
            self.refused.append(record.reason)


def look_ahead(work: Work, terms: Terms, deadline: Duration, sinks: Sequence[SinkFor] = ()) -> Prospect:
    """What would become of work that has so long, on machines that are rented for it alone."""
    seen: list[_Watch] = []

    def watch(state: State) -> Sink:
        seen.append(_Watch(state))
        return seen[0].observe

    def time(unit: Unit, kind: Kind) -> Duration:
        return terms.estimates.of(unit.task, kind.type)

    machines = tuple(_with_lag(type, terms.estimates) for type in terms.machines)
    scenario = Scenario((), machines, policy=terms.policy, parameters=terms.parameters, interval=terms.interval)
    chained = link(work) if isinstance(work, Workflow) else work
    outcome = simulate(scenario, [_submission(chained, deadline)], [watch, *sinks], time)
    noted = seen[0]
    if [run.status for run in outcome.meter.runs] != ["done"]:
        raise ProspectError("; ".join(noted.refused) or "it would never end: no machine can be had for what is left")
    tenant = outcome.meter.tenants[0]
    latest: Mapping[str, Time] = {}
    members: Mapping[str, Sequence[str]] = {}
    if isinstance(chained, Linked):
        latest = latest_ends(chained.condensed(), machines, deadline, terms.estimates)
        members = _members(chained)
    return Prospect(
        deadline,
        outcome.meter.end,
        tenant.charged - tenant.refunded,
        noted.rented,
        [
            StepProspect(members.get(chain, (chain,)), *begin, noted.ends[chain], latest.get(chain))
            for chain, begin in noted.begins.items()
        ],
    )


def tightest(work: Work, terms: Terms, asked: Prospect) -> Prospect:
    """The tightest deadline that was found to be met, and what that costs.

    Whatever the policy makes of the deadline that was asked for, and of one that nothing can meet, shows how soon an
    end may come; the soonest of these is tried as a deadline first.
    """
    ends = {asked.finish, (hurried := look_ahead(work, terms, NOW)).finish}
    for _ in range(_TRIES):
        wanted = min(ends)
        found = look_ahead(work, terms, wanted)
        if found.slack >= 0:
            return found
        ends = {end for end in (*ends, found.finish) if end > wanted}
    return hurried


def untimed(work: Work, prospect: Prospect) -> list[str]:
    """Names of steps without a run time that follow in a chain on others, or go before them, that have one."""
    steps = [*work.tasks] if isinstance(work, Workflow) else list(_steps(work.program))
    without = {step.name or step.id for step in steps if step.runtime is None and not step.runtimes}
    found: set[str] = set()
    for chain in {step.name for step in prospect.steps}:
        names = set(chain.split("+"))
        if names - without:
            found |= names & without
    return sorted(found)


def _steps(program: Program) -> Iterator[Step]:
    """Those that do something, also inside of loops and included programs."""
    walk = list(program.steps)
    for step in walk:  # grows while it is walked
        walk += step.steps
        if step.action is not None:
            yield step
    for included in program.includes.values():
        yield from _steps(included)


def latest_ends(
    workflow: Workflow, machines: Sequence[MachineType], deadline: Duration, estimates: Learned
) -> dict[str, Time]:
    """When each task has to end so that the rest can still be in time."""
    fastest = [_fastest(task, machines, estimates) for task in workflow.tasks]
    latest = [deadline] * len(fastest)
    for place in range(len(fastest) - 1, -1, -1):
        for parent in workflow.parents[place]:
            latest[parent] = min(latest[parent], latest[place] - fastest[place])
    return {task.id: time for task, time in zip(workflow.tasks, latest, strict=True)}


def _members(linked: Linked) -> dict[str, tuple[str, ...]]:
    """The tasks of each chain, by its id: that of the first."""
    tasks = linked.workflow.tasks
    return {tasks[chain[0]].id: tuple(tasks[place].id for place in chain) for chain in linked.chains}


def _submission(work: Linked | Rehearsal, deadline: Duration) -> Submission:
    """The work, in chains as in a real run."""
    if isinstance(work, Linked):
        return Submission(0, replace(work.condensed(), deadline=deadline))
    rehearsal = replace(work, program=replace(work.program, deadline=deadline))
    return Submission(0, first_part(rehearsal), rehearsal=rehearsal)


def _with_lag(type: MachineType, estimates: Learned) -> MachineType:
    """A machine type that comes up when it is thought to."""
    boot = type.boot
    lag = estimates.lag(type)
    declared = boot.mean if boot.declared is None else boot.declared
    return replace(type, boot=BootLag(declared if lag is None else lag))


def _fastest(task: Task, machines: Sequence[MachineType], estimates: Learned) -> Duration:
    able = [estimates.of(task, type) for type in machines if type.offers(task.requirement)]
    return min(able, default=0)
