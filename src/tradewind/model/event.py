"""Events: facts that reach the core, each with the time at which it became true.

They begin with `(at, seq)`, so that one object is an item of the simulator's heap and a record of the log. `seq` is
given by the driver and unique; it orders events of the same instant and names the cause of what the core does.
"""

from typing import NamedTuple, TypeAlias

from tradewind.model.elastic import Delivery
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Time
from tradewind.model.workflow import Task, Workflow


class Submitted(NamedTuple):
    """A tenant has submitted a workflow."""

    at: Time
    seq: int
    tenant: str
    workflow: Workflow
    is_open: bool = False
    """Whether more units may be added after each unit that finishes, until it is closed."""
    keeps_going: bool = False
    """Whether independent tasks continue after a task has failed."""
    outline: Workflow | None = None
    """The expected graph of a run that may grow, including its first tasks."""


class Extended(NamedTuple):
    """An open run has gained tasks that wait only for a machine."""

    at: Time
    seq: int
    run: int
    tasks: tuple[Task, ...]
    is_last: bool
    """Whether nothing more will come."""


class Reprioritised(NamedTuple):
    """The priority of a run has changed."""

    at: Time
    seq: int
    run: int
    priority: int


class Redated(NamedTuple):
    """The deadline of a run has changed or was removed."""

    at: Time
    seq: int
    run: int
    deadline: Time | None


class Broken(NamedTuple):
    """A run cannot continue because of an error in its program, such as a loop over something that is not a list."""

    at: Time
    seq: int
    run: int
    reason: str


class Cancelled(NamedTuple):
    """A run was cancelled."""

    at: Time
    seq: int
    run: int
    is_urgent: bool = False
    """Whether running attempts are killed without a grace period."""


class Suspended(NamedTuple):
    """A run was suspended: no further units start, running ones continue."""

    at: Time
    seq: int
    run: int


class Resumed(NamedTuple):
    """A suspended run was resumed."""

    at: Time
    seq: int
    run: int


class MachineReady(NamedTuple):
    """A machine has booted and is ready."""

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
    """A machine is gone, with everything that ran on it."""

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
    """A user wants to release a machine: when its tasks have finished, or immediately."""

    at: Time
    seq: int
    machine: int
    reason: str
    is_urgent: bool = False


class MachineJoined(NamedTuple):
    """A machine that was not rented offers its service; its type may be new."""

    at: Time
    seq: int
    name: str
    """Unique among joined machines and stable over reconnects, such as `cluster/3`."""
    type: MachineType
    tenants: tuple[str, ...] = ()
    """Tenants that it serves; none: every tenant."""


class MachineLeft(NamedTuple):
    """A joined machine has signed off or fallen silent; what ran there runs again elsewhere."""

    at: Time
    seq: int
    machine: int
    reason: str


class Finished(NamedTuple):
    """An attempt has succeeded."""

    at: Time
    seq: int
    unit: int
    attempt: int
    machine: int


class Failed(NamedTuple):
    """An attempt has failed."""

    at: Time
    seq: int
    unit: int
    attempt: int
    machine: int
    reason: str
    cause: str = "error"


class Progressed(NamedTuple):
    """A share of an elastic unit reports how far it has come, and may deliver results."""

    at: Time
    seq: int
    unit: int
    attempt: int
    machine: int
    done: int
    """Iterations since its start, delivered or not."""
    elapsed: Duration
    """Time since its start, by its own clock, without the time that reports take."""
    deliveries: tuple[Delivery, ...] = ()
    """Results that come with the report, in the order of their numbers."""
    ahead: int = 0
    """Iterations it goes on with before it has the answer; these are not taken back."""


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
    """A time has come at which the core asked to be woken."""

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
    | MachineJoined
    | MachineLeft
    | Finished
    | Failed
    | Progressed
    | TenantChanged
    | Closed
    | Timer
)
