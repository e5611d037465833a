"""Scenarios: everything a simulation needs, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, Duration, Time
from tradewind.model.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Submission:
    """A workflow and when whom it is submitted for."""

    at: Time
    workflow: Workflow
    tenant: str = "default"


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

    workflows: tuple[Workflow, ...]
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
    """What policies are told of run times: `exact`, `declared` or `noisy`."""

    kind: str = "exact"
    deviation: float = 0.0
    """Coefficient of variation of noisy estimates."""


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
