"""Scaling First, step by step and as a whole."""

import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st
from stage import (
    SMALL,
    Setting,
    Stage,
    Step,
    asked,
    costliest_interval,
    flat,
    flow,
    never_asks_in_vain,
    returned,
    run_to_the_end,
    settings,
)

from tradewind.model.command import Cut, Dropped, Ended
from tradewind.model.event import MachineLost
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Faults
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.policies.budget.scf import Ahead, Work, fit, in_turn, machines
from tradewind.policies.parts.fastest import payable
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.protocol import Policy
from tradewind.policies.registry import build

ON_SMALL = {"small": 10, "large": 20}
ON_LARGE = {"small": 20, "large": 10}


def scf(**parameters: object) -> Policy:
    return build("scf", parameters)


def works(stage: Stage) -> list[Work]:
    return Ahead().by_kind(stage.state, stage.pool, payable(stage.state, stage.pool))


# The steps


def test_work_is_counted_on_the_fastest_type_to_the_end_of_each_workflow() -> None:
    stage = Stage()
    stage.submit(flow(a=Step(ON_SMALL), b=Step(ON_LARGE, "a"), c=Step(ON_SMALL, "b")))
    assert works(stage) == [Work(2, 20 * SECOND, 2), Work(1, 10 * SECOND, 1)]


def test_running_tasks_count_where_they_run_with_what_lies_ahead() -> None:
    stage = Stage()
    units = stage.submit(flow(a=Step(ON_SMALL), b=Step(ON_SMALL), c=Step(ON_SMALL)))
    stage.start(units["a"], stage.rent(1)[0])
    done = stage.rent(0)[0]
    stage.start(units["b"], done)
    stage.wait(5 * SECOND)
    stage.finish(units["b"])
    assert works(stage) == [Work(1, 10 * SECOND, 1), Work(1, 15 * SECOND, 1)]


def test_a_type_dearer_than_the_whole_budget_is_not_counted_on() -> None:
    stage = Stage(budget=4)
    stage.submit(flat(2, ON_LARGE))
    assert works(stage) == [Work(2, 40 * SECOND, 2), Work()]


def test_a_large_run_is_counted_again_only_when_part_of_it_has_ended() -> None:
    stage = Stage(MachineType("m", price=UNIT, slots=40))
    units = list(stage.submit(flat(2_000, 10)).values())
    (machine,) = stage.rent(0)
    for unit in units[:40]:
        stage.start(unit, machine)
    ahead, kinds = Ahead(), payable(stage.state, stage.pool)
    assert ahead.by_kind(stage.state, stage.pool, kinds) == [Work(2_000, 20_000 * SECOND, 2_000)]
    stage.wait(4 * SECOND)
    for unit in units[:20]:
        stage.finish(unit)
    assert ahead.by_kind(stage.state, stage.pool, kinds) == [Work(1_980, 19_800 * SECOND, 1_980)], "what runs as well"
    for unit in units[20:70]:
        if unit.machine is None:
            stage.start(unit, machine)
        stage.finish(unit)
    assert ahead.by_kind(stage.state, stage.pool, kinds) == [Work(1_930, 19_300 * SECOND, 1_930)], "counted again"
    stage.start(units[70], machine)
    stage.wait(9 * SECOND)
    assert ahead.by_kind(stage.state, stage.pool, kinds) == [Work(1_930, 19_300 * SECOND, 1_930)], "not so soon"
    assert Ahead().by_kind(stage.state, stage.pool, kinds) == [Work(1_930, 19_295 * SECOND, 1_930)]


def test_no_more_machines_are_rented_than_tasks_can_use() -> None:
    """A type that costs almost nothing has no limit: the budget would pay for very many machines."""
    stage = Stage(MachineType("cheap", price=1), budget=1)
    stage.submit(flat(4, 3_600))
    assert asked(stage.scale(scf())) == {"cheap": 4}
    quad = Stage(MachineType("quad", price=1, slots=4), budget=1)
    quad.submit(flat(9, 3_600))
    assert asked(quad.scale(scf())) == {"quad": 3}


def test_machines_are_run_time_over_the_interval_rounded_up() -> None:
    assert machines(Work(7, 121 * SECOND), MINUTE) == 3
    assert machines(Work(7, 120 * SECOND), MINUTE) == 2
    assert machines(Work(), MINUTE) == 0


def test_tasks_that_take_no_time_still_need_a_machine() -> None:
    assert machines(Work(1, 0), MINUTE) == 1


def test_supply_is_scaled_to_the_budget_in_proportion() -> None:
    assert fit([20, 16], [1, 5], [99, 99], 50) == [10, 8]


def test_what_rounding_leaves_is_spent_on_predicted_types_in_turn() -> None:
    # 10 + 30 = 40 scaled by 17/40: 4 and 2 cost 14; then one small, no large fits the 2 left, one more small, one more
    assert fit([10, 6], [1, 5], [99, 99], 17) == [7, 2]


def test_types_that_were_not_predicted_are_not_bought() -> None:
    assert fit([0, 3], [1, 5], [99, 99], 12) == [0, 2]


def test_a_type_may_be_scaled_to_zero() -> None:
    assert fit([90, 1], [1, 10], [99, 99], 9) == [9, 0]


def test_the_whole_budget_is_spent_as_in_the_paper_unless_told_otherwise() -> None:
    assert fit([2, 1], [1, 5], [99, 99], 21) == [6, 3]
    assert fit([2, 1], [1, 5], [99, 99], 21, fill=False) == [2, 1]


def test_limits_hold_and_pass_the_money_on() -> None:
    assert fit([10, 10], [1, 5], [99, 3], 60) == [45, 3]
    assert fit([10, 10], [1, 5], [4, 3], 60) == [4, 3]


def test_without_budget_or_price_nothing_is_scaled() -> None:
    assert fit([7, 3], [1, 5], [99, 2], None) == [7, 2]
    assert fit([7, 3], [0, 0], [99, 99], 10) == [7, 3]
    assert fit([7, 4], [0, 5], [99, 99], 10) == [7, 2]


@given(
    predicted=st.lists(st.integers(0, 50), min_size=3, max_size=3),
    prices=st.lists(st.integers(0, 9), min_size=3, max_size=3),
    limits=st.lists(st.integers(0, 40), min_size=3, max_size=3),
    budget=st.integers(0, 200),
)
def test_a_fitted_supply_keeps_to_budget_and_limits_and_leaves_nothing_to_buy(
    predicted: list[int], prices: list[int], limits: list[int], budget: int
) -> None:
    counts = fit(predicted, prices, limits, budget)
    left = budget - sum(n * p for n, p in zip(counts, prices, strict=True))
    assert left >= 0
    for number, price, limit, asked_for in zip(counts, prices, limits, predicted, strict=True):
        assert number <= limit
        assert not number or asked_for
        assert not asked_for or not price or number == limit or price > left


def test_machines_are_added_in_turn() -> None:
    assert in_turn([0, 0], [1, 2], [5, 5], 7) == [3, 2]
    assert in_turn([0, 0], [1, 2], [1, 5], 7) == [1, 3]


# The whole


def test_rents_what_is_not_held_yet() -> None:
    stage = Stage(budget=10)
    stage.submit(flat(30, ON_SMALL))
    stage.rent(0, 3)
    (action,) = stage.scale(scf())
    assert asked([action]) == {"small": 7}
    assert action.because == "30 tasks run fastest on small and ask for 5; the budget makes it 10"


def test_machines_above_the_target_hold_their_money_until_they_go() -> None:
    stage = Stage(budget=8)
    stage.submit(flow(x=Step(10)), flat(30, ON_SMALL))
    stage.start(stage.state.units[0], stage.rent(1)[0])
    (action,) = stage.scale(scf())
    assert action.because == "30 tasks run fastest on small and ask for 5; the budget makes it 8"
    assert asked([action]) == {"small": 3}


def test_the_plan_goes_by_priority_and_takes_any_type() -> None:
    stage = Stage(budget=6)
    units = stage.submit(flat(2, ON_SMALL, priority=1), flow(x=Step(ON_SMALL), priority=5))
    stage.rent(1)
    policy = scf(fill_budget=False)
    stage.scale(policy)
    plan = policy.scaler.memory.save()  # type: ignore[attr-defined]
    assert plan[0] == [units["x"].id, 0]  # on large, which is idle, though small is faster


def test_idle_machines_without_a_planned_task_go() -> None:
    stage = Stage(budget=10)
    stage.submit(flat(1, 90))
    stage.rent(0, 3)
    stage.wait(MINUTE)
    assert returned(stage.scale(scf(fill_budget=False))) == [1, 2]


def test_parameters_choose_placer_and_calls() -> None:
    assert isinstance(scf(placement="dynamic").placer, FirstIdle)
    assert scf(replan_on_arrival=True).scaler.on_arrival


def test_a_machine_with_slots_counts_as_many_times() -> None:
    stage = Stage(MachineType("quad", price=UNIT, slots=4))
    stage.submit(flat(20, 60))
    assert asked(stage.scale(scf())) == {"quad": 5}


def test_without_work_nothing_is_rented() -> None:
    stage = Stage(SMALL, budget=100)
    assert stage.scale(scf()) == []


@given(setting=settings, fill=st.booleans())
def test_never_asks_for_more_than_budget_and_limits_allow(setting: Setting, fill: bool) -> None:
    stage = setting.stage()
    stage.admission.out.clear()
    stage.scale(scf(fill_budget=fill))
    assert never_asks_in_vain(stage)


@given(setting=settings)
def test_equal_views_give_equal_decisions(setting: Setting) -> None:
    first, second = scf(), scf()
    once, again = setting.stage().scale(first), setting.stage().scale(second)
    assert (asked(once), returned(once)) == (asked(again), returned(again))
    assert first.scaler.memory.save() == second.scaler.memory.save()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"placement": "dynamic"}, {"replan_on_arrival": True}, {"fill_budget": False}],
    ids=["plan", "dynamic", "arrival", "modest"],
)
@given(setting=settings)
@how(max_examples=20, deadline=None)
def test_all_work_ends_within_the_budget(parameters: dict[str, object], setting: Setting) -> None:
    records = run_to_the_end(setting, build("scf", parameters))
    ended = [record.status for record in records if isinstance(record, Ended)]
    assert ended == ["done"] * len(setting.works)
    assert not any(isinstance(record, Cut | Dropped) for record in records)
    if setting.budget is not None:
        assert max(costliest_interval(records, tenant) for tenant in (0, 1)) <= setting.budget * UNIT
    assert records == run_to_the_end(setting, build("scf", parameters))


def test_all_work_ends_though_machines_vanish() -> None:
    setting = Setting([flat(40, 20, priority=index % 3) for index in range(8)], (0, 0), (0, 0), 0, 20, 12, 0)
    records = run_to_the_end(setting, build("scf"), Faults(machine_loss=20, boot_failure=0.1))
    assert any(isinstance(record, MachineLost) for record in records)
    assert [record.status for record in records if isinstance(record, Ended)] == ["done"] * 8
    assert not any(isinstance(record, Cut) for record in records)
