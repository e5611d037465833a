"""Planning First, step by step and as a whole."""

import pytest
from hypothesis import given
from hypothesis import settings as how
from stage import (
    LARGE,
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
from tradewind.model.requirement import Requirement
from tradewind.model.scenario import Faults
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.budget.plf import Supply, distribute, idle_room, shuffled
from tradewind.policies.parts.consolidation import by_priority
from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.protocol import Policy, Rent
from tradewind.policies.registry import PolicyError, build

ON_SMALL = {"small": 10, "large": 20}
ON_LARGE = {"small": 20, "large": 10}


def plf() -> Policy:
    return build("plf")


def chosen(stage: Stage, supply: Supply) -> dict[str, str]:
    return {stage.state.units[unit].task.id: kind.type.name for unit, kind in supply.types.items()}


# The steps


def test_shares_go_by_priority_plus_one() -> None:
    stage = Stage(budget=100)
    stage.submit(flat(1, priority=0), flat(1, priority=3), flat(1, priority=4))
    assert list(distribute(100, by_priority(stage.pool)).values()) == [50, 40, 10]


def test_shares_never_exceed_the_budget() -> None:
    stage = Stage(budget=100)
    stage.submit(flat(1), flat(1), flat(1))
    assert sum(distribute(100, by_priority(stage.pool)).values()) == 99


def test_each_task_gets_its_fastest_type_while_the_share_lasts() -> None:
    stage = Stage(budget=100)
    stage.submit(flow(a=Step(ON_LARGE), b=Step(ON_SMALL), c=Step(ON_LARGE), d=Step(ON_SMALL)))
    supply = Supply(stage.state, stage.pool)
    left = supply.choose(stage.pool.runs[0], 8 * UNIT)
    assert chosen(stage, supply) == {"a": "large", "b": "small"}  # c breaks the loop although d would fit
    assert left == 2 * UNIT


def test_the_cheaper_of_equally_fast_types_is_taken() -> None:
    stage = Stage(LARGE, SMALL)
    stage.submit(flat(1))
    supply = Supply(stage.state, stage.pool)
    supply.choose(stage.pool.runs[0], 10 * UNIT)
    assert chosen(stage, supply) == {"t0": "small"}


def test_machines_that_are_held_and_free_cost_nothing_more() -> None:
    stage = Stage(budget=100)
    units = stage.submit(flat(5, ON_SMALL))
    busy = stage.rent(0)[0]
    stage.rent(0)
    stage.rent(0, up=False)
    stage.start(units["t0"], busy)
    assert idle_room(stage.pool.fleets[0]).take((1,), 9) == 2
    supply = Supply(stage.state, stage.pool)
    assert supply.choose(stage.pool.runs[0], 5 * UNIT) == 3 * UNIT
    assert asked(list(supply.rents())) == {"small": 2}


def test_a_rented_machine_serves_as_many_tasks_as_it_has_slots() -> None:
    stage = Stage(MachineType("quad", price=UNIT, slots=4))
    stage.submit(flat(9))
    assert asked(stage.scale(plf())) == {"quad": 3}


def test_a_type_at_its_limit_gives_way_to_the_next_fastest() -> None:
    stage = Stage(SMALL, MachineType("large", price=5 * UNIT, limit=2))
    stage.submit(flat(5, ON_LARGE))
    assert asked(stage.scale(plf())) == {"small": 3, "large": 2}


def test_a_type_dearer_than_the_whole_budget_gives_way_too() -> None:
    stage = Stage(budget=3)
    stage.submit(flat(5, ON_LARGE))
    assert asked(stage.scale(plf())) == {"small": 3}


def test_what_shares_leave_over_buys_for_high_priorities_first() -> None:
    stage = Stage(budget=12)
    stage.submit(flat(1, ON_LARGE, priority=0), flat(3, ON_LARGE, priority=1), flat(2, ON_SMALL, priority=0))
    actions = stage.scale(plf())  # shares 3, 6 and 3: one large, two small; the rest of 5 buys one more large
    assert asked(actions) == {"small": 2, "large": 2}
    assert [a.because for a in actions if isinstance(a, Rent)] == [
        "2 ready tasks run fastest on small",
        "2 ready tasks run fastest on large",
    ]


def test_machines_held_are_deducted_from_the_budget() -> None:
    stage = Stage(budget=12)
    units = stage.submit(flat(9, ON_SMALL))
    stage.start(units["t0"], stage.rent(1)[0])
    assert asked(stage.scale(plf())) == {"small": 7}


def test_the_plan_counts_on_machines_that_have_just_been_rented() -> None:
    stage = Stage(budget=2)
    stage.submit(flat(4, 20))
    policy = plf()
    stage.scale(policy)
    assert policy.scaler.memory.save() == [[0, 0], [1, 1], [2, 0], [3, 1]]  # type: ignore[attr-defined]


def test_idle_machines_without_a_planned_task_go_at_the_end_of_their_paid_time() -> None:
    stage = Stage(budget=100)
    units = stage.submit(flow(a=Step(90), b=Step(5, "a")))
    busy, _ = stage.rent(0, 2)
    stage.start(units["a"], busy)
    stage.wait(MINUTE - SECOND)
    assert returned(stage.scale(plf())) == []  # paid until the next call
    stage.wait(MINUTE)
    assert returned(stage.scale(plf())) == [1]


def test_a_machine_paid_beyond_the_interval_stays() -> None:
    stage = Stage(budget=100)
    stage.rent(0)
    stage.state.machines[0].paid_until = 3 * MINUTE
    stage.wait(MINUTE)
    assert returned(stage.scale(plf())) == []


def test_the_order_of_workflows_is_drawn_from_the_seed() -> None:
    stage = Stage()
    stage.submit(*(flat(1) for _ in range(20)))
    runs = by_priority(stage.pool)
    assert shuffled(runs, "1/0/0") == shuffled(runs, "1/0/0")
    assert shuffled(runs, "1/0/0") != shuffled(runs, "2/0/0")
    assert sorted(shuffled(runs, "x"), key=lambda run: run.id) == runs


def test_work_that_the_budget_can_never_pay_for_is_put_on_record() -> None:
    gpu = MachineType("gpu", price=9 * UNIT, capabilities=frozenset({"cuda"}))
    stage = Stage(SMALL, gpu, budget=5)
    stage.submit(Workflow("w", (Task("train", "t", Requirement(frozenset({"cuda"}))),), ((),)))
    (action,) = stage.scale(plf())
    assert action.because == "the budget cannot pay for any machine that can run task 'train'"
    assert isinstance(stage.admission.out[-1], Cut)


# The whole


def test_parameters_choose_placer_and_calls() -> None:
    assert isinstance(build("plf", {"placement": "dynamic"}).placer, FirstIdle)
    assert build("plf", {"replan_on_arrival": True}).scaler.on_arrival
    with pytest.raises(PolicyError, match="placement"):
        build("plf", {"placement": "nowhere"})


@given(setting=settings)
def test_never_asks_for_more_than_budget_and_limits_allow(setting: Setting) -> None:
    stage = setting.stage()
    stage.admission.out.clear()
    stage.scale(plf())
    assert never_asks_in_vain(stage)


@given(setting=settings)
def test_equal_views_give_equal_decisions(setting: Setting) -> None:
    first, second = plf(), plf()
    once, again = setting.stage().scale(first), setting.stage().scale(second)
    assert (asked(once), returned(once)) == (asked(again), returned(again))
    assert first.scaler.memory.save() == second.scaler.memory.save()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "parameters", [{}, {"placement": "dynamic"}, {"replan_on_arrival": True}], ids=["plan", "dynamic", "arrival"]
)
@given(setting=settings)
@how(max_examples=20, deadline=None)
def test_all_work_ends_within_the_budget(parameters: dict[str, object], setting: Setting) -> None:
    records = run_to_the_end(setting, build("plf", parameters))
    ended = [record.status for record in records if isinstance(record, Ended)]
    assert ended == ["done"] * len(setting.works)
    assert not any(isinstance(record, Cut | Dropped) for record in records)
    if setting.budget is not None:
        assert max(costliest_interval(records, tenant) for tenant in (0, 1)) <= setting.budget * UNIT
    assert records == run_to_the_end(setting, build("plf", parameters))


def test_all_work_ends_though_machines_vanish() -> None:
    setting = Setting([flat(40, 20, priority=index % 3) for index in range(8)], (0, 0), (0, 0), 0, 20, 12, 0)
    records = run_to_the_end(setting, build("plf"), Faults(machine_loss=20, boot_failure=0.1))
    assert any(isinstance(record, MachineLost) for record in records)
    assert [record.status for record in records if isinstance(record, Ended)] == ["done"] * 8
    assert not any(isinstance(record, Cut) for record in records)
