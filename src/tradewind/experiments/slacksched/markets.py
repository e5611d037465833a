"""What somebody's own work would cost, and how long it would take, on regular, spot and harvest machines."""

from collections.abc import Sequence
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
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.provider import CPUS, Provider
from tradewind.sim.traces.servers import make_servers

SPAN = 10 * DAY
"""How long traces are."""
SERVERS = 256
"""Which is plenty for these."""
MOST = 128
"""Machines to begin with at most."""
SIZES = {Market.ON_DEMAND: 8, Market.SPOT: 8, Market.HARVEST: 16}
"""Cores of a machine, on average."""
PER_CORE = 8 << 30
"""Bytes of memory that come with a core."""
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
        """Mean hours from submission to end."""
        return fmean(self.figures.completion) if self.figures.completion else 0.0


def compare_markets(work: Sequence[Submission], cluster: str, seed: int) -> list[Row]:
    """The same work on machines of each market, as many as keep 60 to 80 % of the cores in use."""
    shifted = [_prepared(each) for each in work]
    wide = max((_width(each.workflow) for each in shifted), default=1)
    capabilities = frozenset().union(*(task.requirement.capabilities for each in work for task in each.workflow.tasks))
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
        world = Simulation(scenario, [first, *shifted], build(policy, parameters), provider=provider)
        meter = Meter(world.state, WARM_UP)
        world.run(meter.observe)
        rows.append(Row(name, meter.figures()))
    return rows


def _equipped(type: MachineType, capabilities: frozenset[str]) -> MachineType:
    """The type with all capabilities that are asked for, and memory."""
    cores = dict(type.amounts)[CPUS]
    return replace(type, capabilities=capabilities, amounts=amounts(cpus=cores, memory=cores * PER_CORE))


def _prepared(submission: Submission) -> Submission:
    """The same work a warm-up later; tasks that ask for no cores take one."""
    workflow = submission.workflow
    tasks = tuple(replace(task, requirement=_with_core(task.requirement)) for task in workflow.tasks)
    return Submission(submission.at + WARM_UP, replace(workflow, tasks=tasks))


def _with_core(requirement: Requirement) -> Requirement:
    counts = {name: count for name, count in requirement.amounts if name in (CPUS, "memory")}
    counts.setdefault(CPUS, 1)
    counts[CPUS] = min(counts[CPUS], CORES)
    return Requirement(requirement.capabilities, amounts_of(counts))


def _width(workflow: Workflow) -> int:
    """Cores of the widest level."""
    cores: dict[int, int] = {}
    for task, level in zip(workflow.tasks, workflow.levels(), strict=True):
        cores[level] = cores.get(level, 0) + dict(task.requirement.amounts).get(CPUS, 1)
    return max(cores.values(), default=1)
