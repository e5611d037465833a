"""The acquirer of the policies for shrinking machines, where money or the number of machines is short."""

import pytest
from stage import SMALL, Stage, flat

from tradewind.core.log import Record
from tradewind.model.command import Ended
from tradewind.model.event import MachineLost
from tradewind.model.machine import Billing, MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.protocol import Rent
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

PLAIN = MachineType("plain", UNIT, Billing(MINUTE), limit=2)
DISK = MachineType("disk", 2 * UNIT, Billing(MINUTE), limit=1, capabilities=frozenset({"disk"}))
NEEDS_DISK = Requirement(frozenset({"disk"}))


def test_machines_are_rented_again_once_there_is_money_for_them() -> None:
    stage = Stage(SMALL, budget=1)
    stage.submit(flat(3, seconds=100))
    policy = build("slacksched", {"machines": 1})
    stage.scale(policy)
    (machine,) = stage.state.machines.values()
    stage.boot(machine)
    stage.core.handle(MachineLost(30 * SECOND, 0, machine.id, "a test wants it"))
    stage.scale(policy)
    assert not stage.state.machines, "it was paid for a whole interval"
    stage.wait(2 * MINUTE)
    assert [type(action) for action in stage.scale(policy)] == [Rent]
    assert len(stage.state.machines) == 1


@pytest.mark.parametrize("policy", ["slacksched", "slacksched-nodelay", "slacksched-heartbeat", "capacity"])
@pytest.mark.parametrize("first", [Requirement(), NEEDS_DISK])
def test_work_that_needs_another_type_gets_a_machine_however_small_the_budget(policy: str, first: Requirement) -> None:
    then = NEEDS_DISK if first == Requirement() else Requirement()
    tasks = (Task("a", "a", first, 90 * SECOND), Task("b", "b", then, 90 * SECOND))
    scenario = Scenario((), (PLAIN, DISK), (Tenant("default", 2 * UNIT, MINUTE),), policy, interval=MINUTE)
    records: list[Record] = []
    Simulation(scenario, [Submission(0, Workflow("w", tasks, ((), (0,))))], build(policy)).run(records.append)
    assert [record.status for record in records if isinstance(record, Ended)] == ["done"]


def test_a_fixed_number_of_machines_leaves_room_for_what_work_needs() -> None:
    tasks = (Task("a", "a", runtime=90 * SECOND), Task("b", "b", NEEDS_DISK, 90 * SECOND))
    scenario = Scenario((), (PLAIN, DISK), (Tenant("default"),), "slacksched", interval=MINUTE)
    records: list[Record] = []
    policy = build("slacksched", {"machines": 1})
    Simulation(scenario, [Submission(0, Workflow("w", tasks, ((), (0,))))], policy).run(records.append)
    assert [record.status for record in records if isinstance(record, Ended)] == ["done"]
