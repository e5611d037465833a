"""The tables of states and steps, and what is made of them."""

from enum import IntEnum

import pytest
from worlds import Bench, minutely, task, workflow

from tradewind.core.transitions import (
    ILLEGAL,
    MACHINE_ROWS,
    MACHINE_TABLE,
    UNIT_ROWS,
    UNIT_TABLE,
    IllegalTransitionError,
    MachineState,
    MachineStep,
    UnitState,
    UnitStep,
    diagram,
    rows,
)
from tradewind.model.event import MachineReady


class Light(IntEnum):
    RED = 0
    GREEN = 1
    BROKEN = 2


class Push(IntEnum):
    SWITCH = 0
    HIT = 1


TABLE = {
    (Light.RED, Push.SWITCH): Light.GREEN,
    (Light.GREEN, Push.SWITCH): Light.RED,
    (Light.GREEN, Push.HIT): Light.BROKEN,
}


def test_rows_hold_the_table() -> None:
    assert rows(TABLE, Light, Push) == (bytes([1, ILLEGAL]), bytes([0, 2]), bytes([ILLEGAL, ILLEGAL]))


@pytest.mark.parametrize("state", UnitState)
@pytest.mark.parametrize("step", UnitStep)
def test_rows_of_units_agree_with_their_table(state: UnitState, step: UnitStep) -> None:
    assert UNIT_ROWS[state][step] == UNIT_TABLE.get((state, step), ILLEGAL)


@pytest.mark.parametrize("state", MachineState)
@pytest.mark.parametrize("step", MachineStep)
def test_rows_of_machines_agree_with_their_table(state: MachineState, step: MachineStep) -> None:
    assert MACHINE_ROWS[state][step] == MACHINE_TABLE.get((state, step), ILLEGAL)


def test_what_has_ended_stays_so_and_everything_else_can_end() -> None:
    unit_ends = {UnitState.DONE, UnitState.FAILED, UnitState.CANCELLED}
    assert {state for state in UnitState if not any(source is state for source, _ in UNIT_TABLE)} == unit_ends
    machine_ends = {MachineState.RELEASED, MachineState.LOST}
    assert {state for state in MachineState if not any(source is state for source, _ in MACHINE_TABLE)} == machine_ends
    assert all((state, UnitStep.CANCEL) in UNIT_TABLE for state in UnitState if state not in unit_ends)
    assert all((state, MachineStep.LOSE) in MACHINE_TABLE for state in MachineState if state not in machine_ends)


def test_a_busy_machine_cannot_be_released() -> None:
    assert (MachineState.BUSY, MachineStep.RELEASE) not in MACHINE_TABLE


def test_the_diagram_is_drawn_from_the_table() -> None:
    assert diagram(TABLE).splitlines() == [
        "stateDiagram-v2",
        "    [*] --> RED",
        "    RED --> GREEN: switch",
        "    GREEN --> RED: switch",
        "    GREEN --> BROKEN: hit",
        "    BROKEN --> [*]",
    ]
    assert "    RUNNING --> READY: lose" in diagram(UNIT_TABLE).splitlines()
    assert "    BUSY --> IDLE: vacate" in diagram(MACHINE_TABLE).splitlines()


def test_an_illegal_step_raises_and_says_which() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 1})
    bench.submit(0, workflow(task()))
    bench.tell(MachineReady, 0, 0)
    with pytest.raises(IllegalTransitionError, match="unit 0: FREE while RUNNING"):
        bench.state.units[0].move(UnitStep.FREE)
    with pytest.raises(IllegalTransitionError, match="machine 0: RELEASE while BUSY"):
        bench.state.machines[0].move(MachineStep.RELEASE)
    assert bench.state.units[0].state == UnitState.RUNNING
