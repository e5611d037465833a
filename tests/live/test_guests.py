"""Machines that join a live driver: welcomed once saved, known by their names after a restart."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tradewind.core.state import State
from tradewind.core.why import Cause, why
from tradewind.core.work import declared_time
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine, Yard
from tradewind.live.facts import Drain, Submit
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Store
from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build

GPU = Requirement(frozenset({"gpu"}))
BOX = MachineType("box", capabilities=frozenset({"gpu"}))
ODD = MachineType(
    "odd",
    Fraction(UNIT, 3),
    Billing(MINUTE, SECOND, 2 * SECOND),
    BootLag(SECOND, 2, 3),
    limit=7,
    capabilities=frozenset({"gpu", "disk"}),
    slots=3,
    amounts=amounts(memory=8, cpus=4),
    speed=1.5,
    market=Market.SPOT,
    minimum=amounts(cpus=1),
)


class Rig:
    """A driver over a store, with machines that outlive it."""

    def __init__(self, store: Store, *, accepts_unknown: bool = False, yard: Yard | None = None) -> None:
        self.store = store
        self.yard = yard or Yard()
        self.now = 0
        tenants = (Tenant("ann"), Tenant("bob"))
        self.state = State((MachineType("plain", UNIT),), tenants, SECOND, 0, declared_time)
        self.state.accepts_unknown = accepts_unknown
        self.engine = Holding(lambda reports: self.driver.tell(*reports), yard=self.yard)
        self.driver = Driver(self.state, build("demand"), store, self.engine, lambda: self.now, Path("runs"))

    def restarted(self) -> "Rig":
        rig = Rig(self.store, accepts_unknown=self.state.accepts_unknown, yard=self.yard)
        rig.now = self.now
        rig.turn()
        return rig

    def turn(self, times: int = 3) -> None:
        for _ in range(times):
            self.driver.turn()
            self.engine.deliver()

    def submit(self, tenant: str = "ann", count: int = 1) -> None:
        tasks = tuple(Task(f"t{i}", "t", GPU, SECOND, command="true") for i in range(count))
        self.driver.tell(Submit(Workflow("w", tasks, ((),) * count), {}, tenant))
        self.turn()


class Holding(FakeEngine):
    """Attempts go on until they are let go."""

    def start(self, orders: Any) -> None:
        for order in orders:
            self.yard.running[order.unit, order.attempt, order.machine] = order

    def deliver(self) -> bool:
        reports, self._waiting = self._waiting, []
        if reports:
            self._listener(reports)
        return False

    def finish(self) -> None:
        for order in list(self.yard.running.values()):
            self._end(order)
        self.yard.running.clear()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = MemoryStore() if request.param == "memory" else open_store(tmp_path / "store.db", durability="relaxed")
    yield found
    if request.param == "sqlite":
        found.close()


def test_a_machine_is_welcomed_with_its_number_once_that_is_saved(store: Store) -> None:
    rig = Rig(store)
    known: list[int] = []
    welcome: Callable[[str, int], None] = rig.engine.welcome

    def note(name: str, machine: int) -> None:
        known.append(len(store.load(charges_since=0).machines))
        welcome(name, machine)

    rig.engine.welcome = note  # type: ignore[method-assign]
    rig.engine.join("lab/1", BOX)
    rig.turn()
    assert known == [1]
    assert rig.yard.numbers == {"lab/1": 0}
    rig.submit()
    assert list(rig.yard.running) == [(0, 1, 0)]


def test_after_a_restart_it_is_the_same_machine_and_what_runs_there_goes_on(store: Store) -> None:
    rig = Rig(store)
    rig.engine.join("lab/1", BOX, ("ann",))
    rig.turn()
    rig.submit()
    again = rig.restarted()
    assert again.state.joined["lab/1"].id == 0
    assert list(again.yard.running) == [(0, 1, 0)]
    again.engine.join("lab/1", BOX, ("ann",))
    again.turn()
    assert list(again.state.machines) == [0], "a name that is held is no news"
    again.engine.finish()
    again.turn()
    assert [head.status for head in store.runs(limit=9)] == ["done"]
    (kind,) = [kind for kind in again.state.kinds if kind.type.joins]
    assert kind.tenants == {"ann"}


def test_a_number_that_was_saved_but_never_told_is_told_again(store: Store) -> None:
    rig = Rig(store)
    rig.engine.join("lab/1", BOX)
    rig.engine.deliver()
    rig.driver.begin_turn()
    rig.driver.save()
    assert not rig.yard.numbers
    again = rig.restarted()
    assert again.yard.numbers == {"lab/1": 0}
    assert list(again.state.machines) == [0]


def test_a_machine_that_left_meanwhile_is_gone_and_its_work_waits(store: Store) -> None:
    rig = Rig(store)
    rig.engine.join("lab/1", BOX)
    rig.turn()
    rig.submit()
    rig.yard.guests.clear()
    rig.yard.drop(0)
    again = rig.restarted()
    assert not again.state.machines
    assert not again.driver.stranded, "its type has joined before, and may join again"
    (unit,) = again.state.units.values()
    assert why(again.state, unit).cause is Cause.ABSENT
    again.engine.join("lab/2", BOX)
    again.turn()
    assert list(again.yard.running) == [(0, 2, 1)]


def test_a_machine_that_signs_off_leaves_its_work_to_others(store: Store) -> None:
    rig = Rig(store)
    for name in ("lab/1", "lab/2"):
        rig.engine.join(name, BOX)
    rig.turn()
    rig.submit()
    rig.engine.leave("lab/1")
    rig.turn()
    assert list(rig.yard.running) == [(0, 2, 1)]
    detail = store.run(store.runs(limit=1)[0].id)
    assert detail is not None
    assert [(each.attempt, each.outcome) for each in detail.attempts] == [(1, "preempted")]


def test_all_that_a_type_says_survives_a_restart(store: Store) -> None:
    rig = Rig(store)
    rig.engine.join("odd/1", ODD, ("bob", "ann"))
    rig.turn()
    before = rig.state.joined["odd/1"]
    assert before.is_spare, "nobody has work for it"
    after = rig.restarted().state.joined["odd/1"]
    assert after.is_spare
    assert after.kind.configured == before.kind.configured
    assert after.kind.tenants == {"ann", "bob"}


def test_a_machine_that_is_drained_gets_no_more_orders_until_it_joins_again(store: Store) -> None:
    rig = Rig(store)
    rig.engine.join("lab/1", BOX)
    rig.turn()
    rig.driver.tell(Drain(0))
    rig.turn()
    assert not rig.yard.machines
    assert not rig.state.joined


def test_unknown_work_waits_over_a_restart_where_that_is_allowed(store: Store) -> None:
    rig = Rig(store, accepts_unknown=True)
    rig.submit()
    again = rig.restarted()
    assert not again.driver.stranded
    (unit,) = again.state.units.values()
    assert why(again.state, unit).text == "no machine that offers gpu has joined"
    again.engine.join("lab/1", BOX)
    again.turn()
    assert list(again.yard.running) == [(0, 1, 0)]


def test_unknown_work_is_refused_where_it_is_not(store: Store) -> None:
    rig = Rig(store)
    rig.submit()
    assert not rig.state.runs
    assert "gpu" in rig.driver.refused[0]


def test_money_paid_to_an_earlier_user_counts_after_a_restart(store: Store) -> None:
    dear = MachineType("dear", UNIT, Billing(MINUTE), capabilities=frozenset({"gpu"}))
    rig = Rig(store)
    rig.engine.join("lab/1", dear)
    rig.turn()
    rig.submit("ann")
    rig.engine.finish()
    rig.turn()
    rig.submit("bob")
    again = rig.restarted()
    accounts = [again.state.by_name[name].account for name in ("ann", "bob")]
    assert [(account.committed, account._gone_sum) for account in accounts] == [(0, UNIT), (UNIT, 0)]
