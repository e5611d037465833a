"""Machines that join: they come and go, are lent between tenants, cost what they should, and are asked for by hints."""

from dataclasses import replace
from typing import Any

import pytest
from guests import POLICIES, Guests
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import Bench, minutely, of, task, workflow

from tradewind.core.log import Encoder
from tradewind.core.why import Cause, why
from tradewind.model.command import Acquire, Charged, Dropped, Lent, Refused, Release, Start, Wanted, Welcomed
from tradewind.model.event import Finished, MachineJoined, MachineLeft, MachineUnwanted, TenantChanged, Timer
from tradewind.model.machine import Billing, MachineType
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT

GPU = Requirement(frozenset({"gpu"}))
BOX = MachineType("box", capabilities=frozenset({"gpu"}), joins=True)
DEAR = replace(BOX, name="dear", price=UNIT, billing=Billing(MINUTE))
ANN, BOB = Tenant("ann"), Tenant("bob")
SEEDS = st.integers(0, 10**6)


def bench(*tenants: Tenant, types: tuple[MachineType, ...] = (minutely(limit=2),), **options: Any) -> Bench:
    return Bench(types, tenants=tenants or (Tenant("default"),), **options)


def finish(world: Bench, at: float, start: Start) -> list[Any]:
    return world.tell(Finished, at, start.unit, start.attempt, start.machine)


def test_a_machine_of_an_unknown_type_joins_and_does_what_no_other_can() -> None:
    world = bench()
    world.tell(MachineJoined, 0, "lab/1", BOX)
    world.submit(1, workflow(task(needs=GPU)))
    (welcomed,) = of(world.records, Welcomed)
    assert (welcomed.machine, welcomed.name) == (0, "lab/1")
    assert [start.machine for start in world.starts] == [0]
    assert not of(world.records, Charged)


def test_a_type_with_amounts_never_heard_of_gives_all_vectors_another_place() -> None:
    world = bench(types=(minutely(amounts=amounts(memory=4)),))
    world.tell(MachineJoined, 0, "a", MachineType("a", amounts=amounts(memory=2), slots=2))
    world.submit(0, workflow(task("x", needs=Requirement(frozenset(), amounts(memory=1)))))
    world.tell(MachineJoined, 1, "b", MachineType("b", amounts=amounts(licences=1), slots=2))
    assert {len(machine.free) for machine in world.state.machines.values()} == {3}
    needs = Requirement(frozenset(), amounts(licences=1))
    world.submit(2, workflow(task("y", needs=needs), task("z", needs=needs)))
    assert [start.machine for start in world.starts] == [0, 1]  # the second licence is not there


def test_the_same_offer_is_the_same_kind_however_many_there_may_be() -> None:
    world = bench()
    for number, limit in enumerate((3, 5)):
        world.tell(MachineJoined, 0, f"lab/{number}", replace(BOX, limit=limit))
    assert [kind.type.name for kind in world.state.kinds] == ["small", "box"]
    assert world.state.kinds[1].type.limit == 5
    assert world.state.kinds[1].present == 2


def test_a_name_that_is_held_is_no_news_unless_the_machine_is_another() -> None:
    world = bench()
    world.tell(MachineJoined, 0, "lab/1", BOX)
    assert not of(world.tell(MachineJoined, 1, "lab/1", BOX), Welcomed, Dropped)
    (again,) = of(world.tell(MachineJoined, 2, "lab/1", replace(BOX, slots=2)), Welcomed)
    assert list(world.state.machines) == [again.machine] == [1]


def test_what_ran_on_a_machine_that_left_runs_elsewhere() -> None:
    world = bench()
    world.tell(MachineJoined, 0, "lab/1", BOX)
    world.submit(0, workflow(task(needs=GPU)))
    world.tell(MachineLeft, 5, 0, "it signs off")
    assert not world.state.joined
    world.tell(MachineJoined, 9, "lab/2", BOX)
    assert [(start.attempt, start.machine) for start in world.starts] == [(1, 0), (2, 1)]
    (unit,) = world.state.units.values()
    assert (unit.lost, unit.preempted) == (0, 1)


def test_a_machine_that_left_is_stale_news_the_second_time() -> None:
    world = bench()
    world.tell(MachineJoined, 0, "lab/1", BOX)
    world.tell(MachineLeft, 5, 0, "it signs off")
    assert of(world.tell(MachineLeft, 6, 0, "it signs off"), Dropped)


# Tenants


def test_a_machine_is_lent_when_its_tenant_has_nothing_for_it_and_another_has() -> None:
    world = bench(ANN, BOB)
    world.tell(MachineJoined, 0, "lab/1", BOX)
    world.submit(0, workflow(task("a", needs=GPU)), "ann")
    world.submit(0, workflow(task("b", needs=GPU)), "bob")
    assert [start.unit for start in world.starts] == [0]
    assert not of(world.records, Lent), "it is at work"
    commands = finish(world, 10, world.starts[0])
    assert [(each.machine, each.tenant) for each in of(commands, Lent)] == [(0, 1)]
    assert [start.unit for start in of(commands, Start)] == [1]


def test_a_machine_stays_with_a_tenant_that_has_more_for_it_to_do() -> None:
    world = bench(ANN, BOB)
    world.tell(MachineJoined, 0, "lab/1", BOX)
    world.submit(0, workflow(task("a", needs=GPU), task("b", needs=GPU)), "ann")
    world.submit(0, workflow(task("c", needs=GPU)), "bob")
    assert [start.unit for start in of(finish(world, 10, world.starts[0]), Start)] == [1]
    assert not of(world.records, Lent)


def test_a_machine_never_works_for_a_tenant_that_it_does_not_serve() -> None:
    world = bench(ANN, BOB)
    world.tell(MachineJoined, 0, "lab/1", BOX, ("bob",))
    (refused,) = of(world.submit(0, workflow(task(needs=GPU)), "ann"), Refused)
    assert "no machine type offers" in refused.reason
    world.submit(0, workflow(task(needs=GPU)), "bob")
    assert len(world.starts) == 1


def test_tenants_with_the_fewest_slots_for_their_weight_come_first() -> None:
    ann, bob = replace(ANN, weight=3.0), replace(BOB, weight=1.0)
    world = bench(ann, bob)
    for tenant in ("ann", "bob"):
        world.state.accepts_unknown = True
        world.submit(0, workflow(*(task(f"{tenant}{i}", needs=GPU) for i in range(9))), tenant)
    for number in range(8):
        world.tell(MachineJoined, 1, f"lab/{number}", BOX)
    held = [pool.held for pool in world.state.all_pools]
    assert held == [6, 2]


def test_a_machine_for_a_tenant_that_does_not_exist_yet_waits_for_it() -> None:
    world = bench(ANN)
    world.tell(MachineJoined, 0, "lab/1", BOX, ("zoe",))
    assert world.state.machines[0].is_spare
    world.tell(TenantChanged, 1, Tenant("zoe"))
    world.submit(2, workflow(task(needs=GPU)), "zoe")
    assert len(world.starts) == 1


def test_no_tenant_gets_more_machines_than_it_may_hold() -> None:
    world = bench(replace(ANN, machines=1))
    for number in range(3):
        world.tell(MachineJoined, 0, f"lab/{number}", BOX)
    world.submit(1, workflow(*(task(f"t{i}", needs=GPU) for i in range(3))), "ann")
    assert len(world.starts) == 1


# Money


def test_a_machine_with_a_price_is_paid_for_only_while_it_is_of_use() -> None:
    world = bench(ANN)
    world.tell(MachineJoined, 0, "lab/1", DEAR)
    assert not of(world.records, Charged)
    commands = world.submit(600, workflow(task(needs=GPU)), "ann")
    assert [(each.amount, each.until) for each in of(commands, Charged)] == [(UNIT, 660 * SECOND)]
    finish(world, 630, world.starts[0])
    (laid,) = of(world.tell(Timer, 660), Lent)
    assert laid.tenant == -1
    assert len(of(world.records, Charged)) == 1
    assert 0 in world.state.machines


def test_a_machine_whose_tenant_cannot_pay_is_not_used() -> None:
    world = bench(replace(ANN, budget=UNIT // 2), BOB)
    world.tell(MachineJoined, 0, "lab/1", DEAR)
    world.submit(0, workflow(task(needs=GPU)), "ann")
    (unit,) = world.state.units.values()
    assert why(world.state, unit).cause is Cause.BUDGET
    world.submit(1, workflow(task(needs=GPU)), "bob")
    assert [world.state.units[start.unit].run.pool.tenant.name for start in world.starts] == ["bob"]


def test_a_budget_that_was_lowered_sets_the_machine_aside_and_keeps_it() -> None:
    world = bench(replace(ANN, budget=UNIT))
    world.tell(MachineJoined, 0, "lab/1", DEAR)
    world.submit(0, workflow(task(seconds=999, needs=GPU)), "ann")
    world.tell(TenantChanged, 30, replace(ANN, budget=0))
    commands = world.tell(Timer, 60)
    assert not of(commands, Release)
    assert world.state.machines[0].is_spare


# Hints


def test_what_is_wanted_of_a_type_that_joins_is_a_hint_and_not_a_machine() -> None:
    world = bench(types=(replace(BOX, limit=3),))
    world.submit(0, workflow(*(task(f"t{i}", needs=GPU) for i in range(5))))
    commands = world.tell(Timer, 0)
    assert [(each.kind, each.count) for each in of(commands, Wanted)] == [(0, 3)]
    assert not of(world.tell(Timer, 60), Wanted), "nothing has changed"
    assert not world.acquired


def test_machines_that_can_be_rented_do_not_wait_for_those_that_join() -> None:
    world = bench(types=(minutely(limit=9), replace(BOX, limit=9)))
    world.submit(0, workflow(*(task(f"t{i}") for i in range(4))))
    world.tell(Timer, 0)
    assert [each.kind for each in of(world.records, Acquire)] == [0] * 4


def test_returning_a_machine_that_joined_only_lowers_the_hint() -> None:
    world = bench(types=(replace(BOX, limit=3),))
    world.submit(0, workflow(task("a", 90, needs=GPU), task("b", 1, needs=GPU)))
    world.tell(Timer, 0)
    for number in range(2):
        world.tell(MachineJoined, 1, f"lab/{number}", replace(BOX, limit=3))
    finish(world, 2, world.starts[1])
    assert [each.count for each in of(world.tell(Timer, 60), Wanted)] == [1]
    finish(world, 91, world.starts[0])
    assert [each.count for each in of(world.tell(Timer, 120), Wanted)] == [0]
    assert not of(world.records, Release)
    assert len(world.state.machines) == 2


def test_a_machine_that_joined_is_drained_by_hand() -> None:
    world = bench()
    world.tell(MachineJoined, 0, "lab/1", BOX)
    world.submit(0, workflow(task(needs=GPU)))
    world.tell(MachineUnwanted, 1, 0, "it is to be drained")
    assert [each.machine for each in of(finish(world, 10, world.starts[0]), Release)] == [0]
    assert not world.state.joined


# Unknown work


def test_unknown_work_is_refused_by_default() -> None:
    (refused,) = of(bench().submit(0, workflow(task(needs=GPU))), Refused)
    assert "gpu" in refused.reason


def test_unknown_work_waits_if_that_is_allowed_and_starts_when_a_machine_joins() -> None:
    world = bench()
    world.state.accepts_unknown = True
    world.submit(0, workflow(task(needs=GPU)))
    (unit,) = world.state.units.values()
    reason = why(world.state, unit)
    assert (reason.cause, reason.text) == (Cause.ABSENT, "no machine that offers gpu has joined")
    world.tell(Timer, 0)
    assert not world.acquired
    world.tell(MachineJoined, 70, "lab/1", BOX)
    assert len(world.starts) == 1


def test_records_are_shown_with_names() -> None:
    world = bench(ANN)
    world.tell(MachineJoined, 0, "lab/1", DEAR, ("ann",))
    world.submit(0, workflow(task(needs=GPU)), "ann")
    encode = Encoder(world.state).encode
    shown = [encode(record) for record in world.records]
    (came,) = [each for each in shown if each["event"] == "machine-joined"]
    assert (came["name"], came["kind"], came["tenants"], came["price"]) == ("lab/1", "dear", ("ann",), 1.0)
    assert [each["tenant"] for each in shown if each["event"] in ("welcomed", "lent")] == [None, "ann"]


# At random


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(seed=SEEDS)
def test_whatever_joins_and_leaves_the_rules_hold_and_all_work_ends(policy: str, seed: int) -> None:
    world = Guests(seed, policy)
    world.play(80)
    world.book.check_spending()
    assert world.come_to_an_end(), "a machine that can do everything has joined"


@settings(max_examples=20)
@given(seed=SEEDS)
def test_the_same_joins_give_the_same_commands(seed: int) -> None:
    first, second = Guests(seed), Guests(seed)
    first.play(60)
    second.play(60)
    assert repr(first.bench.records) == repr(second.bench.records)
