"""Learned run times, by hand."""

from typing import Any

import pytest

from tradewind.core.estimates import ENOUGH, GUESS, Learned, quantile_near
from tradewind.model.machine import MachineType
from tradewind.model.units import MINUTE, SECOND
from tradewind.model.workflow import File, Task

SLOW, QUICK = MachineType("slow"), MachineType("quick", speed=2.0)


class Thing:
    """Stands for a unit or a kind."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__ |= fields


def finish(learned: Learned, task: Task, type: MachineType, seconds: int) -> None:
    unit: Any = Thing(task=task)
    kind: Any = Thing(type=type)
    learned.learn(unit, kind, seconds * SECOND)


def sized(size: int, runtime: int | None = None) -> Task:
    return Task("t", "step", runtime=runtime, inputs=(File("f", size),))


def test_a_step_never_seen_is_guessed_with_one_warning() -> None:
    warnings: list[str] = []
    learned = Learned(warn=warnings.append)
    assert learned.of(Task("a", "step"), SLOW) == GUESS == MINUTE
    assert learned.of(Task("b", "step"), QUICK) == GUESS // 2
    assert len(warnings) == 1
    assert "'step'" in warnings[0]


def test_what_is_declared_counts_until_enough_has_finished() -> None:
    learned = Learned()
    task = sized(1, runtime=100 * SECOND)
    for _ in range(ENOUGH - 1):
        finish(learned, task, SLOW, 10)
        assert learned.of(task, SLOW) == 100 * SECOND
    finish(learned, task, SLOW, 10)
    assert learned.of(task, SLOW) == 10 * SECOND
    assert learned.of(task, QUICK) == 50 * SECOND, "nothing has finished there"


def test_one_finished_task_is_better_than_a_guess_also_on_another_type() -> None:
    learned = Learned()
    finish(learned, sized(1), SLOW, 30)
    assert learned.of(sized(1), SLOW) == 30 * SECOND
    assert learned.of(sized(1), QUICK) == 15 * SECOND


def test_tasks_with_inputs_of_like_size_are_asked() -> None:
    learned = Learned()
    for _ in range(25):
        finish(learned, sized(1_000), SLOW, 10)
        finish(learned, sized(1_000_000), SLOW, 500)
    assert learned.of(sized(2_000), SLOW) == 10 * SECOND
    assert learned.of(sized(700_000), SLOW) == 500 * SECOND


@pytest.mark.parametrize(("share", "answer"), [(0.0, 1), (0.5, 3), (0.9, 5), (1.0, 5)])
def test_quantiles(share: float, answer: int) -> None:
    assert quantile_near([(0, time) for time in (5, 3, 1, 4, 2)], 0, share) == answer


def test_what_was_learned_is_saved_and_loaded() -> None:
    learned = Learned()
    for seconds in (10, 20, 30):
        finish(learned, sized(5), QUICK, seconds)
    again = Learned()
    again.load(learned.save())
    assert again.of(sized(5), QUICK) == 20 * SECOND
    assert again.of(sized(5), SLOW) == 40 * SECOND
