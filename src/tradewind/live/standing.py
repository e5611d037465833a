"""How units and machines stand, as the rows of the store say it."""

from typing import Any

from tradewind.core.elastic.division import Division, Share
from tradewind.core.elastic.saving import saved_division, saved_share
from tradewind.core.machines import Machine
from tradewind.core.work import Attempt, Unit
from tradewind.live.guests import joined_as
from tradewind.live.store.rows import MachineRow
from tradewind.model.action import Json
from tradewind.model.units import Time


def running_on(machine: Machine) -> list[tuple[Unit, Attempt]]:
    """The units on a machine, each with the attempt that runs there."""
    return [(unit, each) for unit in machine.running.values() if (each := unit.on(machine.id)) is not None]


def progress_of(unit: Unit) -> Json | None:
    """What is seldom true of a unit; see `UnitRow`. None: nothing of it is."""
    progress: dict[str, Any] = {}
    if unit.kept:
        progress["kept"] = unit.kept
    running = [(each.number, each.machine.id, each.started) for each in unit.attempts()]
    if unit.copies or (running and unit.attempt != unit.last):
        progress["running"] = running
    if unit.failures.keys() - {"error"}:
        progress["failures"] = dict(unit.failures)
    if unit.need.requirement is not unit.task.requirement and unit.need.requirement != unit.task.requirement:
        progress["memory"] = dict(unit.need.requirement.amounts)["memory"]
    if isinstance(unit.elastic, Division):
        progress["division"] = saved_division(unit.elastic)
    elif isinstance(unit.elastic, Share):
        progress["share"] = saved_share(unit, unit.elastic)
    return progress or None


def size_of(machine: Machine) -> Json | None:
    """The size of a machine that is smaller than its type, or was, and what came of it."""
    if machine.capacity == machine.kind.capacity and not machine.lacking:
        return None
    return [dict(machine.amounts), machine.lacking, machine.sized, machine.returned]


def machine_row(machine: Machine, released: Time | None, because: str) -> MachineRow:
    """A machine, held or gone."""
    return MachineRow(
        machine.id,
        machine.kind.type.name,
        "" if machine.is_spare else machine.pool.tenant.name,
        machine.state,
        machine.acquired,
        machine.expected,
        machine.paid_until,
        released,
        because,
        size_of(machine),
        joined_as(machine),
    )
