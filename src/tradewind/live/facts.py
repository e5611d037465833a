"""Facts: what reaches the live driver, from its engine and from people."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from tradewind.live.jobs import Document
from tradewind.live.port import Broke, Done, Joined, Report, Resized, Up
from tradewind.model.action import Json
from tradewind.model.elastic import Next, Range
from tradewind.model.event import (
    Cancelled,
    Closed,
    Event,
    Failed,
    Finished,
    MachineJoined,
    MachineReady,
    MachineResized,
    MachineUnwanted,
    Redated,
    Reprioritised,
    Resumed,
    Suspended,
    TenantChanged,
)
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Time


class Submit(NamedTuple):
    """Somebody hands in work."""

    document: Document
    parameters: Mapping[str, Json]
    tenant: str = "default"
    keeps_going: bool = False
    uses_cache: bool = True


class Cancel(NamedTuple):
    """Somebody no longer wants a run."""

    run: int
    is_urgent: bool = False
    """Whether what runs gets no time to end in good order."""


class Reprioritise(NamedTuple):
    """Somebody wants a run sooner, or later."""

    run: int
    priority: int


class Redate(NamedTuple):
    """Somebody gives a run another deadline, or none."""

    run: int
    deadline: Time | None


class Suspend(NamedTuple):
    """Somebody wants nothing more of a run started for now."""

    run: int


class Unsuspend(NamedTuple):
    """Somebody wants a suspended run to go on."""

    run: int


class Retry(NamedTuple):
    """Somebody wants what failed of an ended run, and what waited for it, to be tried again."""

    id: str


class Drain(NamedTuple):
    """Somebody wants a machine gone once what runs on it has ended."""

    machine: int


class Remove(NamedTuple):
    """Somebody wants a machine gone at once; what runs on it will run elsewhere."""

    machine: int


class SetTenant(NamedTuple):
    """A tenant is new, or has another budget, interval or weight."""

    tenant: Tenant


class Close(NamedTuple):
    """Nothing more will be handed in."""


class Given(NamedTuple):
    """Results that a share delivers."""

    number: int
    """Counted from 1 within the attempt."""
    ranges: tuple[Range, ...]
    result: str
    """JSON: `{"inline": value}`, or `{"object": key}` if they were uploaded."""
    is_checkpoint: bool = False
    """Whether it stands for all that the attempt has delivered."""


class Answer(NamedTuple):
    """What a share is to do next."""

    next: Next
    ranges: tuple[Range, ...]
    interval: Duration
    deliveries: int
    """How many have arrived."""
    silence: Duration
    """By how much its next report may be overdue."""


class Declined(NamedTuple):
    """Why a report was not taken."""

    reason: str
    is_stale: bool = False
    """Whether the share is over; otherwise the report makes no sense."""


class Progress(NamedTuple):
    """A share reports how far it is."""

    unit: int
    attempt: int
    done: int
    elapsed: Duration
    ahead: int
    given: tuple[Given, ...]
    reply: Callable[[Answer | Declined], None]
    """Called once the report is saved."""


class Finish(NamedTuple):
    """A share says that it ends, and why if it could not go on; its process is still there."""

    unit: int
    attempt: int
    failure: str = ""


Fact: TypeAlias = (
    Report
    | Progress
    | Finish
    | Submit
    | Cancel
    | Reprioritise
    | Redate
    | Suspend
    | Unsuspend
    | Retry
    | Drain
    | Remove
    | SetTenant
    | Close
)


def event_of(fact: Fact, now: Time, seq: int) -> Event | None:
    """What a fact is to the core, where that depends on nothing else."""
    match fact:
        case Done():
            return Finished(now, seq, fact.unit, fact.attempt, fact.machine)
        case Broke():
            return Failed(now, seq, fact.unit, fact.attempt, fact.machine, fact.reason, fact.cause)
        case Up():
            return MachineReady(now, seq, fact.machine)
        case Resized():
            return MachineResized(now, seq, fact.machine, fact.amounts)
        case Joined():
            return MachineJoined(now, seq, fact.name, fact.type, fact.tenants)
        case _:
            make = _WISHES.get(type(fact))
            return None if make is None else make(fact, now, seq)


_WISHES: Mapping[type, Callable[[Any, Time, int], Event]] = {
    Cancel: lambda fact, now, seq: Cancelled(now, seq, fact.run, fact.is_urgent),
    Reprioritise: lambda fact, now, seq: Reprioritised(now, seq, fact.run, fact.priority),
    Redate: lambda fact, now, seq: Redated(now, seq, fact.run, fact.deadline),
    Suspend: lambda fact, now, seq: Suspended(now, seq, fact.run),
    Unsuspend: lambda fact, now, seq: Resumed(now, seq, fact.run),
    Drain: lambda fact, now, seq: MachineUnwanted(now, seq, fact.machine, "it is to be drained"),
    Remove: lambda fact, now, seq: MachineUnwanted(now, seq, fact.machine, "it is to be removed", is_urgent=True),
    SetTenant: lambda fact, now, seq: TenantChanged(now, seq, fact.tenant),
    Close: lambda _, now, seq: Closed(now, seq),
}
"""What people want."""
