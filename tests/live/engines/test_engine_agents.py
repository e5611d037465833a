"""Workers that outlive their engine: what runs goes on, and the next engine learns how everything has ended."""

import json
import marshal
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine_rig import HERE, Rig, alive, gone, processes_of, shell

from tradewind.live.engines.agents import FOLDER, Agents, found_in, stop_all
from tradewind.live.engines.local import LocalEngine
from tradewind.live.port import Broke, Done, Down, Expected, Order, Report, Up
from tradewind.live.worker.keeper import LOG

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
Make = Callable[..., Rig]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes engines over one folder, which are closed in the end."""
    with ExitStack() as stack:
        stack.callback(stop_all, tmp_path / FOLDER)

        def made(store: str = "store", unattended: float = 60.0) -> Rig:
            agents = Agents(tmp_path / FOLDER, store, unattended)
            rig = Rig(lambda listener: LocalEngine(listener, tmp_path, grace=0.5, agents=agents), tmp_path)
            stack.callback(rig.close)
            return rig

        yield made


def die(rig: Rig) -> None:
    """End an engine without a word, as if its process had been killed."""
    engine = rig.engine
    assert isinstance(engine, LocalEngine)
    for held in [*engine._machines.values()]:
        engine._hang_up(held)
    assert engine._keeper is not None
    engine._keeper.leave()
    engine._keeper = None
    engine._machines.clear()


def expecting(machine: int, *orders: Order) -> dict[int, Expected]:
    return {machine: Expected(HERE, is_up=True, attempts=[(order.unit, order.attempt) for order in orders])}


def running(rig: Rig, machine: int, order: Order) -> int:
    """The process of an order, once it runs."""
    out = Path(order.folder) / "out"
    while not (out.exists() and out.read_text().endswith("\n")):
        rig.sleep(0.01)
    return int(out.read_text())


LONG = shell("echo $$; exec sleep 60")
WAITS = shell("echo $$; until [ -e ../go ]; do sleep 0.01; done")


@pytest.mark.parametrize("leave", [die, lambda rig: rig.engine.detach()])
def test_what_runs_goes_on_under_the_next_engine(make: Make, tmp_path: Path, leave: Callable[[Rig], None]) -> None:
    first = make()
    machine = first.machine()
    order = first.start(machine, WAITS)
    pid = running(first, machine, order)
    leave(first)
    second = make()
    assert second.engine.check(expecting(machine, order)) == []
    second.sleep(0.1)
    assert second.reports == []
    (tmp_path / "go").touch()
    assert second.expect(Done)[:3] == (order.unit, 1, machine)
    assert (Path(order.folder) / "out").read_text() == f"{pid}\n"
    second.done(machine, shell("true"))


def test_an_end_without_an_engine_is_reported_until_it_is_confirmed(make: Make, tmp_path: Path) -> None:
    first = make()
    machine = first.machine()
    order = first.start(machine, WAITS)
    running(first, machine, order)
    die(first)
    (tmp_path / "go").touch()
    assert gone(lambda: not (Path(order.folder) / "exitcode").exists())
    for _ in range(2):
        rig = make()
        rig.engine.check(expecting(machine, order))
        assert rig.expect(Done)[:3] == (order.unit, 1, machine)
        die(rig)
    rig = make()
    rig.engine.check(expecting(machine, order))
    done = rig.expect(Done)
    rig.engine.confirm([done[:3]])
    rig.sleep(0.1)
    die(rig)
    last = make()
    last.engine.check(expecting(machine, order))
    assert last.expect(Broke).cause == "lost", "it is recorded, and forgotten here"


def test_ends_are_found_on_disk_if_the_worker_is_gone_too(make: Make, tmp_path: Path) -> None:
    first = make()
    machine = first.machine()
    ended, cut = first.start(machine, WAITS), first.start(machine, LONG)
    running(first, machine, ended)
    running(first, machine, cut)
    die(first)
    (tmp_path / "go").touch()
    (found,) = found_in(tmp_path / FOLDER)
    assert gone(lambda: not found.ends())
    os.kill(found.pid, signal.SIGKILL)
    assert gone(lambda: processes_of(cut.run))
    for _ in range(2):
        rig = make()
        reports = rig.engine.check(expecting(machine, ended, cut))
        assert [(type(report), getattr(report, "machine", None)) for report in reports] == [
            (Done, machine),
            (Down, machine),
        ]
        die(rig)
    rig = make()
    rig.engine.check(expecting(machine, ended, cut))
    rig.engine.confirm([(ended.unit, 1, machine)])
    assert found_in(tmp_path / FOLDER) == []


def test_what_is_not_expected_is_ended(make: Make, tmp_path: Path) -> None:
    first = make()
    wanted, unwanted = first.machine(), first.machine()
    kept, dropped = first.start(wanted, LONG), first.start(wanted, LONG)
    other = first.start(unwanted, LONG)
    for order in (kept, dropped, other):
        running(first, order.machine, order)
    die(first)
    second = make()
    assert second.engine.check(expecting(wanted, kept)) == []
    for _ in range(200):
        second.sleep(0.01)
        if not processes_of(dropped.run) and not processes_of(other.run):
            break
    assert processes_of(kept.run)
    assert not processes_of(dropped.run)
    assert not processes_of(other.run)
    assert [found.machine for found in found_in(tmp_path / FOLDER)] == [wanted]
    assert second.reports == []


def test_workers_of_another_store_are_ended(make: Make) -> None:
    first = make()
    machine = first.machine()
    order = first.start(machine, LONG)
    running(first, machine, order)
    die(first)
    second = make("another")
    assert [type(report) for report in second.engine.check(expecting(machine, order))] == [Down]
    assert gone(lambda: processes_of(order.run))


def test_an_engine_whose_workers_end_with_it_ends_those_that_were_left(make: Make, tmp_path: Path) -> None:
    first = make()
    machine = first.machine()
    order = first.start(machine, LONG)
    running(first, machine, order)
    die(first)
    second = Rig(lambda listener: LocalEngine(listener, tmp_path, grace=0.5), tmp_path)
    try:
        assert [type(report) for report in second.engine.check(expecting(machine, order))] == [Down]
        assert gone(lambda: processes_of(order.run))
    finally:
        second.close()


def test_a_worker_that_nobody_asks_for_ends_once_its_work_is_done(make: Make, tmp_path: Path) -> None:
    first = make(unattended=0.3)
    busy, idle = first.machine(), first.machine()
    order = first.start(busy, WAITS)
    running(first, busy, order)
    pids = {found.machine: found.pid for found in found_in(tmp_path / FOLDER)}
    die(first)
    assert gone(lambda: alive(pids[idle]))
    assert alive(pids[busy])
    (tmp_path / "go").touch()
    assert gone(lambda: alive(pids[busy]))
    reports: list[Report] = [*make().engine.check(expecting(busy, order))]
    assert [type(report) for report in reports] == [Done, Down], "what it did is not lost"


@pytest.mark.parametrize("spoil", [Path.unlink, lambda entry: entry.write_text("{")], ids=["removed", "unreadable"])
def test_a_worker_that_no_engine_can_find_ends_with_what_it_runs(
    make: Make, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    """Otherwise its work would be done twice, side by side."""
    first = make()
    machine = first.machine()
    order = first.start(machine, LONG)
    running(first, machine, order)
    die(first)
    (entry,) = (tmp_path / FOLDER).glob("*.json")
    spoil(entry)
    assert [type(report) for report in make().engine.check(expecting(machine, order))] == [Down]
    assert gone(lambda: processes_of(order.run))
    assert gone(lambda: [*(tmp_path / FOLDER).iterdir()])


def test_only_workers_with_something_to_do_are_left_behind(make: Make, tmp_path: Path) -> None:
    first = make()
    busy, idle = first.machine(), first.machine()
    order = first.start(busy, LONG)
    running(first, busy, order)
    pids = {found.machine: found.pid for found in found_in(tmp_path / FOLDER)}
    first.engine.detach()
    assert gone(lambda: alive(pids[idle]))
    assert alive(pids[busy])
    assert stop_all(tmp_path / FOLDER) == 1
    assert gone(lambda: processes_of(order.run))


def test_a_machine_that_was_awaited_is_reported_when_it_is_found(make: Make) -> None:
    first = make()
    machine = first.machine()
    die(first)
    second = make()
    assert second.engine.check({machine: Expected(HERE, is_up=False)}) == []
    assert second.expect(Up) == Up(machine)


def test_a_frozen_worker_that_was_taken_over_is_given_up(make: Make, tmp_path: Path) -> None:
    first = make()
    machine = first.machine()
    order = first.start(machine, LONG)
    running(first, machine, order)
    (found,) = found_in(tmp_path / FOLDER)
    die(first)
    second = make()
    assert isinstance(second.engine, LocalEngine)
    second.engine._beat_every = 0.05
    second.engine._heartbeat()
    second.engine.check(expecting(machine, order))
    os.kill(found.pid, signal.SIGSTOP)
    assert second.expect(Down).machine == machine
    assert gone(lambda: processes_of(order.run))


def test_closing_ends_what_was_taken_over(make: Make) -> None:
    first = make()
    machine = first.machine()
    order = first.start(machine, shell("trap '' TERM; echo $$; while :; do sleep 1; done"))
    running(first, machine, order)
    die(first)
    second = make()
    second.engine.check(expecting(machine, order))
    second.engine.close()
    assert gone(lambda: processes_of(order.run))


def test_what_workers_leave_beside_runs_is_for_their_user_alone(make: Make, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        make().machine()
    finally:
        os.umask(before)
    assert [path.name for path in (tmp_path / LOG, tmp_path / FOLDER) if path.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    "change",
    [{"machine": "0"}, {"machine": -1}, {"pid": -1}, {"pid": 0}, {"pid": None}, {"started": "x"}, {"store": 1}],
    ids=str,
)
def test_an_entry_that_makes_no_sense_is_removed(tmp_path: Path, change: dict[str, object]) -> None:
    entry = {"machine": 3, "pid": 2**22, "started": 7, "store": "s", "protocol": 1, "worker": "1-3"}
    (tmp_path / "3-1.json").write_text(json.dumps(entry))
    (tmp_path / "4-1.json").write_text(json.dumps(entry | change))
    assert [found.machine for found in found_in(tmp_path)] == [3]
    assert [path.name for path in tmp_path.iterdir()] == ["3-1.json"]


@pytest.mark.parametrize("content", [b"", b"\x00", marshal.dumps(7), marshal.dumps([7])], ids=repr)
def test_ends_that_make_no_sense_are_passed_over(tmp_path: Path, content: bytes) -> None:
    entry = {"machine": 3, "pid": 2**22, "started": 7, "store": "s", "protocol": 1}
    (tmp_path / "3-1.json").write_text(json.dumps(entry))
    (tmp_path / "3-1.ends").write_bytes(content)
    (found,) = found_in(tmp_path)
    assert found.ends() == []
