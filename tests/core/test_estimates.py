"""Learned run times, by hand."""

import json
from typing import Any

import pytest

from tradewind.core import estimates
from tradewind.core.estimates import ENOUGH, GUESS, NEAREST, Learned, quantile_near
from tradewind.core.handle import Core
from tradewind.core.state import State
from tradewind.model.event import MachineReady, Submitted, Timer
from tradewind.model.machine import BootLag, MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND
from tradewind.model.workflow import File, Task, Workflow
from tradewind.policies.registry import build

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
    again.load(json.loads(json.dumps(learned.changes())) | {"pfa": [1, 2]})
    assert again.of(sized(5), QUICK) == 20 * SECOND
    assert again.of(sized(5), SLOW) == 40 * SECOND
    assert again.changes() == {}, "nothing is new"


def test_only_what_is_new_is_saved_again() -> None:
    learned = Learned()
    finish(learned, sized(5), QUICK, 1)
    finish(learned, Task("o", "other"), QUICK, 1)
    assert list(learned.changes()) == ["run times 0", "run times 1"]
    finish(learned, sized(5), QUICK, 2)
    learned.learn_lag(SLOW, SECOND)
    fresh = learned.changes()
    assert list(fresh) == ["boot of slow", "run times 0"]
    assert fresh["run times 0"]["step"] == "step"
    assert fresh["run times 0"]["samples"] == [[5, SECOND], [5, 2 * SECOND]]


def test_names_of_which_nothing_was_heard_for_long_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "MOST", 3)
    learned = Learned()
    saved: dict[str, Any] = {}
    for name, seconds in (("a", 1), ("b", 2), ("c", 3), ("a", 1), ("d", 4), ("d", 4)):
        finish(learned, Task("t", name), SLOW, seconds)
        saved |= learned.changes()
    finish(learned, Task("t", "a"), QUICK, 5)
    saved |= learned.changes()
    assert len(saved) == 3
    again = Learned()
    again.load(dict(sorted(saved.items(), reverse=True)))
    for each in (learned, again):
        assert [each.of(Task("t", name), SLOW) for name in "abcd"] == [SECOND, GUESS, GUESS, 4 * SECOND]
        assert each.of(Task("t", "a"), QUICK) == 5 * SECOND
    finish(again, Task("t", "e"), SLOW, 6)
    assert len(saved | again.changes()) == 3


def test_a_boot_lag_is_as_declared_until_enough_machines_have_come_up() -> None:
    learned = Learned()
    for lag in (50, 70):
        learned.learn_lag(SLOW, lag * SECOND)
        assert learned.lag(SLOW) is None
    learned.learn_lag(SLOW, 60 * SECOND)
    assert learned.lag(SLOW) == 60 * SECOND, "the median"
    assert learned.lag(QUICK) is None
    again = Learned(quantile=0.9)
    again.load(learned.changes())
    assert again.lag(SLOW) == 70 * SECOND


def test_boots_of_long_ago_are_forgotten() -> None:
    learned = Learned()
    for lag in [10] * NEAREST + [90] * NEAREST:
        learned.learn_lag(SLOW, lag * SECOND)
    assert learned.lag(SLOW) == 90 * SECOND


def test_policies_see_the_boot_lag_that_was_learned_and_drivers_rent_what_is_configured() -> None:
    kind = MachineType("m", boot=BootLag(5 * MINUTE, declared=MINUTE), limit=3)
    state = State([kind], [Tenant("default")], MINUTE, 0, Learned())
    core = Core(state, build("fixed", {"machines": 3}))
    assert state.kinds[0].type.boot == BootLag(MINUTE)
    core.handle(Submitted(0, 1, "default", Workflow("w", (Task("t", "t"),), ((),))))
    core.handle(Timer(0, 2))
    assert [machine.expected for machine in state.machines.values()] == [MINUTE] * 3
    for number, at in enumerate((290, 300, 310)):
        assert state.kinds[0].type.boot.mean == MINUTE
        core.handle(MachineReady(at * SECOND, 3 + number, number))
    assert state.kinds[0].type.boot.mean == 5 * MINUTE
    assert state.kinds[0].configured == kind
    assert state.learned is not None
    later = State([kind], [Tenant("default")], MINUTE, 0, Learned())
    later.recall(state.learned.changes())
    assert later.kinds[0].type.boot.mean == 5 * MINUTE
