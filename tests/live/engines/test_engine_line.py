"""Orders that wait in line on a machine, and reports that wait for each other."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from engine_rig import Rig, shell

from tradewind.live.port import Broke, Done
from tradewind.live.worker.attempt import Attempt
from tradewind.live.worker.folders import Folders
from tradewind.live.worker.line import ENOUGH, LONGEST_HOLD, NEAR, PATIENCE, Line
from tradewind.live.worker.wire import PackedCall, PackedOrder
from tradewind.live.worker.worker import Worker
from tradewind.model.action import Output


@dataclass(slots=True)
class Waiter:
    """Notes what happens to it."""

    order: PackedOrder
    state: str = "new"

    def prepare(self) -> None:
        self.state = "prepared"

    def forsake(self) -> None:
        self.state = "forsaken"


def waiter(unit: int, most: int = 2) -> Waiter:
    return Waiter(PackedOrder("run", unit, 1, "folder", "", 1, None, most, {}, []))


def line_of(*waiters: Waiter) -> Line[Waiter]:
    line = Line[Waiter]()
    for each in waiters:
        line.join(each, 10.0)
    return line


def test_an_order_in_line_begins_when_another_ends(rig: Rig, machine: int) -> None:
    first = rig.start(machine, shell("sleep 0.01; date +%s%N > end"))
    second = rig.start(machine, shell("date +%s%N > begin"), most=1)
    assert [rig.expect(Done).unit, rig.expect(Done).unit] == [first.unit, second.unit]
    assert int((Path(first.folder) / "end").read_text()) < int((Path(second.folder) / "begin").read_text())


def test_a_line_that_does_not_move_is_given_back(rig: Rig, machine: int) -> None:
    long = rig.start(machine, shell("sleep 60"))
    waiting = [rig.start(machine, shell("true"), most=1) for _ in range(2)]
    returned = [rig.expect(Broke) for _ in waiting]
    assert [(broke.unit, broke.cause) for broke in returned] == [(each.unit, "returned") for each in waiting]
    rig.engine.start([replace(waiting[0], attempt=2, most=2)])
    assert rig.expect(Done)[:2] == (waiting[0].unit, 2)
    rig.engine.kill(long.unit, 1, machine)


def test_an_order_in_line_can_be_killed(rig: Rig, machine: int) -> None:
    first = rig.start(machine, shell("sleep 0.2"))
    second = rig.start(machine, shell("true"), most=1)
    third = rig.start(machine, shell("true"), most=1)
    rig.engine.kill(second.unit, 1, machine)
    assert [rig.expect(Done).unit, rig.expect(Done).unit] == [first.unit, third.unit]


def test_an_order_does_not_overtake_those_in_line_when_one_has_just_ended() -> None:
    begun: list[int] = []
    line = Line[Attempt]()
    worker = SimpleNamespace(name="w", _line=line, _running={}, _begin=lambda attempt: begun.append(attempt.order.unit))

    def arrives(unit: int) -> None:
        order = PackedOrder("run", unit, 1, "folder", "", 1, None, 1, {}, [])
        Worker._obey(cast("Worker", worker), ("run", tuple(order)))

    worker._running[0, 1] = None
    arrives(1)
    del worker._running[0, 1]
    arrives(2)
    assert (begun, [unit for unit, _ in sorted(line.attempts())]) == ([], [1, 2])


def test_a_long_line_is_worked_off_in_order(rig: Rig, machine: int) -> None:
    units = [rig.start(machine, shell("true"), most=1).unit for _ in range(3 * ENOUGH)]
    assert [rig.expect(Done).unit for _ in units] == units


def test_who_is_released_with_a_line_leaves_nothing(rig: Rig) -> None:
    machine = rig.machine()
    rig.start(machine, shell("sleep 60"))
    waiting = rig.start(machine, shell("true"), most=1)
    rig.engine.release(machine)
    rig.sleep(0.2)
    assert rig.reports == []
    assert not Path(waiting.folder).exists()


def test_what_is_prepared_for_nothing_leaves_no_folder(tmp_path: Path) -> None:
    call = PackedCall("task", "shell", "true", "", {}, {"made": ("made/here", False, "", False)}, {}, None, None)
    order = PackedOrder("run", 1, 1, str(tmp_path / "run" / "1.1"), "", 1, None, 2, {}, [call])
    worker = cast("Worker", SimpleNamespace(name="w", folders=Folders(), settings=SimpleNamespace(homes=[])))
    attempt = Attempt(worker, order)
    attempt.prepare()
    assert sorted(each.name for each in Path(order.folder).iterdir()) == ["command.sh", "made"]
    attempt.forsake()
    assert not Path(order.folder).exists()


def test_what_is_in_the_way_of_preparing_is_met_when_it_begins(rig: Rig, machine: int) -> None:
    first = rig.start(machine, shell("sleep 0.1"))
    second = rig.start(machine, shell("echo \ud800"), most=1)
    assert rig.expect(Done).unit == first.unit
    broke = rig.expect(Broke)
    assert broke[:2] == (second.unit, 1)
    assert "surrogates not allowed" in broke.reason


def test_what_cannot_even_be_looked_at_breaks_one_attempt_and_not_the_worker(rig: Rig, machine: int) -> None:
    first = rig.start(machine, shell("sleep 0.1"))
    second = rig.start(machine, shell("true", outputs={"o": Output("d\0/x")}), most=1)
    assert rig.expect(Done).unit == first.unit
    assert rig.expect(Broke)[:2] == (second.unit, 1)


def test_ends_are_told_together_while_the_line_is_long() -> None:
    line = line_of(*map(waiter, range(ENOUGH + 1)))
    line.news.append(("done", 100))
    assert line.is_silent(10.0)
    assert line.due() == 10.0 + LONGEST_HOLD
    assert not line.is_silent(10.0 + LONGEST_HOLD)
    assert line.next(1) == waiter(0)
    assert not line.is_silent(10.0), "the line is short: the engine should hear of it"
    assert line.told() == [("done", 100)]
    assert line.is_silent(99.0)


@pytest.mark.parametrize("message", ["broke", "up", "pong", "back"])
def test_all_else_is_told_at_once(message: str) -> None:
    line = line_of(*map(waiter, range(ENOUGH + 1)))
    line.news += [("done", 100), (message,)]
    assert not line.is_silent(10.0)


def test_nothing_begins_while_there_is_no_room() -> None:
    line = line_of(waiter(1))
    assert line.next(2) is None
    line.give_back(10.0 + PATIENCE / 2)
    assert not line.news
    assert line.due() == 10.0 + PATIENCE
    line.give_back(10.0 + PATIENCE)
    assert line.news == [("back", 1, 1)]
    assert not line


def test_the_first_in_line_are_prepared_once_and_forsaken_with_the_others() -> None:
    waiters = [waiter(unit) for unit in range(NEAR + 3)]
    line = line_of(*waiters)
    while line.could_prepare():
        line.prepare()
    assert [each.state for each in waiters] == ["prepared"] * NEAR + ["new"] * 3
    assert line.next(1) is waiters[0]
    line.leave(1, 1)
    line.leave(NEAR + 2, 1)
    while line.could_prepare():
        line.prepare()
    assert [each.state for each in waiters[:2]] == ["prepared", "forsaken"]
    assert [each.state for each in waiters[2:]] == ["prepared"] * NEAR + ["forsaken"]
    line.clear()
    assert {each.state for each in waiters[1:]} == {"forsaken"}
    assert not line.could_prepare()
