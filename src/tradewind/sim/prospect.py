"""What would become of a workflow under a deadline: looked up in a simulation of it alone, before anything is spent.

A program is rehearsed: it unfolds as in a real run if its results are as assumed, and so a policy sees only the steps
that can begin.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND, Duration, Money, Time
from tradewind.model.workflow import Task, Workflow
from tradewind.sim.rehearsal import first_part
from tradewind.sim.simulate import simulate

NOW: Duration = 1
"""A deadline that nothing can meet, so that a policy hurries as much as it can."""
_SLOTS = ""
_TRIES = 5
_CLOSER = 4
"""How often a deadline between what was met and what cannot be is tried."""
_NEAR = 1.05
"""What was met and what cannot be are no further apart."""
_LARGE = 1_000
"""Work of more chains is not looked at more closely: each try takes long."""
NO_TIME = "{!r} declares no run time: in a chain with steps that do it counts as nothing; give it one"
"""A warning; see `untimed`."""

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
        reasons = noted.refused or [f"it would never end: {each}" for each in outcome.unfinished]
        raise ProspectError("; ".join(reasons))
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


def tightest(work: Work, terms: Terms, asked: Prospect, sinks: Sequence[SinkFor] = ()) -> Prospect:
    """The tightest deadline that was found to be met, and what that costs; one that is missed if none is met.

    Whatever the policy makes of the deadline that was asked for, and of one that nothing can meet, shows how soon an
    end may come; these are tried as deadlines, the soonest first. Then deadlines between what was met and what nothing
    can meet are tried, unless the work is so large that this takes long. Each has a length that can be shown.
    """
    hurried = look_ahead(work, terms, NOW, sinks)
    best = asked if asked.slack >= 0 else None
    tried: dict[Duration, Prospect] = {NOW: hurried, asked.deadline: asked}
    for _ in range(_TRIES):
        ends = {shown_length(each.finish) for each in tried.values()}
        wanted = min((end for end in ends - tried.keys() if best is None or end < best.deadline), default=None)
        if wanted is None:
            if best is not None:
                break
            wanted = 2 * max(ends)
        found = tried[wanted] = look_ahead(work, terms, wanted, sinks)
        best = found if found.slack >= 0 else best
    if best is None:
        return hurried
    missed = max(least_makespan(work, terms), *(each for each in tried if each < best.deadline))
    for _ in range(_CLOSER if len(best.steps) <= _LARGE else 0):
        wanted = shown_length((missed + best.deadline) // 2)
        if best.deadline <= missed * _NEAR or wanted >= best.deadline:
            break
        found = look_ahead(work, terms, wanted, sinks)
        if found.slack >= 0:
            best = found
        else:
            missed = wanted
    return best


def shown_length(length: Duration) -> Duration:
    """A duration, rounded up to one that is shown in full."""
    unit = SECOND if length <= HOUR else MINUTE if length <= DAY else HOUR
    return -(-length // unit) * unit


def least_makespan(work: Work, terms: Terms) -> Duration:
    """A bound below every makespan: the longest way through the work, and all of it shared among all machines."""
    if not isinstance(work, Workflow):
        return 0
    machines = sum(type.limit for type in terms.machines)
    fastest = [_fastest(task, terms.machines, terms.estimates) for task in work.tasks]
    ends: list[Duration] = []
    for time, parents in zip(fastest, work.parents, strict=True):
        ends.append(time + max((ends[parent] for parent in parents), default=0))
    area = max(_areas(work, terms).values(), default=0.0)
    lag = min((_with_lag(type, terms.estimates).boot.mean for type in terms.machines), default=0)
    return lag + max(max(ends, default=0), int(area / machines) if machines else 0)


def units_in(work: Work) -> int | None:
    """How many units are placed; None: only a run of the program knows."""
    return len(link(work).chains) if isinstance(work, Workflow) else None


def untimed(work: Work, chains: Iterable[str]) -> list[str]:
    """Names of steps without a run time that follow in a chain on others, or go before them, that have one."""
    steps = [*work.tasks] if isinstance(work, Workflow) else list(steps_of(work.program))
    without = {step.name or step.id for step in steps if step.runtime is None and not step.runtimes}
    found: set[str] = set()
    for chain in set(chains):
        names = set(chain.split("+"))
        if names - without:
            found |= names & without
    return sorted(found)


def steps_of(program: Program) -> Iterator[Step]:
    """Those that do something, also inside of loops and included programs."""
    walk = list(program.steps)
    for step in walk:  # grows while it is walked
        walk += step.steps
        if step.action is not None:
            yield step
    for included in program.includes.values():
        yield from steps_of(included)


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


def _areas(work: Workflow, terms: Terms) -> dict[str, float]:
    """Return the least machine time that all tasks take together, by what they share: slots and each amount."""
    found: dict[str, float] = defaultdict(float)
    for task in work.tasks:
        able = [type for type in terms.machines if type.offers(task.requirement)]
        times = [terms.estimates.of(task, type) for type in able]
        found[_SLOTS] += min((time / type.slots for time, type in zip(times, able, strict=True)), default=0.0)
        for name, count in task.requirement.amounts:
            have = (dict(type.amounts)[name] for type in able)
            found[name] += min((time * count / most for time, most in zip(times, have, strict=True)), default=0.0)
    return found
