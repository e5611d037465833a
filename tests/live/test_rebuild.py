"""A driver that dies and is started again stands where it stood."""

from pathlib import Path

import pytest

from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver, Submit
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.port import Done
from tradewind.live.store.memory import MemoryStore
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

MACHINES = (MachineType("m", price=UNIT, limit=2),)
DIAMOND = Workflow(
    "diamond", tuple(Task(name, name, command="true") for name in "abcd"), ((), (0,), (0,), (1, 2)), priority=4
)


def driver_over(store: MemoryStore, now: int) -> tuple[Driver, FakeEngine]:
    state = State(MACHINES, (Tenant("default", 2 * UNIT, MINUTE),), SECOND, 0, declared_time)
    engine = FakeEngine(lambda reports: driver.tell(*reports))
    driver = Driver(state, build("fixed", {"machines": 2}), store, engine, lambda: now, Path("runs"))
    return driver, engine


@pytest.mark.parametrize("keeps_going", [False, True])
def test_what_was_done_stays_done_and_the_rest_is_known(keeps_going: bool) -> None:
    store = MemoryStore()
    driver, engine = driver_over(store, 1000)
    driver.tell(Submit(DIAMOND, {}, keeps_going=keeps_going))
    driver.turn()
    engine.deliver()  # machines come up
    driver.turn()
    engine.deliver()  # a is done
    driver.turn()
    again, _ = driver_over(store, 2000)
    [run] = again.state.runs.values()
    assert (run.name, run.priority, run.keeps_going) == ("diamond", 4, keeps_going)
    assert [unit.is_ended for unit in run.units] == [True, False, False, False]
    assert [unit.waits for unit in run.units] == [0, 0, 0, 2]
    assert again.state.all_pools[0].account.available(2000) == 0, "both machines are still paid for"
    again.turn()  # the machines are reported lost, and what ran on them is ready again
    assert not again.state.machines
    assert [unit.lost for unit in run.units] == [0, 1, 1, 0]


def test_a_report_from_before_the_crash_counts_for_nothing() -> None:
    store = MemoryStore()
    driver, engine = driver_over(store, 1000)
    driver.tell(Submit(DIAMOND, {}))
    driver.turn()
    engine.deliver()
    driver.turn()
    again, engine = driver_over(store, 2000)
    again.turn()
    again.tell(Done(0, 1, 0))
    again.turn()
    [run] = again.state.runs.values()
    assert not run.units[0].is_ended
