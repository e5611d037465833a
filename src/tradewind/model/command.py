"""Commands: what the core wants done, and notices of what it did.

A driver carries out the commands; notices only go to the log. Each begins with the time and with the `seq` of the event
that caused it. Machines, units, runs, tenants and machine types are numbered densely from zero.
"""

from typing import NamedTuple, TypeAlias

from tradewind.model.elastic import Next, Range
from tradewind.model.units import Duration, Money, Time


class Acquire(NamedTuple):
    """Rent this machine."""

    at: Time
    cause: int
    machine: int
    kind: int
    tenant: int
    because: str


class Release(NamedTuple):
    """Return this machine."""

    at: Time
    cause: int
    machine: int
    because: str


class Start(NamedTuple):
    """Run this attempt of a unit on a machine."""

    at: Time
    cause: int
    unit: int
    attempt: int
    machine: int


class Kill(NamedTuple):
    """Kill this attempt; its later reports are ignored."""

    at: Time
    cause: int
    unit: int
    attempt: int
    machine: int
    because: str
    is_urgent: bool = False
    """Whether it is killed without a grace period."""


class Assign(NamedTuple):
    """Tell a share of an elastic unit which iterations to work on until its next report."""

    at: Time
    cause: int
    unit: int
    attempt: int
    machine: int
    ranges: tuple[Range, ...]
    """Everything it holds and has not delivered, in the order in which it is to be done."""
    interval: Duration
    """When to report again; sooner when the ranges are done."""
    next: Next


class Wake(NamedTuple):
    """Send a Timer event at `due`."""

    at: Time
    cause: int
    due: Time


class Admitted(NamedTuple):
    """A run was admitted; its units are numbered from `first`."""

    at: Time
    cause: int
    run: int
    tenant: int
    workflow: str
    first: int
    tasks: int
    priority: int
    ideal: Duration
    """Its makespan with every task on its fastest type, without waiting."""
    deadline: Time | None


class Grown(NamedTuple):
    """A run has gained units, numbered from `first`."""

    at: Time
    cause: int
    run: int
    tenant: int
    first: int
    tasks: int


class Recalled(NamedTuple):
    """The results of units of a run, numbered from `first`, came from the cache: nothing runs for them."""

    at: Time
    cause: int
    run: int
    tenant: int
    first: int
    tasks: int


class Refused(NamedTuple):
    """A workflow was rejected because no machine type can ever run it."""

    at: Time
    cause: int
    tenant: str
    workflow: str
    reason: str


class Eligible(NamedTuple):
    """A number of tasks of a run became eligible; negative on cancellation."""

    at: Time
    cause: int
    run: int
    tenant: int
    change: int


class Delivered(NamedTuple):
    """All iterations of an elastic unit are delivered."""

    at: Time
    cause: int
    run: int
    unit: int


class Expired(NamedTuple):
    """A unit has failed because its attempts together exceeded their time limit."""

    at: Time
    cause: int
    run: int
    unit: int
    attempt: int
    because: str


class Ended(NamedTuple):
    """A run is over: `done`, `failed` or `cancelled`."""

    at: Time
    cause: int
    run: int
    tenant: int
    status: str


class Charged(NamedTuple):
    """Money has been reserved for a machine, which is now paid until the given time."""

    at: Time
    cause: int
    machine: int
    tenant: int
    amount: Money
    until: Time


class Refunded(NamedTuple):
    """Money has been refunded for a machine."""

    at: Time
    cause: int
    machine: int
    tenant: int
    amount: Money


class Cut(NamedTuple):
    """A policy asked for more machines than budget or limits allow."""

    at: Time
    cause: int
    tenant: int
    kind: int
    asked: int
    granted: int
    because: str


class Predicted(NamedTuple):
    """The predicted end of a run; negative slack means that it will miss its deadline."""

    at: Time
    cause: int
    run: int
    tenant: int
    finish: Time
    slack: Duration | None
    """Time left until the deadline then; None: it has none."""
    because: str


class Confined(NamedTuple):
    """A unit may only run on firm machines from now on."""

    at: Time
    cause: int
    run: int
    unit: int
    because: str


class Welcomed(NamedTuple):
    """A machine that joined has its number, and works for a tenant."""

    at: Time
    cause: int
    machine: int
    kind: int
    tenant: int
    """Below zero: for none, as none has work for it and can pay."""
    name: str


class Lent(NamedTuple):
    """A joined machine works for another tenant from now on."""

    at: Time
    cause: int
    machine: int
    tenant: int
    """Below zero: for none, until one has work for it and can pay."""


class Wanted(NamedTuple):
    """A hint to the owner of machines that cannot be rented: how many of a type the scaler would like to have."""

    at: Time
    cause: int
    kind: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    because: str


class Yielded(NamedTuple):
    """A share of an elastic unit has been told to end, so that its machine can go to another unit."""

    at: Time
    cause: int
    run: int
    unit: int
    because: str


class Dropped(NamedTuple):
    """An outdated decision or report was ignored."""

    at: Time
    cause: int
    what: str
    because: str


Notice: TypeAlias = (
    Admitted
    | Grown
    | Recalled
    | Refused
    | Eligible
    | Delivered
    | Expired
    | Ended
    | Charged
    | Refunded
    | Cut
    | Predicted
    | Confined
    | Welcomed
    | Lent
    | Wanted
    | Yielded
    | Dropped
)
Command: TypeAlias = Acquire | Release | Start | Kill | Assign | Wake | Notice
