"""Compare the cost and duration of a user's own work on regular, spot and harvest machines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from statistics import fmean

from tradewind.experiments.slacksched.measure import Figures, Meter
from tradewind.experiments.slacksched.settings import CORES, WARM_UP, fixed_types, harvest_types
from tradewind.model.machine import MachineType, Market
from tradewind.model.requirement import Requirement, amounts, amounts_of
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import DAY, MINUTE
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.prospect import steps_of
from tradewind.sim.rehearsal import Prepare, as_it_is
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.provider import CPUS, Provider
from tradewind.sim.traces.servers import make_servers

SPAN = 10 * DAY
"""Length of traces."""
SERVERS = 256
"""More than enough servers for these."""
MOST = 128
"""Maximum number of machines at the start."""
SIZES = {Market.ON_DEMAND: 8, Market.SPOT: 8, Market.HARVEST: 16}
"""Mean number of cores of a machine."""
PER_CORE = 8 << 30
"""Bytes of memory per core."""
CASES = (
    ("regular", Market.ON_DEMAND, "capacity", False),
    ("spot", Market.SPOT, "capacity", False),
    ("harvest", Market.HARVEST, "capacity", False),
    ("harvest, slacksched", Market.HARVEST, "slacksched", True),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One way to run the work."""

    name: str
    figures: Figures

    @property
    def response(self) -> float:
        """Return the mean time from submission to end, in hours."""
        return fmean(self.figures.completion) if self.figures.completion else 0.0


def compare_markets(work: Sequence[Submission], cluster: str, seed: int, prepare: Prepare = as_it_is) -> list[Row]:
    """Simulate the same work on machines of each market, as many as keep 60 to 80 % of the cores in use."""

    def fitted(task: Task) -> Task:
        return _with_core(prepare(task))

    shifted = [_shifted(each) for each in work]
    wide = max((_width(each.workflow) for each in shifted), default=1)
    capabilities = frozenset().union(*(need.capabilities for each in work for need in _needs(each)))
    servers = make_servers(CLUSTERS[cluster], SERVERS, WARM_UP + SPAN, seed)
    rows = []
    for name, market, policy, acquires in CASES:
        types = harvest_types() if market is Market.HARVEST else fixed_types(market)
        parameters = {
            "machines": max(1, min(MOST, ceil(wide / SIZES[market] / 0.7))),
            "scaling": "utilisation",
            "epoch": "10m",
            "acquire": acquires,
        }
        kinds = tuple(_equipped(type, capabilities) for type in types)
        scenario = Scenario((), kinds, policy=policy, parameters=parameters, interval=MINUTE, seed=seed)
        first = Submission(0, Workflow("warm-up", (Task("warm-up", "warm-up", Requirement(), 0),), ((),)))
        provider = Provider(servers, "random", seed)
        world = Simulation(scenario, [first, *shifted], build(policy, parameters), provider=provider, prepare=fitted)
        meter = Meter(world.state, WARM_UP)
        world.run(meter.observe)
        rows.append(Row(name, meter.figures()))
    return rows


def _equipped(type: MachineType, capabilities: frozenset[str]) -> MachineType:
    """Return the type with all required capabilities, and memory."""
    cores = dict(type.amounts)[CPUS]
    return replace(type, capabilities=capabilities, amounts=amounts(cpus=cores, memory=cores * PER_CORE))


def _shifted(submission: Submission) -> Submission:
    """Return the same work after the warm-up, adapted so that the machines can run it."""
    workflow = submission.workflow
    fitted = replace(workflow, tasks=tuple(map(_with_core, workflow.tasks)))
    return replace(submission, at=submission.at + WARM_UP, workflow=fitted)


def _needs(submission: Submission) -> Iterator[Requirement]:
    """Yield the requirements of all tasks, including those that a program creates later."""
    yield from (task.requirement for task in submission.workflow.tasks)
    if submission.rehearsal is not None:
        yield from (step.requirement for step in steps_of(submission.rehearsal.program))


def _with_core(task: Task) -> Task:
    """Return a task that requests at least one core and no more than a machine has, and perhaps memory."""
    counts = {name: count for name, count in task.requirement.amounts if name in (CPUS, "memory")}
    counts.setdefault(CPUS, 1)
    counts[CPUS] = min(counts[CPUS], CORES)
    return replace(task, requirement=Requirement(task.requirement.capabilities, amounts_of(counts)))


def _width(workflow: Workflow) -> int:
    """Return the number of cores of the widest level."""
    cores: dict[int, int] = {}
    for task, level in zip(workflow.tasks, workflow.levels(), strict=True):
        cores[level] = cores.get(level, 0) + dict(task.requirement.amounts).get(CPUS, 1)
    return max(cores.values(), default=1)
