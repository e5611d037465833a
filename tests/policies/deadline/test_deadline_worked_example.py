"""The worked example of docs/policies/scs.md, step by step."""

import pytest

from tradewind.model.units import MINUTE
from tradewind.policies.deadline.assign import assign
from tradewind.policies.deadline.bundle import bundles_of, cost
from tradewind.policies.deadline.load import LoadVector, density
from tradewind.policies.deadline.shape import Shape
from tradewind.policies.deadline.windows import task_windows

SMALL, BIG = 1.0, 4.0
JOB = Shape(((30 * MINUTE, 10 * MINUTE), (60 * MINUTE, 16 * MINUTE)), ((), (0,)))


def test_both_tasks_prefer_small_and_become_a_bundle() -> None:
    assert bundles_of(JOB, (SMALL, BIG)) == ((0, 1),)
    assert cost(90 * MINUTE, SMALL) == 1.5


def test_within_an_hour_the_second_task_moves_to_big_and_the_bundle_is_opened() -> None:
    plan = assign(JOB, (SMALL, BIG), 60 * MINUTE)
    assert plan.bundles == ((0,), (1,))
    assert plan.kinds == (0, 1)
    assert plan.makespan == 46 * MINUTE
    assert plan.cost == pytest.approx(94 / 60)
    assert cost(26 * MINUTE, BIG) == pytest.approx(104 / 60), "what the whole bundle on big would cost"


def test_slack_is_spread_and_each_type_needs_one_machine() -> None:
    plan = assign(JOB, (SMALL, BIG), 60 * MINUTE)
    first, second = task_windows(plan, JOB.times, 60 * MINUTE)
    assert (first.begin, second.end) == (0, 60 * MINUTE)
    assert first.end == second.begin == pytest.approx(39.13 * MINUTE, rel=0.001)
    load = LoadVector()
    load.add(*second, density(16 * MINUTE, *second))
    assert load.peak(0, 60 * MINUTE) == pytest.approx(0.77, abs=0.005)
    assert load.machines(0, 30 * MINUTE) == 0
    assert load.machines(0, 60 * MINUTE) == 1
