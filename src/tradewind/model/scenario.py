"""Scenarios: everything a simulation needs, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tradewind.model.action import Json
from tradewind.model.machine import MachineType
from tradewind.model.program import Program
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, Duration, Time
from tradewind.model.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A program to simulate, with assumptions about results that only a real run knows."""

    program: Program
    parameters: Mapping[str, Json] = field(default_factory=dict)
    assumed: Mapping[str, Json] = field(default_factory=dict)
    """Values of outputs, by `step.output`."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A workflow, when it is submitted, and for which tenant."""

    at: Time
    workflow: Workflow
    tenant: str = "default"
    rehearsal: Rehearsal | None = None
    """What the workflow expands into while it runs."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When workflows arrive: a named process and its parameters (see `tradewind.sim.arrivals`)."""

    process: str = "at-once"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generated:
    """Workflows to be created by a named generator (see `tradewind.sim.generators`)."""

    family: str
    count: int = 1
    tasks: int = 100
    arrivals: Arrivals = Arrivals()
    tenants: tuple[str, ...] = ("default",)
    """Tenants that submit in turn."""
    priorities: int = 1
    """Priorities are drawn from 0 up to below this."""


@dataclass(frozen=True, slots=True)
class Given:
    """Workflows that were loaded from files, submitted one after the other."""

    workflows: tuple[Workflow | Rehearsal, ...]
    arrivals: Arrivals = Arrivals()
    tenants: tuple[str, ...] = ("default",)


Workload: TypeAlias = tuple[Given | Generated, ...]


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults of a simulated cloud, per attempt, or per hour of machine time."""

    task_failure: float = 0.0
    """Probability that an attempt fails with an error."""
    machine_loss: float = 0.0
    """Machines lost per machine-hour."""
    boot_failure: float = 0.0
    """Probability that a machine never comes up."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Variation of actual run times around the declared ones: a factor, log-normal around one."""

    deviation: float = 0.0
    """Coefficient of variation of the factor."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """The estimates that policies see: `exact`, `declared`, `noisy`, `biased` (too long or too short) or `learned`."""

    kind: str = "exact"
    deviation: float = 0.0
    """Coefficient of variation of noisy estimates; the maximum relative error of biased ones."""
    quantile: float = 0.5
    """Quantile of the observations that learned estimates use."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The source of spot and harvest machines: servers of a provider, and their free capacity over time."""

    cluster: str = "C2"
    """A synthetic cluster (see `tradewind.sim.traces.clusters`), unless there is a file."""
    file: str = ""
    """Free cores of servers as CSV."""
    count: int = 256
    """Number of servers in a synthetic cluster."""
    length: Duration = 7 * 24 * 60 * MINUTE
    """Length of the trace; after that nothing changes."""
    placement: str = "random"
    """How machines are assigned to servers: `random`, `balancing` or `packing`."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Work, machines, tenants and a policy; the same scenario and seed give the same event log."""

    workload: Workload
    machines: tuple[MachineType, ...]
    tenants: tuple[Tenant, ...] = (Tenant("default"),)
    policy: str = "demand"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the policy."""
    interval: Duration = MINUTE
    """Time between two scaling decisions of the policy."""
    seed: int = 0
    faults: Faults = Faults()
    noise: Noise = Noise()
    estimates: Estimates = Estimates()
    chains: bool = False
    """Whether chains of tasks are placed, as in real runs, instead of single tasks."""
    servers: Servers | None = None
    """None: spot and harvest machines keep their size, and are lost only to faults."""
