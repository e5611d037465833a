"""Why a unit is where it is: typed reasons, for people and programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tradewind.core.elastic.division import Division
from tradewind.core.ledger import worth
from tradewind.core.machines import Kind
from tradewind.core.state import State
from tradewind.core.transitions import UnitState
from tradewind.core.work import Unit
from tradewind.model.errors import TradewindError
from tradewind.model.units import Time, show_duration, show_money


class Cause(StrEnum):
    """What holds a unit back, or that nothing does."""

    ENDED = "ended"
    RUNNING = "running"
    PARENTS = "waits for parents"
    RETRY = "waits to be tried again"
    SUSPENDED = "run is suspended"
    IMPOSSIBLE = "no such machine"
    ABSENT = "no such machine has joined"
    BUSY = "machines are busy"
    BOOTING = "machine is booting"
    BUDGET = "budget is spent"
    LIMIT = "no more machines to be had"
    DECISION = "waits for a decision"


@dataclass(frozen=True, slots=True)
class Reason:
    """One answer to the question why."""

    cause: Cause
    text: str
    until: Time | None = None
    """When it may be over, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """A run that has not ended where nothing happens any more."""

    workflow: str
    tenant: str
    task: str
    """The first that could go on."""
    requirement: str
    left: int
    """How many tasks have not ended."""
    reason: Reason

    def __str__(self) -> str:
        whose = "" if self.tenant == "default" else f" of {self.tenant}"
        return f"{self.workflow}{whose}: task {self.task!r} (needs {self.requirement}): {self.reason.text}"


class UnfinishedError(TradewindError):
    """Work that never ends where an end was needed."""


_UNDECIDED = Reason(Cause.DECISION, "no machine is held yet; the policy has still to decide")


_NEVER = Reason(Cause.DECISION, "the policy holds no machine that could take it, and none comes up")


def stuck(state: State) -> list[Stuck]:
    """Every run that has not ended, and what holds it back for ever."""
    found = []
    for run in state.runs.values():
        waiting = [unit for unit in run.units if not unit.is_ended]
        first = min(waiting, key=lambda unit: (unit.state == UnitState.WAITING, unit.id), default=None)
        if first is not None:
            task, needs = first.task.id, str(first.need.requirement)
            reason = why(state, first)
            reason = _NEVER if reason is _UNDECIDED else reason
            found.append(Stuck(run.name, run.pool.tenant.name, task, needs, len(waiting), reason))
    return found


def ensure_ended(found: Sequence[Stuck], policy: str) -> None:
    """Refuse to go on with figures of work that never ended."""
    if found:
        raise UnfinishedError(
            f"{policy} never finishes {len(found)} of the workflows, so it cannot be judged: {found[0]}"
        )


def why(state: State, unit: Unit) -> Reason:
    """What a unit waits for, in the order in which it would have to be cleared away."""
    match UnitState(unit.state):
        case UnitState.WAITING:
            return _parents(unit)
        case UnitState.RUNNING if unit.machine is not None:
            text = f"runs on machine {unit.machine.id} ({unit.machine.kind.type.name})"
            return Reason(Cause.RUNNING, f"{text} for {show_duration(state.now - unit.started)}")
        case UnitState.RUNNING if isinstance(unit.elastic, Division):
            text = f"is shared by {unit.elastic.live} running and {unit.elastic.queued} waiting shares"
            return Reason(Cause.RUNNING, f"{text}; {unit.elastic.outlook(state.now)}")
        case UnitState.DELAYED if unit.run.is_suspended and unit.id not in unit.run.pool.delayed:
            return Reason(Cause.SUSPENDED, "its run is suspended")
        case UnitState.DELAYED:
            return Reason(Cause.RETRY, f"has failed {sum(unit.failures.values())} times and will be tried again")
        case UnitState.READY:
            return _no_machine(state, unit)
        case ended:
            return Reason(Cause.ENDED, f"is {ended.name.lower()}")


def _parents(unit: Unit) -> Reason:
    parents = [each.task.id for each in unit.run.units if unit in each.children and not each.is_ended]
    shown = ", ".join(parents[:5]) + (f" and {len(parents) - 5} more" if len(parents) > 5 else "")
    return Reason(Cause.PARENTS, f"waits for {shown}")


def _no_machine(state: State, unit: Unit) -> Reason:
    tenant = unit.run.pool.tenant.name
    kinds = tuple(kind for kind in unit.need.kinds if kind.serves(tenant))
    if not kinds and not state.accepts_unknown:
        return Reason(Cause.IMPOSSIBLE, f"no machine type offers {unit.need.requirement}")
    if all(kind.type.joins and not kind.present for kind in kinds):
        return _absent(unit, kinds)
    held = [machine for kind in kinds for machine in unit.run.pool.fleets[kind.index].machines.values()]
    booting = [machine for machine in held if machine.is_booting]
    if booting:
        first = min(booting, key=lambda machine: (machine.expected, machine.id))
        since = show_duration(state.now - first.acquired)
        text = f"machine {first.id} ({first.kind.type.name}) has been booting for {since}"
        return Reason(Cause.BOOTING, text, first.expected)
    if any(machine.has_room_for(unit) for machine in held):
        return Reason(Cause.DECISION, "a machine has room; the policy holds it back")
    refusal = _why_no_more(state, unit, kinds)
    if held:
        text = f"all {len(held)} machines that could take it are busy"
        return Reason(Cause.BUSY, f"{text}; {refusal.text}" if refusal else text)
    return refusal or _UNDECIDED


def _absent(unit: Unit, kinds: Sequence[Kind]) -> Reason:
    """Nothing but a machine that joins could take the unit, and none is there."""
    text = f"no machine that offers {unit.need.requirement} has joined"
    wanted = [f"{kind.wanted} of type {kind.type.name}" for kind in kinds if kind.wanted]
    return Reason(Cause.ABSENT, f"{text}; its owner was asked for {' or '.join(wanted)}" if wanted else text)


def _why_no_more(state: State, unit: Unit, kinds: tuple[Kind, ...]) -> Reason | None:
    """Why no further machine that could take the unit can be rented, or taken up, now, if so."""
    open_kinds = [kind for kind in kinds if kind.held < (kind.present if kind.type.joins else kind.type.limit)]
    if not open_kinds:
        held = sum(kind.held for kind in kinds)
        if any(kind.type.joins for kind in kinds):
            return Reason(Cause.LIMIT, f"all {held} machines that have joined or may be rented are taken")
        return Reason(Cause.LIMIT, f"all {held} machines that may be rented are")
    pool = unit.run.pool
    quota = pool.tenant.machines
    if quota is not None and pool.held >= quota:
        return Reason(Cause.LIMIT, f"{pool.tenant.name} holds all {quota} machines that it may")
    left = pool.account.available(state.now)
    cheapest = min(worth(kind.type, pool.account.interval) for kind in open_kinds)
    if cheapest <= left:
        return None
    ends = [machine.paid_until for fleet in pool.fleets for machine in fleet.machines.values()]
    budget = f"the budget of {show_money(pool.account.budget or 0)}"
    text = f"{show_money(max(left, 0))} of {budget} is left, and a machine takes {show_money(cheapest)}"
    return Reason(Cause.BUDGET, text, min(ends, default=None))
