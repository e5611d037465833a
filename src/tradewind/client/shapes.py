"""Convert rows of a store into the shapes of the REST API."""

from collections.abc import Mapping
from typing import Any

from tradewind.core.transitions import MachineState, UnitState
from tradewind.live.outlook import outlook
from tradewind.live.store.pages import Head
from tradewind.live.store.rows import AttemptRow, MachineRow, UnitRow
from tradewind.model.units import Time, in_seconds

Plain = dict[str, Any]


def moment(at: Time | None) -> float | None:
    """Convert a time to seconds since 1970."""
    return None if at is None else in_seconds(at)


def plain_run(head: Head, counts: Mapping[int, int], predicted: Time | None) -> Plain:
    """Return a run."""
    return {
        "id": head.id,
        "number": head.number,
        "name": head.name,
        "tenant": head.tenant,
        "status": head.status,
        "priority": head.priority,
        "submitted": moment(head.submitted),
        "ended": moment(head.ended),
        **outlook(head, predicted),
        "tasks": {UnitState(state).name.lower(): count for state, count in sorted(counts.items()) if count},
    }


def plain_task(run: str, unit: UnitRow) -> Plain:
    """Return a task."""
    return {
        "number": unit.number,
        "run": run,
        "name": unit.chain,
        "status": UnitState(unit.state).name.lower(),
        "attempts": unit.attempt,
        "failures": unit.failures,
        "lost": unit.lost,
        "preempted": unit.preempted,
        "machine": unit.machine,
        "started": moment(unit.started),
        "ended": moment(unit.ended),
        "message": unit.message,
        "results": unit.results,
    }


def plain_attempt(run: str, row: AttemptRow, kinds: Mapping[int, str]) -> Plain:
    """Return an attempt that has ended."""
    return {
        "run": run,
        "task": row.unit,
        "attempt": row.attempt,
        "machine": row.machine,
        "machine_type": kinds.get(row.machine),
        "started": moment(row.started),
        "ended": moment(row.ended),
        "outcome": row.outcome,
        "reason": row.reason,
        "cpu": row.cpu,
        "memory": row.memory,
    }


def running(unit: UnitRow) -> list[tuple[int, int, Time]]:
    """Return number, machine and start of the running attempts of a task."""
    if unit.state != UnitState.RUNNING or unit.machine is None:
        return []
    several = (unit.progress or {}).get("running")
    return several or [(unit.attempt, unit.machine, unit.started or 0)]


def running_attempts(run: str, unit: UnitRow, kinds: Mapping[int, str]) -> list[Plain]:
    """Return the running attempts of a task."""
    return [
        {
            "run": run,
            "task": unit.number,
            "attempt": number,
            "machine": machine,
            "machine_type": kinds.get(machine),
            "started": moment(started),
            "ended": None,
            "outcome": "running",
            "reason": "",
            "cpu": 0.0,
            "memory": 0,
        }
        for number, machine, started in running(unit)
    ]


def plain_machine(row: MachineRow) -> Plain:
    """Return a machine."""
    return {
        "number": row.number,
        "machine_type": row.kind,
        "tenant": row.tenant,
        "status": MachineState(row.state).name.lower(),
        "acquired": moment(row.acquired),
        "expected": moment(row.expected),
        "paid_until": moment(row.paid_until),
        "released": moment(row.released),
        "because": row.because,
    }
