"""Preemptions and several attempts at once, for real: what is written of them, and what a restart finds again."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tradewind.client.shapes import plain_task, running_attempts
from tradewind.core.state import State
from tradewind.core.work import DONE, READY, RUNNING, declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine, Faults
from tradewind.live.facts import Close, Submit
from tradewind.live.port import Done, Down, Order, Resized
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.open import open_store
from tradewind.live.store.port import RunDetail, Store
from tradewind.model.machine import Billing, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, UNIT, Time
from tradewind.model.workflow import Checkpoint, Task, Workflow
from tradewind.policies.registry import build

HARVEST = MachineType(
    "spare",
    price=8 * UNIT,
    core_price=UNIT,
    billing=Billing(HOUR),
    slots=8,
    amounts=amounts(cpus=8),
    market=Market.HARVEST,
    minimum=amounts(cpus=2),
)
NEEDS = Requirement(amounts=amounts(cpus=3))
SAVING = Task("t", "t", NEEDS, 30 * MINUTE, command="true", checkpoint=Checkpoint(MINUTE))


class Slow(FakeEngine):
    """Ends nothing by itself."""

    def start(self, orders: Sequence[Order]) -> None:
        pass


class World:
    """A driver over a store, with a clock that is set by hand."""

    def __init__(self, store: Store, policy: str = "capacity", machines: int = 1) -> None:
        self.store = store
        self.policy = policy
        self.machines = machines
        self.now: Time = 0
        self.begin()

    def begin(self) -> None:
        state = State((HARVEST,), (Tenant("default"),), MINUTE, 0, declared_time)
        self.engine = Slow(lambda reports: self.driver.tell(*reports))
        policy = build(self.policy, {"machines": self.machines})
        self.driver = Driver(state, policy, self.store, self.engine, lambda: self.now, Path("runs"))

    def submit(self, *tasks: Task) -> None:
        self.driver.tell(Submit(Workflow("w", tasks, ((),) * len(tasks)), {}))
        self.driver.turn()
        self.engine.deliver()
        self.driver.turn()

    def tell(self, seconds: int, *facts: Resized | Down | Done) -> None:
        self.now = seconds * SECOND
        self.driver.tell(*facts)
        self.driver.turn()

    def restart(self) -> None:
        self.begin()

    @property
    def detail(self) -> RunDetail:
        found = self.store.run(self.store.runs()[0].id)
        assert found is not None
        return found


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else open_store(tmp_path / "store.db", durability="relaxed")


def test_what_gives_way_to_a_shrink_is_on_record(store: Store) -> None:
    world = World(store)
    world.submit(SAVING, replace(SAVING, id="u"))
    world.tell(90, Resized(0, amounts(cpus=4)))
    [attempt] = world.detail.attempts
    assert (attempt.unit, attempt.attempt, attempt.machine) == (1, 1, 0)
    assert (attempt.outcome, attempt.reason) == ("preempted", "the machine has shrunk")
    assert (attempt.started, attempt.ended) == (0, 90 * SECOND)
    assert [(unit.preempted, unit.failures, unit.lost) for unit in world.detail.units] == [(0, 0, 0), (1, 0, 0)]
    shown = plain_task("r", world.detail.units[1])
    assert (shown["preempted"], shown["failures"], shown["lost"]) == (1, 0, 0)


@pytest.mark.parametrize("fact", [Down(0, "taken back"), Resized(0, amounts(cpus=1))], ids=["lost", "too small"])
def test_what_is_taken_back_is_on_record(store: Store, fact: Down | Resized) -> None:
    world = World(store)
    world.submit(SAVING)
    world.tell(90, fact)
    assert [each.outcome for each in world.detail.attempts] == ["preempted"]
    assert [unit.preempted for unit in world.detail.units] == [1]
    assert 0 not in [machine.number for machine in store.load().machines]


def test_preemptions_and_progress_survive_a_restart(store: Store) -> None:
    world = World(store)
    world.submit(SAVING)
    world.tell(150, Down(0, "taken back"))
    world.restart()
    unit = world.driver.state.units[0]
    assert (unit.state, unit.preempted, unit.kept) == (READY, 1, 2 * MINUTE)
    kind = world.driver.state.kinds[0]
    assert world.driver.state.estimate(unit, kind) == 28 * MINUTE


def test_the_size_of_a_machine_and_what_it_is_worth_survive_a_restart(store: Store) -> None:
    world = World(store)
    world.submit(SAVING)
    world.tell(1800, Resized(0, amounts(cpus=4)))
    world.restart()
    machine = world.driver.state.machines[0]
    assert machine.amounts == amounts(cpus=4)
    world.tell(3600)  # the machine is reported lost, an hour after it was rented
    assert [each.amount for each in store.load().charges if each.refund] == [2 * UNIT]


def test_the_first_of_several_attempts_to_end_counts(store: Store) -> None:
    world = World(store, "replicate", 3)
    world.submit(Task("t", "t", NEEDS, MINUTE, command="true"))
    shown = running_attempts("r", world.detail.units[0], {0: "spare", 1: "spare", 2: "spare"})
    assert [(each["attempt"], each["machine"]) for each in shown] == [(1, 0), (2, 1), (3, 2)]
    world.tell(10, Done(0, 2, 1))
    found = {each.attempt: each.outcome for each in world.detail.attempts}
    assert found == {1: "beaten", 2: "done", 3: "beaten"}
    assert world.detail.run.status == "done"


def test_numbers_of_attempts_are_not_used_again_after_a_restart(store: Store) -> None:
    world = World(store, "replicate", 3)
    world.submit(Task("t", "t", NEEDS, MINUTE, command="true"))
    world.tell(5, Down(2, "taken back"))
    world.restart()
    unit = world.driver.state.units[0]
    assert [(each.number, each.machine.id) for each in unit.attempts()] == [(1, 0), (2, 1)]
    assert (unit.state, unit.last) == (RUNNING, 3)
    world.tell(6)  # all machines are reported lost
    world.tell(70)
    world.engine.deliver()
    world.tell(71)
    assert [each.number for each in unit.attempts()] == [4, 5, 6]
    world.tell(80, Done(0, 1, 0))
    assert not unit.is_ended, "a report of an attempt from before counts for nothing"
    world.tell(81, Done(0, 5, unit.copies[0].machine.id))
    assert Counter(each.outcome for each in world.detail.attempts) == {"preempted": 3, "beaten": 2, "done": 1}


@pytest.mark.parametrize("seed", range(30))
def test_copies_are_recorded_done_once_whatever_dies(seed: int) -> None:
    chance = Random(seed)
    store = MemoryStore()
    faults = Faults(lose=0.1, double=0.2, delay=0.3, shuffle=True)
    tasks = tuple(Task(f"t{n}", "t", NEEDS, SECOND, command="true") for n in range(6))
    work = Workflow("w", tasks, ((), (), (0,), (0, 1), (2,), (3, 4)))
    now = 0

    def begin() -> tuple[Driver, FakeEngine]:
        state = State((HARVEST,), (Tenant("default"),), 5 * SECOND, seed, declared_time)
        engine = FakeEngine(lambda reports: driver.tell(*reports), faults=faults, seed=chance.randrange(1 << 30))
        policy = build("replicate", {"scaling": "demand", "replicas": 2 + seed % 2})
        driver = Driver(state, policy, store, engine, lambda: now, Path("runs"))
        return driver, engine

    driver, engine = begin()
    driver.tell(Submit(work, {}))
    for turn in range(5_000):
        driver.turn()
        engine.deliver()
        if store.runs() and store.runs()[0].ended is not None:
            break
        now += chance.randrange(3 * SECOND)
        if turn % 40 == 39:
            driver, engine = begin()
    driver.tell(Close())
    driver.turn()
    [head] = store.runs()
    detail = store.run(head.id)
    assert detail is not None
    assert head.status == "done"
    assert all(unit.state == DONE for unit in detail.units)
    done = Counter(each.unit for each in detail.attempts if each.outcome == "done")
    assert done == Counter(unit.number for unit in detail.units)
    assert not store.load().machines
