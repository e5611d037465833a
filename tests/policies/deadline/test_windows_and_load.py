"""Windows, load vectors, consolidation and placing ahead, by hand."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.units import MINUTE
from tradewind.policies.deadline.ahead import Ahead, lacking
from tradewind.policies.deadline.assign import assign
from tradewind.policies.deadline.consolidate import consolidate
from tradewind.policies.deadline.job import Wanted
from tradewind.policies.deadline.load import LoadVector, density
from tradewind.policies.deadline.shape import Shape
from tradewind.policies.deadline.windows import Window, spread, task_windows


def test_slack_is_spread_in_proportion_to_time() -> None:
    assert spread([10, 30], [(), (0,)], 80) == (Window(0, 20), Window(20, 80))


def test_a_task_on_a_shorter_way_gets_what_that_leaves() -> None:
    windows = spread([10, 30, 10, 10], [(), (0,), (0,), (1, 2)], 100)
    assert windows == (Window(0, 20), Window(20, 80), Window(20, 80), Window(80, 100))


def test_a_bundle_is_divided_among_its_parts() -> None:
    shape = Shape(((10, 99), (30, 99)), ((), (0,)))
    plan = assign(shape, (1.0, 1.0), 80)
    assert plan.bundles == ((0, 1),)
    assert task_windows(plan, shape.times, 80) == (Window(0, 20), Window(20, 80))


@given(times=st.lists(st.integers(1, 50), min_size=1, max_size=6), slack=st.floats(1.0, 4.0), data=st.data())
def test_every_window_holds_its_task_and_lies_behind_those_of_its_parents(
    times: list[int], slack: float, data: st.DataObject
) -> None:
    parents = [
        tuple(sorted(data.draw(st.sets(st.integers(0, i - 1), max_size=2)))) if i else () for i in range(len(times))
    ]
    shape = Shape(tuple((t,) for t in times), tuple(parents))
    available = round(shape.tightest * slack)
    for task, window in enumerate(spread(times, parents, available)):
        assert window.end - window.begin >= times[task] - 1
        assert window.end <= available
        assert all(window.begin >= spread(times, parents, available)[parent].end for parent in parents[task])


def test_the_example_of_figure_5() -> None:
    """A task of 15 minutes between 3:00 and 4:00 and one between 3:15 and 3:45 need one machine together."""
    load = LoadVector()
    load.add(0, 60, density(15, 0, 60))
    load.add(15, 45, density(15, 15, 45))
    assert load.changes == {0: 0.25, 15: 0.5, 45: -0.5, 60: -0.25}
    assert load.peak(0, 60) == pytest.approx(0.75)
    assert load.machines(0, 60) == 1
    load.add(20, 40, density(10, 20, 40))
    assert load.machines(0, 60) == 2
    assert load.machines(45, 60) == 1
    assert load.machines(0, 60, slots=2) == 1


def test_what_is_removed_leaves_nothing() -> None:
    load = LoadVector()
    load.add(0, 10, 1.0)
    load.remove(0, 10, 1.0)
    assert load.machines(0, 10) == 0


def test_a_ratio_above_one_cannot_be_in_time() -> None:
    assert density(20, 0, 10) == 2.0
    assert density(1, 5, 5) == float("inf")


def wanted(number: int, kind: int, begin: int, due: int, *times: int) -> Wanted:
    unit: Any = SimpleNamespace(id=number)
    return Wanted(unit, kind, begin, due, times[kind], times, None, (1.0,) * len(times))


def loads_of(queues: list[list[Wanted]]) -> list[LoadVector]:
    loads = []
    for queue in queues:
        load = LoadVector()
        for each in queue:
            load.add(each.begin, each.due, density(each.time, each.begin, each.due))
        loads.append(load)
    return loads


def test_the_first_task_of_a_short_type_moves_to_spare_paid_time() -> None:
    """Figure 6: one machine of type 0 is held and half used; a task meant for type 1 fits beside it."""
    queues = [[wanted(1, 0, 0, 60, 30, 5)], [wanted(2, 1, 0, 60, 25, 4)]]
    loads = loads_of(queues)
    moves = consolidate(queues, loads, machines=[1, 0], slots=[1, 1], now=0, until=60)
    assert [(task.unit.id, kind) for task, kind in moves] == [(2, 0)]
    assert loads[0].machines(0, 60) == 1
    assert loads[1].machines(0, 60) == 0


def test_nothing_moves_where_it_would_be_late_or_need_another_machine() -> None:
    late = [[], [wanted(2, 1, 0, 60, 61, 4)]]
    assert consolidate(late, loads_of(late), [1, 0], [1, 1], 0, 60) == []
    full = [[wanted(1, 0, 0, 60, 40, 5)], [wanted(2, 1, 0, 60, 25, 4)]]
    assert consolidate(full, loads_of(full), [1, 0], [1, 1], 0, 60) == []


def test_only_as_much_moves_as_is_short() -> None:
    queues = [[], [wanted(1, 1, 0, 60, 20, 40), wanted(2, 1, 0, 60, 20, 40), wanted(3, 1, 0, 60, 20, 10)]]
    moves = consolidate(queues, loads_of(queues), [1, 1], [1, 1], 0, 60)
    assert [task.unit.id for task, _ in moves] == [1]


def test_placing_ahead_finds_what_densities_hide() -> None:
    """Three tasks of 20 minutes in an hour are a load of one, but two must start at once to end within 20."""
    tasks = [Ahead(20, 0, 20), Ahead(20, 0, 20), Ahead(60, 0, 20)]
    assert lacking([0], tasks, 0) == 1
    assert lacking([0, 0], tasks, 0) == 0


def test_a_new_machine_is_not_asked_for_where_it_would_be_later_still() -> None:
    assert lacking([10 * MINUTE], [Ahead(15 * MINUTE, 0, 10 * MINUTE)], 12 * MINUTE) == 0
    assert lacking([10 * MINUTE], [Ahead(15 * MINUTE, 0, 10 * MINUTE)], 6 * MINUTE) == 1
    assert lacking([], [Ahead(15, 0, 10)], 6) == 1
