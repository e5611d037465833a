"""Workflows are acyclic by construction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.units import SECOND
from tradewind.model.workflow import CycleError, Retry, Task, Workflow, arrange, edges


def tasks(count: int) -> list[Task]:
    return [Task(f"t{at}", "t") for at in range(count)]


@given(st.data())
def test_arrange_puts_every_task_after_its_parents(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 12))
    shuffled = data.draw(st.permutations(range(count)))
    parents: list[list[int]] = [[] for _ in range(count)]
    for at in range(count):
        if at:
            earlier = data.draw(st.lists(st.integers(0, at - 1), max_size=3))
            parents[shuffled[at]] = [shuffled[parent] for parent in earlier]
    workflow = arrange("w", tasks(count), parents)
    place = {task.id: at for at, task in enumerate(workflow.tasks)}
    wanted = {(f"t{parent}", f"t{child}") for child, row in enumerate(parents) for parent in row}
    assert {(workflow.tasks[one].id, workflow.tasks[other].id) for one, other in edges(workflow)} == wanted
    assert all(place[one] < place[other] for one, other in wanted)
    assert len(place) == count


def test_arrange_keeps_an_order_that_will_do() -> None:
    workflow = arrange("w", tasks(4), [[], [], [1, 1], [0]])
    assert [task.id for task in workflow.tasks] == ["t0", "t1", "t2", "t3"]
    assert workflow.parents == ((), (), (1,), (0,))


def test_arrange_names_the_cycle() -> None:
    with pytest.raises(CycleError) as caught:
        arrange("w", tasks(4), [[], [3, 0], [1], [2]])
    assert set(caught.value.cycle) == {"t1", "t2", "t3"}
    assert "tasks wait for each other: " in str(caught.value)


def test_a_long_cycle_is_told_in_part() -> None:
    with pytest.raises(CycleError) as caught:
        arrange("w", tasks(100), [[(at - 1) % 100] for at in range(100)])
    assert len(caught.value.cycle) == 100
    assert "…" in str(caught.value)


@pytest.mark.parametrize("parents", [((), (1,)), ((), (2,)), ((), (-1,)), ((),)])
def test_a_workflow_refuses_parents_that_do_not_come_before(parents: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError, match=r"comes before|one tuple of parents"):
        Workflow("w", tuple(tasks(2)), parents)


def test_levels_and_children() -> None:
    workflow = arrange("w", tasks(4), [[], [0], [0], [1, 2]])
    assert workflow.levels() == [0, 1, 1, 2]
    assert workflow.children() == [[1, 2], [3], [3], []]


def test_pauses_grow_up_to_the_longest() -> None:
    retry = Retry(attempts=5, delay=SECOND, factor=3.0, max_delay=5 * SECOND)
    assert [retry.pause_after(failures) for failures in (1, 2, 3, 10_000)] == [
        SECOND,
        3 * SECOND,
        5 * SECOND,
        5 * SECOND,
    ]
    assert Retry().pause_after(3) == 0


def test_a_cause_may_have_a_limit_of_its_own() -> None:
    retry = Retry(attempts=2, by_cause={"memory": 3})
    assert retry.allows("memory", {"memory": 2, "error": 5})
    assert not retry.allows("memory", {"memory": 3})
    assert retry.allows("error", {"error": 1, "memory": 9})
    assert not retry.allows("error", {"error": 1, "timeout": 1})
