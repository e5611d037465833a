"""Programs show policies what is to come: the whole control plane in virtual time, over a real store."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tradewind.core.estimates import Learned
from tradewind.core.state import State
from tradewind.formats.load import load_text
from tradewind.live.driver import Driver
from tradewind.live.engines.fake import FakeEngine
from tradewind.live.facts import Close, Submit
from tradewind.live.port import Done, Order
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Store
from tradewind.model.machine import Billing, MachineType
from tradewind.model.program import Program
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT, Time
from tradewind.policies.protocol import Policy
from tradewind.policies.registry import build

CAPABLE = frozenset({"a", "b", "c"})
TYPES = (
    MachineType("slow", UNIT, Billing(MINUTE), limit=20, capabilities=CAPABLE),
    MachineType("fast", 9 * UNIT, Billing(MINUTE), limit=20, capabilities=CAPABLE),
)
TIMES = {"slow": 10 * MINUTE, "fast": 4 * MINUTE}
STAGES = """\
deadline: 22m
steps:
  first: {run: "true", runtimes: {slow: 10m, fast: 4m}, capabilities: [a], outputs: {items: {value: json}}}
  second:
    for_each: "{{ first.items }}"
    run: "true"
    runtimes: {slow: 10m, fast: 4m}
    capabilities: [b]
  third: {run: "true", needs: [second], runtimes: {slow: 10m, fast: 4m}, capabilities: [c]}
"""


class Timed(FakeEngine):
    """Attempts take as long as their machine type says."""

    clock: "Clock"

    def start(self, orders: Sequence[Order]) -> None:
        for order in orders:
            self.yard.running[order.unit, order.attempt, order.machine] = order
            self.clock.ends.append((self.clock.now + TIMES[self.machines[order.machine].name], order))

    def deliver(self) -> bool:
        for due, order in [each for each in self.clock.ends if each[0] <= self.clock.now]:
            self.clock.ends.remove((due, order))
            if self.yard.running.pop((order.unit, order.attempt, order.machine), None) is not None:
                results = {call.id: {name: [1, 2, 3] for name in call.outputs} for call in order.calls}
                self._end_with(Done(order.unit, order.attempt, order.machine, results))
        reports, self._waiting = self._waiting, []
        if reports:
            self._listener(reports)
        return False

    def _end_with(self, done: Done) -> None:
        self.yard.ended[done.unit, done.attempt, done.machine] = done
        self._report(done)


@dataclass(slots=True)
class Clock:
    now: Time = 0
    ends: list[tuple[Time, Order]] = field(default_factory=list)


def live(policy: Policy, store: Store, folder: Path, restart_at: Time | None = None) -> tuple[Time, list[int]]:
    """Run the program once; when it ended, and how many units were expected at each turn."""
    clock = Clock()
    engine: Timed | None = None

    def begin() -> tuple[Driver, Timed]:
        state = State(TYPES, (Tenant("default"),), 10 * SECOND, 0, Learned())
        fresh = Timed(lambda reports: driver.tell(*reports), yard=engine.yard if engine is not None else None)
        fresh.clock = clock
        driver = Driver(state, policy, store, fresh, lambda: clock.now, folder)
        return driver, fresh

    driver, engine = begin()
    document = load_text(STAGES.encode(), "stages.yaml").content
    assert isinstance(document, Program)
    before = len(store.runs(limit=100))
    driver.tell(Submit(document, {}), Close())
    expected: list[int] = []
    for _ in range(5_000):
        driver.turn()
        engine.deliver()
        expected.append(len(driver.state.expected))
        runs = store.runs(limit=100)
        newest = max(runs, key=lambda run: run.number, default=None)
        if len(runs) > before and newest is not None and newest.ended is not None:
            assert newest.status == "done"
            return newest.ended - newest.submitted, expected
        if restart_at is not None and clock.now >= restart_at:
            restart_at = None
            driver, engine = begin()
            driver.tell(Close())
        if not driver._inbox:
            due = [each for each, _ in clock.ends]
            clock.now = max(clock.now + 1, min([*due, driver.due or clock.now + SECOND]))
    raise AssertionError("the run does not end")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "store.db"))


def test_a_live_run_meets_a_deadline_that_it_misses_without_looking_ahead(tmp_path: Path, store: Store) -> None:
    blind = replace(build("scs+"), looks_ahead=False)
    other = open_store(str(tmp_path / "other.db"))
    taken, expected = live(blind, other, tmp_path)
    assert taken > 22 * MINUTE
    assert set(expected) == {0}
    taken, expected = live(build("scs+"), store, tmp_path)
    assert taken <= 22 * MINUTE
    assert expected[0] == 2  # one of the second stage, for nothing is known of the loop yet, and the third
    assert expected[-1] == 0


def test_what_earlier_runs_had_is_expected_of_the_next(tmp_path: Path, store: Store) -> None:
    live(build("scs+"), store, tmp_path)
    again = open_store(str(tmp_path / "store.db"))
    _, expected = live(build("scs+"), again, tmp_path)
    assert expected[0] == 4  # three of the second stage


def test_a_restart_looks_ahead_again(tmp_path: Path, store: Store) -> None:
    taken, expected = live(build("scs+"), store, tmp_path, restart_at=6 * MINUTE)
    assert taken <= 22 * MINUTE
    assert max(expected) == 2
    assert expected[-1] == 0
