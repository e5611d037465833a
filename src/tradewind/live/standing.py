"""How units and machines stand, as the rows of the store say it."""

from tradewind.core.machines import Machine
from tradewind.core.work import Attempt, Unit
from tradewind.live.store.rows import MachineRow
from tradewind.model.action import Json
from tradewind.model.units import Time


def running_on(machine: Machine) -> list[tuple[Unit, Attempt]]:
    """The units on a machine, each with the attempt that runs there."""
    return [(unit, each) for unit in machine.running.values() if (each := unit.on(machine.id)) is not None]


def progress_of(unit: Unit) -> Json | None:
    """What checkpoints have saved, and all attempts that run unless just the last one does."""
    running = [(each.number, each.machine.id, each.started) for each in unit.attempts()]
    if unit.copies or (running and unit.attempt != unit.last):
        return {"kept": unit.kept, "running": running}
    return {"kept": unit.kept} if unit.kept else None


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
        machine.pool.tenant.name,
        machine.state,
        machine.acquired,
        machine.expected,
        machine.paid_until,
        released,
        because,
        size_of(machine),
    )
