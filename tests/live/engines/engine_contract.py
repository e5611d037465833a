"""What every engine promises, as tests that run over each implementation: inherit, and say how one is made.

The work is of three sorts, so that an engine that runs nothing can play along: `true`, `exit 3`, and `sleep 60`.
"""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import ANY

import pytest
from engine_rig import HERE, Rig, shell

from tradewind.live.port import Broke, Done, Down, Engine, Expected, Listener, Order, Up
from tradewind.model.action import Call, Output, Shell
from tradewind.model.machine import BootLag, MachineType

FINE = shell("true")
BAD = shell("exit 3")
LONG = shell("sleep 60")
LAG = 200_000


class EngineContract:
    """The promises of the port."""

    boots = True
    """Whether it honours boot lags."""

    def make(self, listener: Listener, root: Path) -> Engine:
        raise NotImplementedError

    @pytest.fixture
    def rig(self, tmp_path: Path) -> Iterator[Rig]:
        rig = Rig(lambda listener: self.make(listener, tmp_path), tmp_path)
        yield rig
        rig.close()

    def test_a_machine_comes_up_and_works(self, rig: Rig) -> None:
        machine = rig.machine()
        _, done = rig.done(machine, FINE)
        assert set(done.results) == {"task"}

    def test_a_machine_takes_its_boot_lag(self, rig: Rig) -> None:
        if not self.boots:
            pytest.skip("answers at once")
        rig.engine.acquire(1, MachineType("slow", boot=BootLag(LAG)))
        rig.sleep(LAG / 2e6)
        assert rig.reports == []
        assert rig.expect(Up) == Up(1)

    def test_a_machine_released_while_it_boots_is_never_heard_of(self, rig: Rig) -> None:
        if not self.boots:
            pytest.skip("answers at once")
        rig.engine.acquire(1, MachineType("slow", boot=BootLag(LAG)))
        rig.engine.release(1)
        rig.sleep(2 * LAG / 1e6)
        assert rig.reports == []

    def test_an_error_is_told_with_its_cause(self, rig: Rig) -> None:
        _, broke = rig.broke(rig.machine(), BAD)
        assert (broke.cause, broke.call) == ("error", "task")
        assert "3" in broke.reason

    def test_results_are_told_for_each_call(self, rig: Rig) -> None:
        calls = [Call(name, Shell("true"), outputs={"text": Output(value="stdout")}) for name in ("a", "b[0]", "b[1]")]
        _, done = rig.done(rig.machine(), *calls)
        assert {call: set(found) for call, found in done.results.items()} == {
            "a": {"text"},
            "b[0]": {"text"},
            "b[1]": {"text"},
        }

    def test_of_many_orders_each_ends_once(self, rig: Rig) -> None:
        machines = [rig.machine(), rig.machine()]
        orders = [
            Order("run", unit, 1, machines[unit % 2], "chain", (FINE if unit % 3 else BAD,), str(rig.root / f"o{unit}"))
            for unit in range(30)
        ]
        rig.engine.start(orders)
        ended = [rig.expect(Done).unit for _ in range(20)] + [rig.expect(Broke).unit for _ in range(10)]
        assert sorted(ended) == list(range(30))
        rig.sleep(0.05)
        assert rig.reports == []

    def test_a_killed_attempt_is_not_reported(self, rig: Rig) -> None:
        machine = rig.machine()
        order = rig.start(machine, LONG)
        rig.engine.kill(order.unit, order.attempt, machine)
        rig.done(machine, FINE)
        assert rig.reports == []

    def test_a_released_machine_says_nothing_more(self, rig: Rig) -> None:
        machine = rig.machine()
        rig.start(machine, LONG)
        rig.engine.release(machine)
        rig.sleep(0.3)
        assert [report for report in rig.reports if not isinstance(report, Done | Broke)] == []

    def test_an_order_for_a_machine_that_is_not_there_is_answered(self, rig: Rig) -> None:
        rig.start(77, FINE)
        assert rig.expect(Down).machine == 77

    def test_what_concerns_nothing_that_is_there_does_no_harm(self, rig: Rig) -> None:
        rig.engine.kill(1, 1, 99)
        rig.engine.release(99)
        rig.engine.kill(1, 1, rig.machine())
        rig.sleep(0.02)
        assert rig.reports == []

    def test_what_is_expected_and_not_there_is_reported(self, rig: Rig) -> None:
        machine = rig.machine()
        order = rig.start(machine, LONG)
        there = Expected(HERE, is_up=True, attempts=[(order.unit, order.attempt)])
        found = [*rig.engine.check({machine: there, 77: Expected(HERE, is_up=True)})]
        rig.sleep(0.1)
        assert [report for report in (*found, *rig.reports) if not isinstance(report, Done)] == [Down(77, ANY)]

    def test_ends_may_be_confirmed_whether_they_are_known_or_not(self, rig: Rig) -> None:
        machine = rig.machine()
        _, done = rig.done(machine, FINE)
        rig.engine.confirm([done[:3], done[:3], (5, 1, 99)])
        rig.done(machine, FINE)
        assert rig.reports == []

    def test_after_the_close_nothing_is_heard(self, rig: Rig) -> None:
        machine = rig.machine()
        rig.start(machine, LONG)
        rig.engine.acquire(5, HERE)
        rig.engine.close()
        rig.reports.clear()
        rig.sleep(0.1)
        assert rig.reports == []
