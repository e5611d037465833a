"""What may be acted on before it is saved, and that it is saved soon after."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tradewind.core.state import State
from tradewind.core.work import DONE, READY, declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Submit
from tradewind.live.lingering import LONGEST
from tradewind.live.loop import Loop
from tradewind.live.port import Broke, Done, Order
from tradewind.live.store.errors import StoreUnavailableError
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.port import Changes, Lease
from tradewind.live.turns import Turns
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

WORK = Workflow("work", tuple(Task(f"t{index}", "t", command="true") for index in range(6)), ((),) * 6)


class Local(FakeEngine):
    """An engine whose attempts die with it."""

    ends_with_us = True
    began: list[int]

    def start(self, orders: Sequence[Order]) -> None:
        self.began = [*getattr(self, "began", []), *(order.unit for order in orders)]

    def end(self, unit: int) -> None:
        self._report(Done(unit, 1, 0))

    def fail(self, unit: int) -> None:
        self._report(Broke(unit, 1, 0, "error", "it broke"))


class Away(MemoryStore):
    """A store that is away at times."""

    away = False

    def save(self, changes: Changes, lease: Lease | None = None) -> None:
        if self.away:
            raise StoreUnavailableError("away")
        super().save(changes, lease)


class Story:
    """A driver over one machine of two slots, and a clock."""

    def __init__(self, store: Away | None = None, engine: type[Local] = Local, lease: Lease | None = None) -> None:
        self.now = 1000
        self.store = store or Away()
        state = State((MachineType("m", slots=2, limit=1),), (Tenant("default"),), SECOND, 0, declared_time)
        self.engine = engine(lambda reports: self.driver.tell(*reports))
        policy = build("fixed", {"machines": 1})
        self.driver = Driver(state, policy, self.store, self.engine, lambda: self.now, Path("runs"), lease=lease)

    def begin(self) -> None:
        self.driver.tell(Submit(WORK, {}))
        self.driver.turn()
        self.turn()

    def turn(self) -> None:
        self.engine.deliver()
        self.driver.turn()

    def states(self) -> list[int]:
        """How units stand in the store."""
        return [unit.state for unit in self.store.load().units]


def test_good_ends_share_a_commit_and_what_follows_starts_at_once() -> None:
    story = Story()
    story.begin()
    saves = story.store.saves
    for unit in range(3):
        story.engine.end(unit)
        story.turn()
        assert story.engine.began == list(range(unit + 3))
    assert story.store.saves == saves
    assert DONE not in story.states()
    assert story.driver.due == story.now + LONGEST
    story.now += LONGEST
    story.turn()
    assert story.store.saves == saves + 1
    assert story.states().count(DONE) == 3


def test_an_end_that_comes_alone_is_saved_before_anybody_acts_on_it() -> None:
    story = Story()
    story.begin()
    story.now += LONGEST
    story.store.away = True
    story.engine.end(0)
    with pytest.raises(StoreUnavailableError):
        story.turn()
    assert story.engine.began == [0, 1]
    story.store.away = False
    story.turn()
    assert story.engine.began == [0, 1, 2]


def test_a_turn_that_comes_too_late_acts_and_then_saves() -> None:
    story = Story()
    story.begin()
    story.engine.end(0)
    story.turn()
    story.now += LONGEST
    story.engine.end(1)
    story.turn()
    assert story.engine.began == [0, 1, 2, 3]
    assert story.states().count(DONE) == 2


def test_a_failure_is_saved_before_anybody_acts_on_it() -> None:
    story = Story()
    story.begin()
    story.engine.end(0)
    story.turn()
    story.engine.fail(1)
    story.turn()
    detail = story.store.run(story.store.runs()[0].id)
    assert detail is not None
    assert [attempt.outcome for attempt in detail.attempts][:2] == ["done", "error"]


def test_the_end_of_a_run_is_saved_at_once() -> None:
    story = Story()
    story.begin()
    for unit in range(6):
        story.engine.end(unit)
        story.turn()
    assert [run.status for run in story.store.runs()] == ["done"]


def test_what_a_crash_forgets_starts_again_under_the_same_number() -> None:
    story = Story()
    story.begin()
    story.engine.end(0)
    story.turn()  # 0 is done and 2 has begun, but the store knows of neither
    again = Story(story.store)
    again.turn()
    [run] = again.driver.state.runs.values()
    assert [unit.attempt for unit in run.units] == [1, 1, 0, 0, 0, 0]
    assert run.units[2].state == READY
    again.engine.deliver()
    again.driver.tell(Done(2, 1, 0))  # nobody reports what died with us, but if somebody did
    again.driver.turn()
    assert run.units[2].state != DONE


def test_nothing_more_happens_while_the_store_is_away() -> None:
    story = Story()
    story.begin()
    story.engine.end(0)
    story.turn()
    story.store.away = True
    story.now += LONGEST
    for unit in (1, 2):
        story.engine.end(unit)
        with pytest.raises(StoreUnavailableError):
            story.turn()
    assert story.engine.began == [0, 1, 2, 3]
    story.store.away = False
    story.turn()
    assert story.states().count(DONE) == 2
    story.turn()
    assert story.engine.began == [0, 1, 2, 3, 4]


def test_who_holds_a_lease_waits_for_the_store() -> None:
    store = Away()
    lease = store.take_lease("runs", "me", 10**18, 0)
    story = Story(store, lease=lease)
    story.begin()
    story.engine.end(0)
    story.turn()
    assert story.states().count(DONE) == 1


def test_all_is_saved_when_the_loop_ends() -> None:
    story = Story()
    story.begin()
    story.engine.end(0)

    async def until_first() -> None:
        loop = Loop()
        await loop.run(story.driver, lambda: len(story.engine.began) > 2)

    story.engine.deliver()
    asyncio.run(until_first())
    assert story.states().count(DONE) == 1


def test_what_goes_wrong_in_a_turn_ends_the_loop() -> None:
    story = Story()

    async def break_down() -> None:
        loop = Loop()
        running = asyncio.create_task(loop.run(story.driver, lambda: False))
        await asyncio.sleep(0.01)
        story.driver.turn = lambda: 1 // 0  # type: ignore[method-assign, assignment]
        loop.hear([])
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(running, 5)

    asyncio.run(break_down())


def test_whoever_waits_for_turns_is_told_of_those_that_a_report_brings() -> None:
    story = Story()
    told: list[str] = []

    async def one_report() -> None:
        turns = Turns(told.append, lambda: told.append("handled"), lambda: told.append("turn"), lambda *_: None)
        is_over = False
        running = asyncio.create_task(turns.run(story.driver, lambda: is_over))
        await asyncio.sleep(0.01)
        told.clear()
        turns.hear([])
        await asyncio.sleep(0.01)
        is_over = True
        turns.wake()
        await asyncio.wait_for(running, 5)

    asyncio.run(one_report())
    assert told[:2] == ["handled", "turn"]
