"""Events: facts that reach the core, each with the time at which it became true.

They begin with `(at, seq)`, so that one object is an item of the simulator's heap and a record of the log. `seq` is
given by the driver and unique; it orders events of the same instant and names the cause of what the core does.
"""

from typing import NamedTuple, TypeAlias

from tradewind.model.requirement import Amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import Time
from tradewind.model.workflow import Task, Workflow


class Submitted(NamedTuple):
    """A workflow has been handed in by a tenant."""

    at: Time
    seq: int
    tenant: str
    workflow: Workflow
    is_open: bool = False
    """Whether it is extended after each unit that finishes, until the last time."""
    keeps_going: bool = False
    """Whether the rest goes on where a task has failed."""


class Extended(NamedTuple):
    """A run that was submitted open has grown by tasks that wait for nothing but a machine."""

    at: Time
    seq: int
    run: int
    tasks: tuple[Task, ...]
    is_last: bool
    """Whether nothing more will come."""


class Reprioritised(NamedTuple):
    """A run has another priority from now on."""

    at: Time
    seq: int
    run: int
    priority: int


class Redated(NamedTuple):
    """A run has another deadline from now on, or none."""

    at: Time
    seq: int
    run: int
    deadline: Time | None


class Broken(NamedTuple):
    """A run cannot go on for a reason of its own, such as a loop over something that is no list."""

    at: Time
    seq: int
    run: int
    reason: str


class Cancelled(NamedTuple):
    """A run is no longer wanted."""

    at: Time
    seq: int
    run: int
    is_urgent: bool = False
    """Whether what runs gets no time to end in good order."""


class Suspended(NamedTuple):
    """Nothing more of a run is to be started for now; what runs goes on."""

    at: Time
    seq: int
    run: int


class Resumed(NamedTuple):
    """A run that was suspended goes on."""

    at: Time
    seq: int
    run: int


class MachineReady(NamedTuple):
    """A machine has booted and can work."""

    at: Time
    seq: int
    machine: int


class MachineFailed(NamedTuple):
    """A machine never came up; nothing is charged for it."""

    at: Time
    seq: int
    machine: int
    reason: str


class MachineLost(NamedTuple):
    """A machine is gone, with all that ran on it."""

    at: Time
    seq: int
    machine: int
    reason: str


class MachineResized(NamedTuple):
    """A machine offers other amounts from now on; below the minimum of its type it is gone with all that ran on it."""

    at: Time
    seq: int
    machine: int
    amounts: Amounts


class MachineUnwanted(NamedTuple):
    """Somebody wants a machine gone: once what runs on it has ended, or at once."""

    at: Time
    seq: int
    machine: int
    reason: str
    is_urgent: bool = False


class Finished(NamedTuple):
    """An attempt has ended well."""

    at: Time
    seq: int
    unit: int
    attempt: int
    machine: int


class Failed(NamedTuple):
    """An attempt has ended with an error."""

    at: Time
    seq: int
    unit: int
    attempt: int
    machine: int
    reason: str
    cause: str = "error"


class TenantChanged(NamedTuple):
    """A tenant is new, or has another budget, interval, weight or most machines from now on."""

    at: Time
    seq: int
    tenant: Tenant


class Closed(NamedTuple):
    """Nothing more will be submitted: once all runs have ended, every machine may go."""

    at: Time
    seq: int


class Timer(NamedTuple):
    """The time has come that the core asked to be woken at."""

    at: Time
    seq: int


Event: TypeAlias = (
    Submitted
    | Extended
    | Reprioritised
    | Redated
    | Broken
    | Cancelled
    | Suspended
    | Resumed
    | MachineReady
    | MachineFailed
    | MachineLost
    | MachineResized
    | MachineUnwanted
    | Finished
    | Failed
    | TenantChanged
    | Closed
    | Timer
)
