"""PFA as a whole: the first decisions of a run, worked out by hand."""

from collections import Counter
from typing import Any

import pytest
from audit import Audit
from worlds import Bench, chain, minutely, of, simulated, task, workflow

from tradewind.model.command import Acquire, Cut, Ended, Release
from tradewind.model.event import Finished, MachineReady, Timer
from tradewind.model.requirement import Requirement
from tradewind.model.scenario import Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.policies.registry import build

TYPES = [minutely("small", 1, limit=32), minutely("large", 5, limit=32)]


def bench(budget: int | None = 60, **parameters: Any) -> Bench:
    amount = None if budget is None else budget * UNIT
    return Bench(TYPES, "pfa", parameters, tenants=[Tenant("default", amount)])


def rented(commands: list[Any]) -> Counter[int]:
    return Counter(command.kind for command in of(commands, Acquire))


def independent(number: int) -> Any:
    return workflow(*[task(f"t{i}") for i in range(number)])


def test_at_first_the_widest_wave_is_served_with_equal_shares() -> None:
    world = bench()
    world.submit(0, workflow(*[task() for _ in range(5)], parents=[[], [0], [0], [0], [0]]))
    commands = world.tell(Timer, 0)
    # The budget of 60 pays for ten of each; the widest wave has four tasks.
    assert rented(commands) == {0: 2, 1: 2}
    assert of(commands, Acquire)[0].because == "4 machines for 5 tasks ahead; the budget pays for 20 in proportion"


def test_a_demand_above_the_supply_inflates_it_with_cheap_machines() -> None:
    world = bench()
    world.submit(0, independent(30))
    # Ten of each are not enough: two large ones give way to ten small ones, a third to three.
    assert rented(world.tell(Timer, 0)) == {0: 23, 1: 7}


def busy_minute(world: Bench) -> None:
    """Thirty tasks on 23 small and 7 large machines, of which 12 and 7 end twice within the minute."""
    world.submit(0, independent(30))
    world.tell(Timer, 0)
    for machine in range(30):
        world.tell(MachineReady, 0, machine)
    starts = {start.machine: start.unit for start in world.starts}
    for machine in [*range(12), *range(23, 30)]:
        world.tell(Finished, 30, starts[machine], 1, machine)
    world.submit(40, independent(50))
    for start in world.starts[30:]:  # they take the machines just vacated, and end within the minute as well
        world.tell(Finished, 50, start.unit, 1, start.machine)
    world.state.now = MINUTE


def test_throughput_decides_how_many_machines_the_work_ahead_needs() -> None:
    world = bench()
    busy_minute(world)
    finished = Counter(world.acquired[event.machine].kind for event in of(world.records, Finished))
    assert finished == {0: 24, 1: 14}
    scaler: Any = world.core.policy.scaler
    demand, target, because = scaler._target(world.state, world.state.all_pools[0])
    # A small machine completes 24/23 tasks, a large one 2: 1.52 on average, so two waves are looked at, and all the
    # 42 tasks left lie in the first. They would take 28 machines. Of 60, in the ratio of 24/23 to 2, 5 small and 10
    # large ones can be paid; 5 are left for small ones, and two large ones give way to ten.
    assert demand == 28
    assert target == [20, 8]
    assert because == "28 machines for 42 tasks ahead; the budget pays for 15 in proportion"


def test_with_exponential_smoothing_the_last_interval_sets_the_demand() -> None:
    world = bench(smoothing="ewma", alpha=0.5)
    busy_minute(world)
    scaler: Any = world.core.policy.scaler
    demand, target, _ = scaler._target(world.state, world.state.all_pools[0])
    # Ratios half way between equal ones and 12/35 to 23/35: 0.421 and 0.579. 60 pays for 7 small and 10 large ones.
    assert demand == 28
    assert target == [20, 8]


def test_what_is_remembered_is_kept_apart_for_each_tenant() -> None:
    tenants = [Tenant("ann", 6 * UNIT), Tenant("bob", 6 * UNIT)]
    world = Bench(TYPES, "pfa", tenants=tenants)
    world.submit(0, independent(2), "ann")
    world.tell(Timer, 0)
    assert world.core.policy.memory is not None
    saved = world.core.policy.memory.save()
    assert set(saved) == {"ann", "bob"}
    again = build("pfa", {})
    assert again.memory is not None
    again.memory.load(saved)
    assert again.memory.save() == saved
    assert {acquire.tenant for acquire in world.acquired} == {0}


def test_a_budget_that_pays_for_nothing_is_on_record() -> None:
    types = [minutely("small", 3), minutely("large", 5)]
    world = Bench(types, "pfa", tenants=[Tenant("default", 2 * UNIT)])
    world.submit(0, independent(2))
    world.tell(Timer, 0)
    (cut,) = of(world.records, Cut)
    assert (cut.kind, cut.asked, cut.granted) == (0, 1, 0)
    assert cut.because == "2 of the budget is left, and each takes 3"
    assert not world.acquired


def test_without_work_nothing_is_asked_for_even_if_nothing_could_be_paid() -> None:
    world = Bench([minutely(price=3)], "pfa", tenants=[Tenant("default", UNIT)])
    world.submit(0, workflow())
    world.tell(Timer, 0)
    assert not of(world.records, Cut)


def test_idle_machines_beyond_the_target_go_at_the_end_of_their_paid_time() -> None:
    world = bench()
    world.submit(0, independent(4))
    world.tell(Timer, 0)
    for start in [command for machine in range(4) for command in world.tell(MachineReady, 1, machine)]:
        world.tell(Finished, 2, start.unit, 1, start.machine)
    world.submit(3, chain(task("long", 500)))
    commands = world.tell(Timer, 60)
    # One machine would do, but each type is rounded up: one small machine and one large one stay.
    assert [release.machine for release in of(commands, Release)] == [1, 2]
    assert list(world.state.machines) == [0, 3]


@pytest.mark.parametrize("parameters", [{"smoothing": "ma"}, {"smoothing": "ewma"}, {"m": 0}, {"alpha": 0.0}])
@pytest.mark.parametrize("budget", [6, 17, 60, None])
def test_a_workload_ends_within_its_budget(parameters: dict[str, Any], budget: int | None) -> None:
    tenants = [Tenant("default", None if budget is None else budget * UNIT)]
    layers = workflow(
        *[task(f"t{i}", 10 + 7 * (i % 9), on={"large": 5 + i % 7}) for i in range(40)],
        parents=[[] if i < 8 else [i - 8, i - 7] for i in range(40)],
    )
    work = [Submission(at * SECOND, layers) for at in (0, 50, 400)]
    records = simulated(work, TYPES, "pfa", parameters, tenants=tenants)
    Audit(TYPES, tenants, is_dynamic=True).check(records)
    assert len(of(records, Ended)) == 3


def test_types_that_only_some_tasks_can_use_are_held_for_them() -> None:
    gpu = Requirement(frozenset({"gpu"}))
    types = [minutely("plain", 1, limit=32), minutely("gpu", 5, capabilities=frozenset({"gpu"}), limit=32)]
    tenants = [Tenant("default", 8 * UNIT)]
    work = workflow(*[task(f"g{i}", 30, needs=gpu) for i in range(20)])
    records = simulated([work], types, "pfa", tenants=tenants, most=5_000)
    Audit(types, tenants, is_dynamic=True).check(records)


def test_demand_stays_sane_without_budget_or_limits() -> None:
    chains = [Submission(at * 50 * SECOND, chain(*[task(f"t{i}", 150) for i in range(20)])) for at in range(3)]
    records = simulated(chains, [minutely("a"), minutely("b")], "pfa", most=60_000)
    assert len(of(records, Acquire)) < 300


def test_the_interval_of_the_budget_may_differ_from_that_of_the_scaler() -> None:
    tenants = [Tenant("default", 20 * UNIT, 150 * SECOND)]
    records = simulated([independent(30)], TYPES, "pfa", tenants=tenants, interval=MINUTE)
    Audit(TYPES, tenants, is_dynamic=True).check(records)
