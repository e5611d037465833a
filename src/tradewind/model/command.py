"""Commands: what the core wants done, and notices of what it did.

A driver carries out the commands; notices only go to the log. Each begins with the time and with the `seq` of the event
that caused it. Machines, units, runs, tenants and machine types are numbered densely from zero.
"""

from typing import NamedTuple, TypeAlias

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
    """Give this machine back."""

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
    """End this attempt; whatever it still reports is void."""

    at: Time
    cause: int
    unit: int
    attempt: int
    machine: int
    because: str
    is_urgent: bool = False
    """Whether it gets no time to end in good order."""


class Wake(NamedTuple):
    """Send a Timer event at `due`."""

    at: Time
    cause: int
    due: Time


class Admitted(NamedTuple):
    """A run has been taken in; its units are numbered from `first`."""

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
    """What units of a run give, numbered from `first`, is known from before: nothing runs for them."""

    at: Time
    cause: int
    run: int
    tenant: int
    first: int
    tasks: int


class Refused(NamedTuple):
    """A workflow that no machine type can ever run has not been taken in."""

    at: Time
    cause: int
    tenant: str
    workflow: str
    reason: str


class Eligible(NamedTuple):
    """So many more (or fewer, on cancellation) tasks of a run wait for nothing but a machine."""

    at: Time
    cause: int
    run: int
    tenant: int
    change: int


class Expired(NamedTuple):
    """A unit has failed for good, for its attempts have taken longer than they may together."""

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
    """Money has been paid back for a machine."""

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
    """When a run is thought to end; slack below zero is a warning that it will miss its deadline."""

    at: Time
    cause: int
    run: int
    tenant: int
    finish: Time
    slack: Duration | None
    """Time left until the deadline then; None: it has none."""
    because: str


class Dropped(NamedTuple):
    """A decision or report that no longer fits the facts has been ignored."""

    at: Time
    cause: int
    what: str
    because: str


Notice: TypeAlias = (
    Admitted | Grown | Recalled | Refused | Eligible | Expired | Ended | Charged | Refunded | Cut | Predicted | Dropped
)
Command: TypeAlias = Acquire | Release | Start | Kill | Wake | Notice
