"""A driver that dies and is started again stands where it stood."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from tradewind.core.state import State
from tradewind.core.work import CANCELLED, DONE, FAILED, declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine, Work, ends_well
from tradewind.live.facts import Reprioritise, Retry, Submit, Suspend, Unsuspend
from tradewind.live.port import Broke, Done, Down, Expected, Order, Report
from tradewind.live.store.memory import MemoryStore
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Retry as Retries
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

MACHINES = (MachineType("m", price=UNIT, limit=2),)
DIAMOND = Workflow(
    "diamond", tuple(Task(name, name, command="true") for name in "abcd"), ((), (0,), (0,), (1, 2)), priority=4
)


class Ruins(FakeEngine):
    """Has lost its machines, but knows how an attempt on one of them has ended."""

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        return [Done(0, 1, 0), *(Down(machine, "it is gone") for machine in expected)]


def driver_over(store: MemoryStore, now: int, work: Work = ends_well) -> tuple[Driver, FakeEngine]:
    state = State(MACHINES, (Tenant("default", 2 * UNIT, MINUTE),), SECOND, 0, declared_time)
    engine = FakeEngine(lambda reports: driver.tell(*reports), work=work)
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


def test_ends_that_a_machine_has_left_count_although_it_is_gone() -> None:
    store = MemoryStore()
    driver, engine = driver_over(store, 1000)
    driver.tell(Submit(DIAMOND, {}))
    driver.turn()
    engine.deliver()
    driver.turn()  # the first unit has started, on machine 0
    state = State(MACHINES, (Tenant("default", 2 * UNIT, MINUTE),), SECOND, 0, declared_time)
    engine = Ruins(lambda _: None)
    again = Driver(state, build("fixed", {"machines": 2}), store, engine, lambda: 2000, Path("runs"))
    again.turn()
    [run] = again.state.runs.values()
    assert run.units[0].state == DONE
    assert run.units[0].lost == 0
    assert {0, 1}.isdisjoint(again.state.machines)


def test_a_suspended_run_is_still_suspended() -> None:
    store = MemoryStore()
    driver, _ = driver_over(store, 1000)
    driver.tell(Submit(DIAMOND, {}))
    driver.turn()
    driver.tell(Suspend(0))
    driver.turn()
    again, _ = driver_over(store, 2000)
    assert again.state.runs[0].is_suspended
    again.tell(Unsuspend(0))
    again.turn()
    third, _ = driver_over(store, 3000)
    assert not third.state.runs[0].is_suspended


def test_a_failed_run_is_tried_again_where_it_failed() -> None:
    store = MemoryStore()
    fails = {"b"}

    def work(order: Order) -> Done | Broke:
        if order.chain in fails:
            return Broke(order.unit, order.attempt, order.machine, "error", "it broke")
        return Done(order.unit, order.attempt, order.machine)

    driver, engine = driver_over(store, 1000, work)
    driver.tell(Submit(DIAMOND, {}))
    live_on(driver, engine)
    [head] = store.runs()
    assert (head.status, head.ended) == ("failed", 1000)
    detail = store.run(head.id)
    assert detail is not None
    assert [unit.state for unit in detail.units] == [DONE, FAILED, DONE, CANCELLED]
    fails.clear()
    driver.tell(Retry(head.id))
    live_on(driver, engine)
    detail = store.run(head.id)
    assert detail is not None
    assert detail.run.status == "done"
    assert [unit.attempt for unit in detail.units] == [1, 2, 1, 1]


def test_failures_by_cause_and_grown_memory_survive() -> None:
    store = MemoryStore()
    machines = (MachineType("m", amounts=(("memory", 800),), limit=1),)
    retries = Retries(attempts=2, by_cause={"memory": 5}, memory_growth=2.0)
    task = Task("a", "a", Requirement(amounts=(("memory", 100),)), retry=retries, command="true")
    asked: list[int | None] = []

    def work(order: Order) -> Broke:
        asked.append(order.memory)
        cause = "memory" if order.attempt < 3 else "error"
        return Broke(order.unit, order.attempt, order.machine, cause, "it broke")

    def begun() -> tuple[Driver, FakeEngine]:
        state = State(machines, (Tenant("default"),), SECOND, 0, declared_time)
        engine = FakeEngine(lambda reports: driver.tell(*reports), work=work)
        driver = Driver(state, build("fixed", {"machines": 1}), store, engine, lambda: 1000, Path("runs"))
        return driver, engine

    driver, engine = begun()
    driver.tell(Submit(Workflow("w", (task,), ((),)), {}))
    while len(asked) < 3:
        driver.turn()
        engine.deliver()
    driver.turn()  # the third failure is recorded
    [unit] = driver.state.units.values()
    again, _ = begun()
    [restored] = again.state.units.values()
    assert restored.failures == unit.failures == {"memory": 2, "error": 1}
    assert restored.need.requirement == unit.need.requirement == Requirement(amounts=(("memory", 400),))
    assert asked == [100, 200, 400]


def test_chance_goes_on_where_it_was() -> None:
    store, now = MemoryStore(), 0

    def begun() -> Driver:
        tenants = (Tenant("default"), Tenant("other"))
        state = State(MACHINES, tenants, SECOND, 0, declared_time)
        return Driver(state, build("demand", {}), store, FakeEngine(lambda _: None), lambda: now, Path("runs"))

    driver = begun()
    fresh = driver.state.rng.getstate()
    driver.tell(Submit(DIAMOND, {}))
    for priority in range(5):  # so that there is something to save each time
        driver.tell(Reprioritise(0, priority))
        driver.turn()  # draws which tenant is served first
        now += 6 * SECOND
    assert begun().state.rng.getstate() == driver.state.rng.getstate() != fresh


def test_policies_remember() -> None:
    store = MemoryStore()
    state = State(MACHINES, (Tenant("default", 2 * UNIT, MINUTE),), SECOND, 0, declared_time)
    engine = FakeEngine(lambda reports: driver.tell(*reports))
    driver = Driver(state, build("pfa", {}), store, engine, count(0, 6 * SECOND).__next__, Path("runs"))
    driver.tell(Submit(DIAMOND, {}))
    live_on(driver, engine)
    saved = store.load().memories
    assert "default" in saved["pfa"]
    policy = build("pfa", {})
    Driver(State(MACHINES, (Tenant("default"),), SECOND, 0, declared_time), policy, store, engine, lambda: 9, Path())
    assert policy.memory is not None
    assert policy.memory.save() == saved["pfa"]


def test_machines_of_a_type_that_is_gone_are_given_up() -> None:
    store = MemoryStore()
    driver, engine = driver_over(store, 1000)
    driver.tell(Submit(DIAMOND, {}))
    driver.turn()
    engine.deliver()
    other = (MachineType("other", limit=2),)
    state = State(other, (Tenant("default"),), SECOND, 0, declared_time)
    again = Driver(state, build("fixed", {"machines": 1}), store, engine, lambda: 2000, Path("runs"))
    again.turn()
    assert {machine.kind for machine in store.load().machines} == {"other"}
    assert {type.name for type in engine.machines.values()} == {"other"}, "the engine has ended them"
    assert not again.stranded


def test_attempts_on_machines_of_a_type_that_is_gone_are_recorded_as_lost() -> None:
    store = MemoryStore()
    driver, engine = driver_over(store, 1000)
    driver.tell(Submit(DIAMOND, {}))
    driver.turn()
    engine.deliver()
    driver.turn()  # the first unit has started
    for now in (2000, 3000):  # once, however often it is started again
        state = State((MachineType("other", limit=2),), (Tenant("default"),), SECOND, 0, declared_time)
        engine = FakeEngine(lambda reports: again.tell(*reports))  # noqa: B023 - called in this round only
        again = Driver(state, build("fixed", {"machines": 1}), store, engine, lambda: now, Path("runs"))  # noqa: B023
        again.turn()
    live_on(again, engine)
    [head] = store.runs()
    detail = store.run(head.id)
    assert detail is not None
    first = [(each.attempt, each.outcome, each.reason) for each in detail.attempts if each.unit == 0]
    assert first == [(1, "lost", "its type is no longer declared"), (2, "done", "")]


def test_runs_that_nobody_can_run_any_more_are_named() -> None:
    store = MemoryStore()
    needs = Workflow("w", (Task("a", "a", Requirement(frozenset({"gpu"})), command="true"),), ((),))
    gpu = (MachineType("g", capabilities=frozenset({"gpu"})),)
    state = State(gpu, (Tenant("default"),), SECOND, 0, declared_time)
    engine = FakeEngine(lambda _: None)
    driver = Driver(state, build("fixed", {"machines": 1}), store, engine, lambda: 1000, Path("runs"))
    driver.tell(Submit(needs, {}))
    driver.turn()
    again, _ = driver_over(store, 2000)
    assert "gpu" in again.stranded[0]


def live_on(driver: Driver, engine: FakeEngine) -> None:
    for _ in range(30):
        driver.turn()
        engine.deliver()
