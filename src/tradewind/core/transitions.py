"""The states of units and machines, and what moves them, as tables.

The picture in `docs/architecture.md` is drawn from these tables by `diagram`.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import TypeVar


class UnitState(IntEnum):
    """Where a unit stands."""

    WAITING = 0
    READY = 1
    RUNNING = 2
    DELAYED = 3
    DONE = 4
    FAILED = 5
    CANCELLED = 6


class UnitStep(IntEnum):
    """What moves a unit."""

    FREE = 0
    START = 1
    FINISH = 2
    RETRY = 3
    RESUME = 4
    LOSE = 5
    FAIL = 6
    CANCEL = 7
    HOLD = 8
    PREEMPT = 9
    REDUCE = 10


class MachineState(IntEnum):
    """Where a machine stands; one that joined is `SPARE` while no tenant uses or pays for it."""

    BOOTING = 0
    IDLE = 1
    BUSY = 2
    RELEASED = 3
    LOST = 4
    DRAINING = 5
    SPARE = 6


class MachineStep(IntEnum):
    """What moves a machine."""

    BOOT = 0
    OCCUPY = 1
    VACATE = 2
    RELEASE = 3
    LOSE = 4
    DRAIN = 5
    SET_ASIDE = 6
    TAKE_UP = 7


UNIT_TABLE: Mapping[tuple[UnitState, UnitStep], UnitState] = {
    (UnitState.WAITING, UnitStep.FREE): UnitState.READY,
    (UnitState.WAITING, UnitStep.CANCEL): UnitState.CANCELLED,
    (UnitState.READY, UnitStep.START): UnitState.RUNNING,
    (UnitState.READY, UnitStep.CANCEL): UnitState.CANCELLED,
    (UnitState.READY, UnitStep.HOLD): UnitState.DELAYED,
    (UnitState.READY, UnitStep.FAIL): UnitState.FAILED,
    (UnitState.RUNNING, UnitStep.FINISH): UnitState.DONE,
    (UnitState.RUNNING, UnitStep.RETRY): UnitState.DELAYED,
    (UnitState.RUNNING, UnitStep.LOSE): UnitState.READY,
    (UnitState.RUNNING, UnitStep.PREEMPT): UnitState.READY,
    (UnitState.RUNNING, UnitStep.REDUCE): UnitState.READY,
    (UnitState.RUNNING, UnitStep.FAIL): UnitState.FAILED,
    (UnitState.RUNNING, UnitStep.CANCEL): UnitState.CANCELLED,
    (UnitState.DELAYED, UnitStep.RESUME): UnitState.READY,
    (UnitState.DELAYED, UnitStep.CANCEL): UnitState.CANCELLED,
    (UnitState.DELAYED, UnitStep.FAIL): UnitState.FAILED,
}

MACHINE_TABLE: Mapping[tuple[MachineState, MachineStep], MachineState] = {
    (MachineState.BOOTING, MachineStep.BOOT): MachineState.IDLE,
    (MachineState.BOOTING, MachineStep.RELEASE): MachineState.RELEASED,
    (MachineState.BOOTING, MachineStep.LOSE): MachineState.LOST,
    (MachineState.IDLE, MachineStep.OCCUPY): MachineState.BUSY,
    (MachineState.IDLE, MachineStep.RELEASE): MachineState.RELEASED,
    (MachineState.IDLE, MachineStep.LOSE): MachineState.LOST,
    (MachineState.BUSY, MachineStep.OCCUPY): MachineState.BUSY,
    (MachineState.BUSY, MachineStep.VACATE): MachineState.IDLE,
    (MachineState.BUSY, MachineStep.LOSE): MachineState.LOST,
    (MachineState.BUSY, MachineStep.DRAIN): MachineState.DRAINING,
    (MachineState.DRAINING, MachineStep.RELEASE): MachineState.RELEASED,
    (MachineState.DRAINING, MachineStep.LOSE): MachineState.LOST,
    (MachineState.IDLE, MachineStep.SET_ASIDE): MachineState.SPARE,
    (MachineState.SPARE, MachineStep.TAKE_UP): MachineState.IDLE,
    (MachineState.SPARE, MachineStep.RELEASE): MachineState.RELEASED,
    (MachineState.SPARE, MachineStep.LOSE): MachineState.LOST,
}

ILLEGAL = 255

_State = TypeVar("_State", bound=IntEnum)
_Step = TypeVar("_Step", bound=IntEnum)


def rows(table: Mapping[tuple[_State, _Step], _State], states: type[_State], steps: type[_Step]) -> tuple[bytes, ...]:
    """The table as one row of bytes for each state, which the core indexes by step."""
    return tuple(bytes(table.get((state, step), ILLEGAL) for step in steps) for state in states)


UNIT_ROWS = rows(UNIT_TABLE, UnitState, UnitStep)
MACHINE_ROWS = rows(MACHINE_TABLE, MachineState, MachineStep)


class IllegalTransitionError(AssertionError):
    """The core has tried what its own tables forbid: a defect, never a matter of input."""


def diagram(table: Mapping[tuple[_State, _Step], _State]) -> str:
    """The table as a Mermaid state diagram."""
    ends = {state for state in table.values() if all(source is not state for source, _ in table)}
    lines = ["stateDiagram-v2", f"    [*] --> {min(source for source, _ in table).name}"]
    lines += [f"    {source.name} --> {target.name}: {step.name.lower()}" for (source, step), target in table.items()]
    lines += [f"    {state.name} --> [*]" for state in sorted(ends)]
    return "\n".join(lines)
