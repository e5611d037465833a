"""Workers, keepers and control planes that die or freeze: it is noticed, and no process is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_rig import HERE, Rig, alive, function, gone, processes_of, shell

from tradewind.live.engines.local import LocalEngine
from tradewind.live.port import Done, Down
from tradewind.live.worker.processes import children, descendants
from tradewind.model.action import Call, Container

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
HERE_FOLDER = Path(__file__).parent


@pytest.fixture
def silence() -> float:
    return 10.0


@pytest.fixture
def grace() -> float:
    return 0.5


@pytest.fixture
def rig(tmp_path: Path, silence: float, grace: float) -> Iterator[Rig]:
    path = [str(HERE_FOLDER)]
    rig = Rig(lambda listener: LocalEngine(listener, tmp_path, grace=grace, silence=silence, path=path), tmp_path)
    yield rig
    rig.close()


def _keeper() -> int:
    (keeper,) = (pid for pid in children(os.getpid()) if b"live.worker" in Path(f"/proc/{pid}/cmdline").read_bytes())
    return keeper


def _worker() -> int:
    (worker,) = children(_keeper())
    return worker


def _busy(rig: Rig, machine: int) -> tuple[str, list[int]]:
    """A machine with a command, a process that has left it, and a function; the run, and all its processes."""
    order = rig.start(machine, shell("setsid sleep 100 & trap '' TERM; while :; do sleep 0.1; done"))
    rig.start(machine, function("engine_functions:nap", duration=100))
    while len(processes_of(order.run)) < 3:
        rig.sleep(0.02)
    rig.sleep(0.05)
    return order.run, descendants(_worker())


def test_a_killed_worker_is_noticed_and_leaves_nothing(rig: Rig) -> None:
    machine = rig.machine()
    run, pids = _busy(rig, machine)
    os.kill(_worker(), signal.SIGKILL)
    assert rig.expect(Down) == Down(machine, "its worker process has ended")
    assert gone(lambda: processes_of(run) or [pid for pid in pids if alive(pid)])
    rig.done(rig.machine(), shell("true"))


@pytest.mark.parametrize("silence", [1.0])
def test_a_frozen_worker_is_given_up_and_leaves_nothing(rig: Rig) -> None:
    machine = rig.machine()
    run, pids = _busy(rig, machine)
    os.kill(_worker(), signal.SIGSTOP)
    assert rig.expect(Down).reason == "its worker has not answered for 1 s"
    rig.sleep(0.01)
    assert gone(lambda: processes_of(run) or [pid for pid in pids if alive(pid)])


@pytest.mark.parametrize("silence", [3.0])
def test_an_idle_or_busy_worker_is_not_given_up(rig: Rig) -> None:
    machine = rig.machine()
    rig.start(machine, shell("sleep 4"))
    rig.sleep(4)
    rig.expect(Done)
    assert rig.reports == []
    rig.done(machine, shell("true"))


@pytest.mark.parametrize("silence", [0.4])
def test_a_control_plane_that_was_frozen_takes_nobody_for_dead(rig: Rig) -> None:
    machine = rig.machine()
    for _ in range(6):
        time.sleep(0.3)  # the loop does not run
        rig.sleep(0.001)
    rig.done(machine, shell("true"))


def test_a_killed_keeper_takes_its_workers_along_and_is_replaced(rig: Rig) -> None:
    machine = rig.machine()
    run, pids = _busy(rig, machine)
    os.kill(_keeper(), signal.SIGKILL)
    assert rig.expect(Down).machine == machine
    assert gone(lambda: processes_of(run) or [pid for pid in pids if alive(pid)])
    rig.done(rig.machine(), shell("true"))


def test_a_killed_keeper_takes_a_frozen_worker_along(rig: Rig) -> None:
    run, pids = _busy(rig, rig.machine())
    os.kill(pids[0], signal.SIGSTOP)
    os.kill(_keeper(), signal.SIGKILL)
    rig.expect(Down)
    assert gone(lambda: processes_of(run) or [pid for pid in pids if alive(pid)])


def test_a_released_machine_leaves_nothing(rig: Rig) -> None:
    machine = rig.machine()
    run, pids = _busy(rig, machine)
    rig.engine.release(machine)
    while processes_of(run) or [pid for pid in pids if alive(pid)]:
        rig.sleep(0.02)
    assert rig.reports == []


@pytest.mark.parametrize("grace", [30.0])
def test_a_released_machine_asks_its_work_to_end_first(rig: Rig) -> None:
    machine = rig.machine()
    order = rig.start(machine, shell("trap ': > asked; exit' TERM; : > up; sleep 100 & wait"))
    while not (Path(order.folder) / "up").exists():
        rig.sleep(0.02)
    rig.engine.release(machine)
    while processes_of(order.run):
        rig.sleep(0.02)
    assert (Path(order.folder) / "asked").exists()


def test_closing_leaves_nothing(rig: Rig) -> None:
    run, pids = _busy(rig, rig.machine())
    keeper = _keeper()
    rig.engine.acquire(1000, HERE)
    rig.engine.close()
    assert not [pid for pid in (keeper, *pids) if alive(pid)]
    assert processes_of(run) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_control_plane_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    run = f"alone-{os.getpid()}-{how}"
    command = [sys.executable, str(HERE_FOLDER / "engine_alone.py"), str(tmp_path), run]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as control:
        assert control.stdout is not None
        assert control.stdout.readline() == b"working\n"
        pids = descendants(control.pid)
        assert len(processes_of(run)) > 8
        assert len(pids) > 12
        control.send_signal(how)
        control.wait()
    assert gone(lambda: processes_of(run) or [pid for pid in pids if alive(pid)])


def test_containers_of_a_killed_worker_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no descendants of ours: the keeper asks the tool for them."""
    tool = tmp_path / "podman"
    tool.write_text(
        f"""#!/bin/sh
        case $1 in
        run) touch {tmp_path}/runs; exec sleep 100;;
        ps) echo the-container;;
        rm) echo "$@" > {tmp_path}/removed;;
        esac"""
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    rig = Rig(lambda listener: LocalEngine(listener, tmp_path, grace=0.5), tmp_path)
    try:
        machine = rig.machine()
        rig.start(machine, Call("task", Container("alpine", "sleep 100")))
        while not (tmp_path / "runs").exists():
            rig.sleep(0.02)
        os.kill(_worker(), signal.SIGKILL)
        rig.expect(Down)
        assert gone(lambda: not (tmp_path / "removed").exists())
        assert (tmp_path / "removed").read_text() == "rm -f the-container\n"
    finally:
        rig.close()


def test_many_machines_come_up_together(rig: Rig) -> None:
    for machine in range(1, 41):
        rig.engine.acquire(machine, HERE)
    rig.sleep(0.3)
    while len(rig.reports) < 40:
        rig.sleep(0.05)
    assert sorted(report[0] for report in rig.reports) == list(range(1, 41))
