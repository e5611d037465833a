"""Why a unit is where it is: typed reasons, for people and programs."""

from dataclasses import dataclass
from enum import StrEnum

from tradewind.core.ledger import worth
from tradewind.core.machines import Kind
from tradewind.core.state import State
from tradewind.core.transitions import UnitState
from tradewind.core.work import Unit
from tradewind.model.units import Time, show_duration, show_money


class Cause(StrEnum):
    """What holds a unit back, or that nothing does."""

    ENDED = "ended"
    RUNNING = "running"
    PARENTS = "waits for parents"
    RETRY = "waits to be tried again"
    SUSPENDED = "run is suspended"
    IMPOSSIBLE = "no such machine"
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


def why(state: State, unit: Unit) -> Reason:
    """What a unit waits for, in the order in which it would have to be cleared away."""
    match UnitState(unit.state):
        case UnitState.WAITING:
            return _parents(unit)
        case UnitState.RUNNING if unit.machine is not None:
            text = f"runs on machine {unit.machine.id} ({unit.machine.kind.type.name})"
            return Reason(Cause.RUNNING, f"{text} for {show_duration(state.now - unit.started)}")
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
    kinds = unit.need.kinds
    if not kinds:
        return Reason(Cause.IMPOSSIBLE, f"no machine type offers {unit.need.requirement}")
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
    return refusal or Reason(Cause.DECISION, "no machine is held yet; the policy has still to decide")


def _why_no_more(state: State, unit: Unit, kinds: tuple[Kind, ...]) -> Reason | None:
    """Why no further machine that could take the unit can be rented now, if so."""
    open_kinds = [kind for kind in kinds if kind.held < kind.type.limit]
    if not open_kinds:
        return Reason(Cause.LIMIT, f"all {sum(kind.held for kind in kinds)} machines that may be rented are")
    pool = unit.run.pool
    quota = pool.tenant.machines
    if quota is not None and pool.held >= quota:
        return Reason(Cause.LIMIT, f"{pool.tenant.name} holds all {quota} machines that it may")
    left = pool.account.available(state.now)
    cheapest = min(worth(kind.type, pool.account.interval) for kind in open_kinds)
    if cheapest <= left:
        return None
    ends = [machine.paid_until for fleet in pool.fleets for machine in fleet.machines.values()]
    text = f"{show_money(max(left, 0))} of the budget is left, and a machine takes {show_money(cheapest)}"
    return Reason(Cause.BUDGET, text, min(ends, default=None))
