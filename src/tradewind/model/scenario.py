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
    """A program to be simulated, with what is assumed of its results, for only a real run knows them."""

    program: Program
    parameters: Mapping[str, Json] = field(default_factory=dict)
    assumed: Mapping[str, Json] = field(default_factory=dict)
    """Values of outputs, by `step.output`."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A workflow and when whom it is submitted for."""

    at: Time
    workflow: Workflow
    tenant: str = "default"
    rehearsal: Rehearsal | None = None
    """What unfolds from the workflow while it runs."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When workflows arrive: a named process and its parameters (see `tradewind.sim.arrivals`)."""

    process: str = "at-once"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generated:
    """Workflows to be made by a named generator (see `tradewind.sim.generators`)."""

    family: str
    count: int = 1
    tasks: int = 100
    arrivals: Arrivals = Arrivals()
    tenants: tuple[str, ...] = ("default",)
    """Served in turn."""
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
    """What goes wrong in a simulated cloud, per try, or per hour of machine time."""

    task_failure: float = 0.0
    """Probability that an attempt ends with an error."""
    machine_loss: float = 0.0
    """Machines lost per machine-hour."""
    boot_failure: float = 0.0
    """Probability that a machine never comes up."""


@dataclass(frozen=True, slots=True)
class Noise:
    """How far real run times stray from the declared ones: a factor, log-normal around one."""

    deviation: float = 0.0
    """Coefficient of variation of the factor."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """What policies are told: `exact` run times, `declared`, `noisy`, `biased` (too long, or too short), `learned`."""

    kind: str = "exact"
    deviation: float = 0.0
    """Coefficient of variation of noisy estimates; of biased ones, by what share they are off at most."""
    quantile: float = 0.5
    """Of what was seen, the share that learned estimates are to cover."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Where machines come from that are not firm: servers of a provider, and what is free on them over time."""

    cluster: str = "C2"
    """A made-up cluster (see `tradewind.sim.traces.clusters`), unless there is a file."""
    file: str = ""
    """Free cores of servers as CSV."""
    count: int = 256
    """How many servers of a made-up cluster."""
    length: Duration = 7 * 24 * 60 * MINUTE
    """How long they change; from then on all stays as it is."""
    placement: str = "random"
    """On which server a machine is put: `random`, `balancing` or `packing`."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Work, machines, tenants and a policy; the same scenario and seed give the same event log."""

    workload: Workload
    machines: tuple[MachineType, ...]
    tenants: tuple[Tenant, ...] = (Tenant("default"),)
    policy: str = "demand"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the policy."""
    interval: Duration = MINUTE
    """How often the policy decides what to rent."""
    seed: int = 0
    faults: Faults = Faults()
    noise: Noise = Noise()
    estimates: Estimates = Estimates()
    chains: bool = False
    """Whether what is placed are chains of tasks, as in real runs, rather than single tasks."""
    servers: Servers | None = None
    """None: machines that are not firm keep their size, and are lost only to faults."""
