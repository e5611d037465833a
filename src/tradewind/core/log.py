"""The event log: records as plain values, the same whether a run was simulated or real.

Numbers of tenants and machine types become names; times are seconds and money is in the user's currency. The name of
the record comes second, after the time.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tradewind.core.state import State
from tradewind.model.command import (
    Acquire,
    Admitted,
    Assign,
    Charged,
    Command,
    Cut,
    Eligible,
    Ended,
    Grown,
    Lent,
    Predicted,
    Recalled,
    Refunded,
    Start,
    Wanted,
    Welcomed,
)
from tradewind.model.event import (
    Event,
    Extended,
    Failed,
    Finished,
    MachineJoined,
    Progressed,
    Submitted,
    TenantChanged,
)
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, UNIT

Record = Event | Command
Sink = Callable[[Record], None]
SinkFor = Callable[[State], Sink]
"""Makes a sink once the state is there whose names it needs."""

_SCALES = dict.fromkeys(("until", "ideal", "deadline", "finish", "slack", "elapsed"), SECOND) | dict.fromkeys(
    ("amount", "budget"), UNIT
)
_NAMED_TENANTS = {
    *(Acquire, Admitted, Grown, Recalled, Eligible, Ended, Charged, Refunded, Cut, Predicted),
    *(Welcomed, Lent),
}
_NAMED_KINDS = {Acquire, Cut, Welcomed, Wanted}
_NAMED_TASKS = {Start, Assign, Finished, Failed, Progressed}


@cache
def name_of(kind: type) -> str:
    """A record's name in the log: `MachineReady` is `machine-ready`."""
    return "".join("-" + letter.lower() if letter.isupper() else letter for letter in kind.__name__).lstrip("-")


class Encoder:
    """Turns records into plain values, with the names that the state knows."""

    def __init__(self, state: State) -> None:
        self._state = state

    def encode(self, record: Record) -> dict[str, Any]:
        """One record as plain values."""
        kind: type = type(record)
        if kind is Start or kind is Finished:
            return self._brief(record)  # type: ignore[arg-type]
        name, fields, translated = _shape(kind)
        plain: dict[str, Any] = {"at": record.at / SECOND, "event": name}
        plain.update(zip(fields, record[1:], strict=True))
        for field in translated:
            plain[field] = self._plain(kind, field, plain[field])
        if isinstance(record, Failed):
            plain["failure"] = plain.pop("cause")  # elsewhere a cause is the number of an event
        if isinstance(record, Submitted):
            ahead = plain.pop("outline")
            if ahead is not None:
                plain["expected"] = dict(Counter(task.name for task in ahead.tasks))
        if isinstance(record, Extended):
            plain["added"] = [task.id for task in record.tasks]
        if isinstance(record, TenantChanged):
            plain |= _tenant(record.tenant)
        if isinstance(record, MachineJoined):
            del plain["type"]
            plain |= _offer(record.type)
        if kind in _NAMED_TASKS:
            unit = self._state.units.get(plain["unit"])
            if unit is not None:  # a late report may speak of a run that is over
                plain["run"], plain["task"] = unit.run.id, unit.task.id
        return plain

    def _brief(self, record: Start | Finished) -> dict[str, Any]:
        """The same for what happens to every attempt, and so is most of a log."""
        at, number, unit, attempt, machine = record
        name, source = ("start", "cause") if type(record) is Start else ("finished", "seq")
        plain = {"at": at / SECOND, "event": name, source: number, "unit": unit, "attempt": attempt, "machine": machine}
        found = self._state.units.get(unit)
        if found is not None:  # a late report may speak of a run that is over
            plain["run"], plain["task"] = found.run.id, found.task.id
        return plain

    def _plain(self, kind: type, name: str, value: Any) -> Any:
        if name in _SCALES:
            return None if value is None else value / _SCALES[name]
        if name == "tenant" and kind in _NAMED_TENANTS:
            return self._state.all_pools[value].tenant.name if value >= 0 else None
        if name == "kind" and kind in _NAMED_KINDS:
            return self._state.kinds[value].type.name
        if kind is Submitted and name == "workflow":
            return value.name
        if name == "amounts":
            return dict(value)
        if name == "deliveries":
            return [list(delivery) for delivery in value]
        return len(value) if kind is Extended and name == "tasks" else value


def _offer(type: MachineType) -> dict[str, Any]:
    """What a machine of a type offers; one that joins may be of a type that nothing else tells of."""
    return {
        "kind": type.name,
        "slots": type.slots,
        "amounts": dict(type.amounts),
        "capabilities": sorted(type.capabilities),
        "price": float(type.price / UNIT),
    }


def _tenant(tenant: Tenant) -> dict[str, Any]:
    return {
        "tenant": tenant.name,
        "budget": None if tenant.budget is None else tenant.budget / UNIT,
        "interval": tenant.interval / SECOND,
        "weight": tenant.weight,
        "machines": tenant.machines,
    }


@cache
def _shape(kind: type) -> tuple[str, Sequence[str], Sequence[str]]:
    """A kind of record: its name, its fields after the time, and those among them that are not kept as they are."""
    fields = tuple(kind._fields[1:])  # type: ignore[attr-defined]  # every record is a named tuple
    translated = [
        field
        for field in fields
        if field in _SCALES
        or field in ("amounts", "deliveries")
        or (field == "tenant" and kind in _NAMED_TENANTS)
        or (field == "kind" and kind in _NAMED_KINDS)
        or (kind is Submitted and field == "workflow")
        or (kind is Extended and field == "tasks")
    ]
    return name_of(kind), fields, translated
