"""Clocks that are set while work runs, and between two lives of a control plane."""

from itertools import pairwise
from pathlib import Path

import pytest
from faults_rig import Story, live, once, wait

from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Submit
from tradewind.live.loop import wall_clock
from tradewind.live.store.memory import MemoryStore
from tradewind.model.machine import Billing, MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, UNIT, Duration, Time
from tradewind.model.workflow import Retry, Task, Workflow
from tradewind.policies.registry import build

THREE = Workflow("three", tuple(Task(f"t{n}", "t", command="true") for n in range(3)), ((), (0,), (0,)))


class Clock:
    """Shows the time, and can be set."""

    def __init__(self, begin: Time | None = None) -> None:
        self.begin = begin
        self.offset: Duration = 0

    def __call__(self) -> Time:
        return (wall_clock() if self.begin is None else self.begin) + self.offset


@pytest.mark.parametrize("jump", [HOUR, -HOUR], ids=["forward", "back"])
def test_work_goes_on_when_the_clock_jumps(tmp_path: Path, jump: Duration) -> None:
    """A failure that is to be tried again after a pause, which must not become an hour."""
    clock = Clock()

    def set_clock(story: Story) -> None:
        wait(lambda: story.has_said("t0", "up"))
        clock.offset += jump
        (tmp_path / "go").touch()

    flaky = f"echo up; while ! test -e {tmp_path}/go; do sleep 0.02; done; test $TRADEWIND_ATTEMPT -gt 1"
    story = live(
        tmp_path,
        [flaky, "true", "true"],
        set_clock,
        after=True,
        retry=Retry(attempts=2, delay=SECOND // 5),
        clock=clock,
    )
    once(story)
    assert story.attempts == [("t0", 1, "error"), ("t0", 2, "done"), ("t1", 1, "done"), ("t2", 1, "done")]
    assert story.detail is not None
    assert all((row.ended or 0) >= row.started for row in story.detail.attempts), "no attempt ends before it began"


def a_driver(store: MemoryStore, clock: Clock, engine: FakeEngine, folder: Path) -> Driver:
    machine = MachineType("small", price=UNIT, billing=Billing(MINUTE), limit=2)
    state = State((machine,), (Tenant("default", UNIT, MINUTE),), SECOND, 0, declared_time)
    return Driver(state, build("demand", {}), store, engine, clock, folder)


def test_a_clock_set_back_between_two_lives_neither_stops_nor_repeats_anything(tmp_path: Path) -> None:
    """The budget pays for one machine a minute: its charge must not count as made in an hour."""
    store, clock = MemoryStore(), Clock(HOUR * 1000)
    engine = FakeEngine(lambda reports: driver.tell(*reports))
    driver = a_driver(store, clock, engine, tmp_path)
    driver.tell(Submit(THREE, {}))
    driver.turn()
    while not any(unit.attempt for unit in driver.state.units.values()):
        engine.deliver()
        clock.offset += SECOND
        driver.turn()
    before = driver.now()
    clock.offset -= HOUR
    began = clock.offset
    again = FakeEngine(lambda reports: resumed.tell(*reports))
    resumed = a_driver(store, clock, again, tmp_path)
    assert before - SECOND <= resumed.now() <= before, "time goes on where it was saved last"
    for _ in range(200):
        resumed.turn()
        again.deliver()
        clock.offset += SECOND
        if resumed.ended:
            break
    assert clock.offset - began < 2 * MINUTE
    (head,) = store.runs()
    assert head.status == "done"
    detail = store.run(head.id)
    assert detail is not None
    assert sorted(row.unit for row in detail.attempts if row.outcome == "done") == [0, 1, 2]


def test_a_clock_set_forward_does_not_overrun_the_budget(tmp_path: Path) -> None:
    """A machine held over an hour that never passed is paid for as any other: within the budget, or not at all."""
    store, clock = MemoryStore(), Clock(HOUR * 1000)
    engine = FakeEngine(lambda reports: driver.tell(*reports))
    driver = a_driver(store, clock, engine, tmp_path)
    driver.tell(Submit(THREE, {}))
    for _ in range(200):
        driver.turn()
        engine.deliver()
        clock.offset += HOUR
        if driver.ended:
            break
    assert driver.ended == {0: "done"}
    saved = store.load(charges_since=0)
    times = sorted(charge.at for charge in saved.charges if not charge.refund)
    assert times, "machines were paid for"
    assert all(later - earlier >= MINUTE for earlier, later in pairwise(times))
