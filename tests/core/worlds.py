"""Small worlds to test in: hand-made machine types and workflows, random scenarios, and a core driven by hand."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from math import ceil
from typing import Any, TypeAlias
from unittest.mock import patch

from hypothesis import strategies as st

from tradewind.core.handle import Core
from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.model.command import Acquire, Command, Start
from tradewind.model.event import Event, Submitted
from tradewind.model.machine import NO_LIMIT, Billing, BootLag, MachineType, Market
from tradewind.model.requirement import ANYTHING, Requirement, amounts
from tradewind.model.scenario import Estimates, Faults, Noise, Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT, Duration
from tradewind.model.workflow import NO_CAUSES, ONCE, Retry, Task, Workflow
from tradewind.policies.protocol import Policy
from tradewind.policies.registry import build
from tradewind.sim import driver
from tradewind.sim.driver import Simulation

# By hand


def task(
    name: str = "t",
    seconds: float = 10,
    *,
    needs: Requirement = ANYTHING,
    retry: Retry = ONCE,
    on: Mapping[str, float] | None = None,
) -> Task:
    runtimes = {kind: round(time * SECOND) for kind, time in (on or {}).items()}
    return Task(name, name, needs, round(seconds * SECOND), runtimes, retry=retry)


def workflow(
    *tasks: Task, parents: Sequence[Sequence[int]] | None = None, priority: int = 0, deadline: Duration | None = None
) -> Workflow:
    """Tasks with the given parents; by default they do not wait for each other."""
    rows = tuple(map(tuple, parents)) if parents is not None else ((),) * len(tasks)
    return Workflow("w", tasks, rows, priority, deadline)


def chain(*tasks: Task, priority: int = 0) -> Workflow:
    return workflow(*tasks, parents=[[i - 1] if i else [] for i in range(len(tasks))], priority=priority)


def minutely(name: str = "small", price: int = 1, **options: Any) -> MachineType:
    """A machine type paid by the minute."""
    return MachineType(name, price * UNIT, Billing(MINUTE), **options)


def simulated(
    work: Sequence[Submission | Workflow],
    machines: Sequence[MachineType],
    policy: str = "demand",
    parameters: Mapping[str, Any] | None = None,
    *,
    tenants: Sequence[Tenant] = (Tenant("default"),),
    most: int = 100_000,
    **options: Any,
) -> list[Record]:
    """The records of a simulation; no more than `most` of them."""
    submissions = [each if isinstance(each, Submission) else Submission(0, each) for each in work]
    scenario = Scenario((), tuple(machines), tuple(tenants), policy, parameters or {}, **options)
    return run(scenario, submissions, most)


class EnoughError(Exception):
    """A simulation has gone on for long enough."""


def run(scenario: Scenario, submissions: Sequence[Submission], most: int = 100_000, turns: int = 2_000) -> list[Record]:
    """The records of a simulation; no more than `most` of them, and no more than `turns` decisions of the scaler."""
    records: list[Record] = []
    decisions = 0

    def sink(record: Record) -> None:
        records.append(record)
        if len(records) >= most:
            raise EnoughError

    def phase(name: str) -> AbstractContextManager[None]:
        nonlocal decisions
        decisions += name == "decision"
        if decisions > turns:
            raise EnoughError
        return nullcontext()

    simulation = Simulation(scenario, submissions, build(scenario.policy, scenario.parameters), phase)
    with suppress(EnoughError), patch.object(driver, "_collecting_rarely", nullcontext):  # costly beside so short a run
        simulation.run(sink)
    return records


def of(records: Sequence[Record], *kinds: type) -> list[Any]:
    """The records of some kinds."""
    return [record for record in records if type(record) in kinds]


class Bench:
    """A core driven by hand: events go in with growing numbers, everything is recorded."""

    def __init__(
        self,
        machines: Sequence[MachineType],
        policy: str | Policy = "demand",
        parameters: Mapping[str, Any] | None = None,
        *,
        tenants: Sequence[Tenant] = (Tenant("default"),),
        interval: Duration = MINUTE,
        seed: int = 0,
    ) -> None:
        self.machines = machines
        self.tenants = tenants
        self.state = State(machines, tenants, interval, seed, declared_time)
        self.core = Core(self.state, build(policy, parameters) if isinstance(policy, str) else policy)
        self.records: list[Record] = []
        self.seq = 0

    def tell(self, kind: type[Any], at: float, *details: Any) -> list[Any]:
        """Hand an event of a kind to the core, at a time in seconds."""
        return self.handle(kind(round(at * SECOND), self.next_seq(), *details))

    def submit(self, at: float, work: Workflow, tenant: str = "default") -> list[Any]:
        return self.tell(Submitted, at, tenant, work)

    def next_seq(self) -> int:
        self.seq += 1
        return self.seq

    def handle(self, event: Event) -> list[Any]:
        commands: list[Command] = list(self.core.handle(event))
        self.records.append(event)
        self.records += commands
        return commands

    @property
    def starts(self) -> list[Start]:
        return of(self.records, Start)

    @property
    def acquired(self) -> list[Acquire]:
        return of(self.records, Acquire)


# At random


@dataclass(frozen=True, slots=True)
class World:
    """A scenario, its work, and whether all of it must come to an end."""

    scenario: Scenario
    submissions: tuple[Submission, ...]
    must_end: bool

    @property
    def is_dynamic(self) -> bool:
        return self.scenario.policy in ("fixed", "demand", "pfa")

    @property
    def is_replicated(self) -> bool:
        return self.scenario.policy == "replicate"

    def run(self) -> list[Record]:
        return run(self.scenario, self.submissions, *((20_000, 2_000) if self.must_end else (500, 50)))


POLICIES: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("demand", {}),
    ("fixed", {"machines": 1}),
    ("fixed", {"machines": 5}),
    ("pfa", {"smoothing": "ma", "m": 2}),
    ("pfa", {"smoothing": "ewma", "alpha": 0.5}),
    ("plf", {}),
    ("scf", {}),
    ("capability", {}),
    ("replicate", {"scaling": "demand", "replicas": 2}),
    ("replicate", {"scaling": "demand", "replicas": 3}),
)

Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Chooses one of some values; drawn by Hypothesis, or, where many worlds are wanted fast, by a seeded generator."""


def make_world(pick: Pick) -> World:
    """A random world; the first of all values is the simplest."""
    policy, parameters = pick(POLICIES)
    is_uniform = pick((True, True, False))
    types = tuple(make_type(pick, index, is_uniform=is_uniform) for index in range(pick((1, 2, 3))))
    if policy == "pfa":  # its demand knows no bounds if neither budget nor limits set any
        types = tuple(replace(kind, limit=min(kind.limit, 8)) for kind in types)
    tenants = tuple(
        Tenant(name, pick((None, None, 0, 1, 2, 5, 8, 13, 21, 30)), pick((60, 30, 150)) * SECOND)
        for name in ("ann", "bob")[: pick((1, 2))]
    )
    tenants = tuple(replace(t, budget=None if t.budget is None else t.budget * UNIT) for t in tenants)
    submissions = tuple(
        Submission(pick((0, 60, 1, 59, 61, 120, 200, 333)) * SECOND, make_workflow(pick, types), pick(tenants).name)
        for _ in range(pick((1, 2, 3, 4, 0)))
    )
    scenario = Scenario(
        workload=(),
        machines=types,
        tenants=tenants,
        policy=policy,
        parameters=parameters,
        interval=pick((60, 45)) * SECOND,
        seed=pick(range(10)),
        faults=Faults(pick((0.0, 0.2)), pick((0.0, 20.0)), pick((0.0, 0.3))),
        noise=Noise(pick((0.0, 0.5))),
        estimates=Estimates(pick(("exact", "noisy", "declared")), 0.5),
    )
    return World(scenario, submissions, _must_end(scenario, is_uniform=is_uniform))


def make_type(pick: Pick, index: int, *, is_uniform: bool) -> MachineType:
    period = pick((60, 20, 100)) * SECOND
    price = pick((UNIT, 5 * UNIT, 0, Fraction(UNIT, 3), Fraction(7 * UNIT, 6)))
    return MachineType(
        name=f"type{index}",
        price=price,
        core_price=pick((0, price // 3, Fraction(price) / 7)),
        billing=Billing(period, pick((None, period, period // 4, SECOND)), pick((0, 30, 150)) * SECOND),
        boot=BootLag(pick((0, 10, 45)) * SECOND, pick((0, 20)) * SECOND),
        limit=pick((NO_LIMIT, 1, 3)),
        capabilities=frozenset() if is_uniform else pick(_CAPABILITIES),
        slots=pick((1, 2, 3)),
        amounts=() if is_uniform else amounts(memory=pick(range(7)), cpus=pick(range(4))),
        speed=pick((1.0, 2.0, 0.75)),
        market=pick((Market.ON_DEMAND, Market.HARVEST)),
        minimum=() if is_uniform else pick(((), amounts(cpus=1))),
    )


def make_workflow(pick: Pick, types: Sequence[MachineType]) -> Workflow:
    tasks = []
    parents: list[tuple[int, ...]] = []
    for index in range(pick(range(8))):
        retry = Retry(
            pick((1, 2, 3)),
            by_cause=pick((NO_CAUSES, {"memory": 4})),
            lost=pick((100, 1)),
            memory_growth=pick((1.0, 1.5)),
            delay=pick((0, 7, 30)) * SECOND,
            within=pick((None, None, None, 100 * SECOND)),
        )
        on = {kind.name: pick((0, 10, 60, 120)) * SECOND for kind in types if pick((False, False, False, True))}
        runtime = pick((30, 0, 1, 59, 60, 61, 90, 150)) * SECOND
        tasks.append(Task(f"t{index}", "t", make_requirement(pick, types), runtime, on, retry=retry))
        parents.append(tuple(sorted({pick(range(index)) for _ in range(pick((0, 1, 2, 3)))})) if index else ())
    return Workflow("w", tuple(tasks), tuple(parents), pick((0, 1, 2)), pick((None, 90 * SECOND)))


def make_requirement(pick: Pick, types: Sequence[MachineType]) -> Requirement:
    """Something that one of the types offers, or, rarely, none."""
    kind = pick(types)
    wanted = {name: pick(range(most + 1)) for name, most in kind.amounts}
    if wanted and not pick(range(20)):
        wanted["memory"] = 7
    capabilities = frozenset(name for name in sorted(kind.capabilities) if pick((False, True)))
    return Requirement(capabilities, amounts(**wanted))


_CAPABILITIES = tuple(map(frozenset[str], ((), ("gpu",), ("disk",), ("disk", "gpu"))))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return make_world(lambda values: draw(st.sampled_from(values)))


def world_of(seed: int) -> World:
    """A random world from a seed, made much faster than Hypothesis can, though it cannot be made smaller."""
    return make_world(random.Random(seed).choice)


def _must_end(scenario: Scenario, *, is_uniform: bool) -> bool:
    """Whether any sound policy ends all work: each budget pays for a machine of every type that some task may need."""
    if scenario.policy == "fixed":  # holds machines whether they are of use or not, and for tenants without work too
        is_enough = is_uniform or scenario.parameters["machines"] >= len(scenario.machines)
        return is_enough and len(scenario.tenants) == 1 and scenario.tenants[0].budget is None
    return all(_pays_for(tenant, scenario.machines, is_uniform=is_uniform) for tenant in scenario.tenants)


def _pays_for(tenant: Tenant, types: Sequence[MachineType], *, is_uniform: bool) -> bool:
    """Whether the budget pays for one machine: of some type, if all can run everything, else of any type."""
    costs = [
        kind.price
        * max(1, ceil(tenant.interval / kind.billing.period), ceil(kind.billing.minimum / kind.billing.period))
        for kind in types
    ]
    return tenant.budget is None or tenant.budget >= (min(costs) if is_uniform else max(costs))


def digest_of(seeds: Sequence[int]) -> str:
    """What the core did in the worlds of some seeds; submissions are left out, for sets print in any order."""
    digest = sha256()
    for seed in seeds:
        records = [record for record in world_of(seed).run() if not isinstance(record, Submitted)]
        digest.update(repr(records).encode())
    return digest.hexdigest()
