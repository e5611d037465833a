"""Rows of the store and things of the core as the plain values that answers consist of (see `schemas`)."""

from collections.abc import Mapping
from typing import Any

from tradewind.core.machines import Kind
from tradewind.core.state import State
from tradewind.core.transitions import MachineState, UnitState
from tradewind.live.indexing import ended_counts
from tradewind.live.outlook import outlook
from tradewind.live.store.access import AuditRow, TenantRow, TokenRow
from tradewind.live.store.pages import Head
from tradewind.live.store.rows import AttemptRow, MachineRow, UnitRow
from tradewind.model.machine import NO_LIMIT
from tradewind.model.units import SECOND, UNIT, Time

UNIT_STATES = {int(state): state.name.lower() for state in UnitState}
_MACHINE_STATES = {int(state): state.name.lower() for state in MachineState}

Plain = dict[str, Any]


def seconds(time: Time | None) -> float | None:
    """A time or duration in seconds."""
    return None if time is None else time / SECOND


def run(head: Head, state: State, counts: Mapping[int, int]) -> Plain:
    """A run in a list."""
    if head.ended is not None:
        counts = ended_counts(counts)
    return {
        "id": head.id,
        "number": head.number,
        "name": head.name,
        "tenant": head.tenant,
        "status": status_of(head, state),
        "priority": head.priority,
        "submitted": head.submitted / SECOND,
        "ended": seconds(head.ended),
        **outlook(head, active.predicted if (active := state.runs.get(head.number)) is not None else None),
        "tasks": {UNIT_STATES[each]: count for each, count in sorted(counts.items()) if count},
    }


def status_of(head: Head, state: State) -> str:
    """How a run stands; whether it is suspended is known to the core."""
    active = state.runs.get(head.number)
    return "suspended" if head.ended is None and active is not None and active.is_suspended else head.status


def task(unit: UnitRow, head: Head, state: State) -> Plain:
    """A unit of a run: as the core has it while the run is active, as it was saved thereafter."""
    now = unit.state
    if head.ended is not None:
        now = now if now >= UnitState.DONE else int(UnitState.CANCELLED)
    elif (alive := state.units.get(unit.number)) is not None:
        now = alive.state
    return {
        "number": unit.number,
        "run": head.id,
        "name": unit.chain,
        "status": UNIT_STATES[now],
        "attempts": unit.attempt,
        "failures": unit.failures,
        "lost": unit.lost,
        "preempted": unit.preempted,
        "machine": unit.machine,
        "started": seconds(unit.started) if unit.attempt else None,
        "ended": seconds(unit.ended),
        "message": unit.message,
        "results": unit.results,
    }


def attempt(row: AttemptRow, id: str, kinds: Mapping[int, str]) -> Plain:
    """An attempt."""
    return {
        "run": id,
        "task": row.unit,
        "attempt": row.attempt,
        "machine": row.machine,
        "machine_type": kinds.get(row.machine),
        "started": row.started / SECOND,
        "ended": None if row.outcome == "running" else row.ended / SECOND,
        "outcome": row.outcome,
        "reason": row.reason,
        "cpu": row.cpu,
        "memory": row.memory,
    }


def machine(row: MachineRow, state: State) -> Plain:
    """A machine: as the core has it while it is held."""
    held = state.machines.get(row.number)
    now = row.state
    if held is not None:
        now = held.state
    elif row.released is not None and now < MachineState.RELEASED:
        now = int(MachineState.RELEASED)
    return {
        "number": row.number,
        "machine_type": row.kind,
        "tenant": row.tenant,
        "status": _MACHINE_STATES[now],
        "acquired": row.acquired / SECOND,
        "expected": row.expected / SECOND,
        "paid_until": (row.paid_until if held is None else held.paid_until) / SECOND,
        "released": seconds(row.released),
        "because": row.because,
        "joined": None if row.joined is None else row.joined["name"],
        "running": None if held is None else sorted(held.running),
    }


def setup(kind: Kind) -> Plain:
    """A machine type."""
    type = kind.type
    return {
        "name": type.name,
        "price": float(type.price / UNIT),
        "billing": {
            "period": type.billing.period / SECOND,
            "rounding": seconds(type.billing.rounding),
            "minimum": type.billing.minimum / SECOND,
        },
        "boot": type.boot.mean / SECOND,
        "limit": None if type.limit >= NO_LIMIT else type.limit,
        "held": kind.held,
        "joins": type.joins,
        "present": kind.present,
        "wanted": kind.wanted,
        "capabilities": sorted(type.capabilities),
        "slots": type.slots,
        "amounts": dict(type.amounts),
        "speed": type.speed,
        "market": type.market.value,
    }


def token(row: TokenRow) -> Plain:
    """A token, without itself."""
    return {
        "id": row.id,
        "name": row.name,
        "tenant": row.tenant,
        "role": row.role,
        "created": row.created / SECOND,
        "expires": seconds(row.expires),
        "used": seconds(row.used),
    }


def entry(row: AuditRow) -> Plain:
    """An entry of the audit log."""
    return row._asdict() | {"at": row.at / SECOND}


def limits(row: TenantRow) -> Plain:
    """What a tenant may do."""
    return {
        "name": row.name,
        "budget": None if row.budget is None else row.budget / UNIT,
        "interval": row.interval / SECOND,
        "weight": row.weight,
        "max_active_runs": row.max_active_runs,
        "max_tasks": row.max_tasks,
        "max_machines": row.max_machines,
        "created": row.created / SECOND,
    }
