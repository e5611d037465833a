"""Deadline assignment, by hand and against an exhaustive check."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.policies.deadline.assign import assign, ladder
from tradewind.policies.deadline.bundle import cost
from tradewind.policies.deadline.network import Network
from tradewind.policies.deadline.shape import NEVER, Shape

PRICES = (1.0, 4.0)


def test_a_long_deadline_takes_the_cheapest_types_and_puts_siblings_into_a_sequence() -> None:
    fan = Shape(((30, 10),) * 4, ((), (0,), (0,), (1, 2)))
    plan = assign(fan, PRICES, 120)
    assert plan.kinds == (0, 0, 0, 0)
    assert plan.makespan == 120, "the two siblings run one after the other"
    assert plan.parents == ((), (0,), (0, 1), (1, 2))
    assert assign(fan, PRICES, 119).makespan == 90, "a moment less, and they run beside each other"


def test_the_task_that_saves_most_for_its_cost_is_upgraded_first() -> None:
    chain = Shape(((30, 10), (60, 16)), ((), (0,)))  # saves 20 for 10, or 44 for 4
    plan = assign(chain, PRICES, 60)
    assert plan.kinds == (0, 1)
    assert plan.makespan == 46
    assert assign(chain, PRICES, 30).kinds == (1, 1)


def test_a_bundle_is_opened_where_only_a_part_has_to_be_faster() -> None:
    chain = Shape(((30, 10), (60, 16)), ((), (0,)))
    assert assign(chain, PRICES, 100).bundles == ((0, 1),)
    plan = assign(chain, PRICES, 60)
    assert plan.bundles == ((0,), (1,))
    assert plan.cost == pytest.approx(cost(30, 1.0) + cost(16, 4.0))


def test_equal_longest_ways_are_shortened_one_after_the_other() -> None:
    fan = Shape(((30, 10),) * 2, ((), ()))
    plan = assign(fan, PRICES, 10)
    assert plan.is_feasible
    assert plan.kinds == (1, 1)


def test_an_upgrade_that_costs_less_comes_first() -> None:
    shape = Shape(((40, 30, 10),), ((),))  # costs 40, 90 and 30: the way to the cheapest leads over a dear one
    assert assign(shape, (1.0, 3.0, 3.0), 100).kinds == (2,)


def test_what_cannot_be_in_time_runs_on_its_fastest_types() -> None:
    chain = Shape(((30, 10), (60, 16)), ((), (0,)))
    plan = assign(chain, PRICES, 25)
    assert not plan.is_feasible
    assert plan.kinds == (1, 1)
    assert plan.makespan == 26


def test_the_ladder_leads_from_each_type_to_the_next_faster() -> None:
    assert ladder((40, 20, 30, NEVER)) == {0: 2, 2: 1}
    assert ladder((20, 20)) == {}


def test_the_longest_way_without_a_task() -> None:
    network = Network([5, 10, 8, 1], [(), (0,), (0,), (1, 2)])
    assert network.makespan == 16
    assert network.critical() == [0, 1, 3]
    assert network.decisive([0, 1, 3]) == [0, 1, 3]
    assert network.without([0, 1, 3], 0) == {0: 0, 1: 14, 3: 0}
    assert network.without([1], 15) == {1: 15}, "no more is asked than the bound"


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    count = draw(st.integers(1, 5))
    times = tuple(draw(st.tuples(*[st.integers(1, 60)] * 3)) for _ in range(count))
    parents = tuple(tuple(sorted(draw(st.sets(st.integers(0, i - 1), max_size=2)))) if i else () for i in range(count))
    return Shape(times, parents)


@settings(max_examples=60, deadline=None)
@given(shape=shapes(), share=st.floats(0.8, 3.0))
def test_a_plan_is_in_time_whenever_one_can_be(shape: Shape, share: float) -> None:
    prices = (1.0, 3.0, 7.0)
    deadline = round(shape.tightest * share)
    plan = assign(shape, prices, deadline)
    possible = [
        sum(cost(shape.times[t][k], prices[k]) for t, k in enumerate(kinds))
        for kinds in product(range(3), repeat=len(shape.times))
        if Network([shape.times[t][k] for t, k in enumerate(kinds)], shape.parents).makespan <= deadline
    ]
    assert plan.is_feasible == bool(possible)
    if possible:
        assert plan.makespan <= deadline
        assert min(possible) <= plan.cost + 1e-9


@settings(max_examples=40, deadline=None)
@given(shape=shapes())
def test_the_longest_way_without_a_task_is_what_is_left_of_the_network(shape: Shape) -> None:
    times = [row[0] for row in shape.times]
    network = Network(times, shape.parents)
    for task in range(len(times)):
        without = network.without([task], 0)[task]
        assert without == longest_avoiding(times, shape.parents, task)


def longest_avoiding(times: list[int], parents: tuple[tuple[int, ...], ...], task: int) -> int:
    ends: dict[int, int] = {}
    for place, row in enumerate(parents):
        if place == task:
            continue
        before = [ends[parent] for parent in row if parent in ends]
        if before or not row:
            ends[place] = times[place] + max(before, default=0)
    children = {parent for place, row in enumerate(parents) for parent in row}
    return max((end for place, end in ends.items() if place not in children), default=0)
