"""The baselines: demand and fixed."""

from collections import Counter
from typing import Any

import pytest
from audit import Audit
from worlds import Bench, chain, minutely, of, run, simulated, task, workflow

from tradewind.model.command import Acquire, Cut, Ended, Release
from tradewind.model.event import Finished, MachineLost, MachineReady, Timer
from tradewind.model.machine import Billing, MachineType
from tradewind.model.requirement import ANYTHING, Requirement
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, SECOND, UNIT

GPU = Requirement(frozenset({"gpu"}))


def rented(commands: list[Any]) -> Counter[int]:
    return Counter(command.kind for command in of(commands, Acquire))


def independent(number: int, needs: Requirement = ANYTHING) -> Any:
    return workflow(*[task(f"t{i}", 100, needs=needs) for i in range(number)])


# Demand


def test_demand_rents_a_slot_for_each_task_where_slots_are_cheapest() -> None:
    world = Bench([minutely("one", 2), minutely("four", 4, slots=4)])
    world.submit(0, independent(9))
    assert rented(world.tell(Timer, 0)) == {1: 3}


def test_demand_overflows_into_the_next_type_at_the_limit() -> None:
    world = Bench([minutely("dear", 9), minutely("cheap", 1, limit=2)])
    world.submit(0, independent(5))
    assert rented(world.tell(Timer, 0)) == {1: 2, 0: 3}


def test_demand_rents_as_far_as_the_budget_goes() -> None:
    world = Bench([minutely("small", 3)], tenants=[Tenant("default", 8 * UNIT)])
    world.submit(0, independent(5))
    assert rented(world.tell(Timer, 0)) == {0: 2}
    assert not of(world.records, Cut), "it knows how far it goes"


def test_demand_counts_booting_machines() -> None:
    world = Bench([minutely()])
    world.submit(0, independent(3))
    world.tell(Timer, 0)
    assert rented(world.tell(Timer, 60)) == {}


def test_demand_serves_the_choosy_first() -> None:
    types = [minutely("plain", 2), minutely("gpu", 2, capabilities=frozenset({"gpu"}), slots=2)]
    world = Bench(types)
    world.submit(0, workflow(task("a"), task("b", needs=GPU)))
    assert rented(world.tell(Timer, 0)) == {1: 1}, "the other slot of the machine with a gpu takes the other task"


def test_demand_returns_what_stands_idle_at_the_end_of_its_paid_time() -> None:
    world = Bench([minutely()])
    world.submit(0, workflow(task("a"), task("b"), task("c", 500)))
    world.tell(Timer, 0)
    for machine in range(3):
        world.tell(MachineReady, 0, machine)
    world.tell(Finished, 5, 0, 1, 0)
    world.tell(Finished, 6, 1, 1, 1)
    assert [release.machine for release in of(world.tell(Timer, 60), Release)] == [0, 1]


def test_demand_keeps_machines_that_are_paid_for_longer() -> None:
    world = Bench([MachineType("hourly", UNIT, Billing(HOUR))])
    world.submit(0, workflow(task("a"), task("b", 500)))
    world.tell(Timer, 0)
    for machine in range(2):
        world.tell(MachineReady, 0, machine)
    world.tell(Finished, 5, 0, 1, 0)
    assert not of(world.tell(Timer, 60), Release)
    assert len(of(world.tell(Timer, 3_600), Release)) == 1


def test_demand_takes_free_machines_without_counting_money() -> None:
    world = Bench([minutely(price=0)], tenants=[Tenant("default", 0)])
    world.submit(0, independent(4))
    assert rented(world.tell(Timer, 0)) == {0: 4}


def ends(*work: Submission, types: list[MachineType], tenants: list[Tenant]) -> bool:
    scenario = Scenario((), tuple(types), tuple(tenants), "demand")
    return len(of(run(scenario, work, turns=200), Ended)) == len(work)


def test_demand_gives_up_an_idle_machine_that_cannot_run_what_waits() -> None:
    types = [minutely("plain", 1), minutely("gpu", 5, capabilities=frozenset({"gpu"}))]
    work = Submission(0, chain(task("a"), task("b", needs=GPU)))
    assert ends(work, types=types, tenants=[Tenant("default", 5 * UNIT)])


def test_demand_does_not_let_tenants_block_each_other() -> None:
    disk = Requirement(frozenset({"disk"}))
    types = [
        minutely("gpu", capabilities=frozenset({"gpu"}), limit=1),
        minutely("disk", capabilities=frozenset({"disk"}), limit=1),
    ]
    tenants = [Tenant("ann"), Tenant("bob")]
    first = Submission(0, chain(task("a", needs=GPU), task("b", needs=disk)), "ann")
    second = Submission(0, chain(task("c", needs=disk), task("d", needs=GPU)), "bob")
    assert ends(first, second, types=types, tenants=tenants)


# Fixed


def test_fixed_holds_each_type_in_equal_number() -> None:
    world = Bench([minutely("a"), minutely("b"), minutely("c")], "fixed", {"machines": 8})
    assert rented(world.submit(0, independent(1))) == {0: 3, 1: 3, 2: 2}


def test_fixed_holds_one_type_alone_if_asked_to() -> None:
    world = Bench([minutely("a"), minutely("b")], "fixed", {"machines": 2, "type": "b"})
    assert rented(world.submit(0, independent(9))) == {1: 2}


def test_fixed_replaces_what_is_lost_and_keeps_what_is_idle() -> None:
    world = Bench([minutely()], "fixed", {"machines": 2})
    world.submit(0, independent(1))
    world.tell(Timer, 0)
    world.tell(MachineReady, 0, 0)
    world.tell(MachineReady, 0, 1)
    world.tell(MachineLost, 10, 0, "gone")
    assert rented(world.tell(Timer, 60)) == {0: 1}
    assert not of(world.records, Release)


def test_fixed_says_which_types_there_are() -> None:
    world = Bench([minutely("a"), minutely("b")], "fixed", {"type": "c"})
    with pytest.raises(ValueError, match="no machine type is named 'c'; use one of a, b"):
        world.submit(0, independent(1))


def test_fixed_is_cut_to_the_budget() -> None:
    tenants = [Tenant("default", 3 * UNIT)]
    records = simulated([independent(9)], [minutely()], "fixed", {"machines": 5}, tenants=tenants)
    assert len({acquire.machine for acquire in of(records, Acquire)}) == 3
    assert of(records, Cut)[0].granted == 3
    Audit([minutely()], tenants, is_dynamic=False).check(records)


def test_fixed_serves_work_in_rounds() -> None:
    records = simulated([independent(4)], [minutely()], "fixed", {"machines": 2})
    assert of(records, Ended)[0].at == 200 * SECOND
