"""The same verbs without a server: on the store of a folder, and on the session that runs there."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tradewind.client.embedded import Embedded, reading
from tradewind.client.errors import ClientError
from tradewind.live.control import FILE, ControlError, ask
from tradewind.live.folder import BusyError, alone_in
from tradewind.live.leading import NAME
from tradewind.model.units import SECOND

COMMAND = [sys.executable, "-m", "tradewind"]
SLOW = "name: slow\nsteps: {each: {for_each: '{{ range(400) }}', run: 'echo {{ item }}; sleep 0.1'}}\n"


def tradewind(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Embedded]:
    """A folder in which a session is at work."""
    (folder / "slow.yaml").write_text(SLOW)
    child = subprocess.Popen([*COMMAND, "run", *(arguments or ("slow.yaml",))], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        until(lambda: len(list(folder.glob(".tradewind/runs/*/*/out"))) > 2 and (folder / ".tradewind" / FILE).exists())
        with reading(folder / ".tradewind") as backend:
            yield backend
        child.wait(30)
    finally:
        child.kill()
        child.wait()


def until(is_so: Any) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.05)


def pester(folder: Path) -> None:
    """Say to a session what it cannot understand."""
    port = json.loads((folder / FILE).read_text())["port"]
    for line in (b"", b"no json\n", b"[]\n", b'{"secret": "\xc3\xa4"}\n', b"x" * 200_000):
        with socket.create_connection(("127.0.0.1", port)) as connection, suppress(OSError):
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            assert b"done" not in connection.recv(1000)
    with pytest.raises(ControlError, match="cannot be understood"):
        ask(folder, "sing", run=0)
    with pytest.raises(ControlError, match="it is not running"):
        ask(folder, "cancel", run=99)


def test_a_session_at_work_is_steered(tmp_path: Path) -> None:
    with running(tmp_path) as backend:
        assert backend.explain("last")["waiting"][-1]["cause"] == "machines are busy"
        assert tradewind(tmp_path, "run", "slow.yaml").returncode == 2, "no two sessions in a folder"
        with pytest.raises(BusyError, match="works there already"), alone_in(tmp_path / ".tradewind"):
            raise AssertionError("two at once")
        pester(tmp_path / ".tradewind")
        assert backend.suspend("last")["status"] == "suspended"
        until(lambda: "running" not in backend.run("last")["tasks"])
        left = backend.run("last")["tasks"]
        assert backend.resume("last")["status"] == "active"
        until(lambda: backend.run("last")["tasks"] != left)
        backend.prioritise("last", 7)
        until(lambda: backend.run("last")["priority"] == 7)
        backend.redate("last", "2h")
        until(lambda: backend.run("last")["deadline"] == backend.run("last")["submitted"] + 7200)
        backend.redate("last", None)
        until(lambda: backend.run("last")["deadline"] is None)
        machine = backend.machines()[0]["number"]
        backend.remove(machine)
        until(lambda: all(each["number"] != machine for each in backend.machines()))
        with pytest.raises(ControlError, match="no machine 99"):
            backend.drain(99)
        assert backend.cancel("last")["status"] == "cancelled"
        assert [run["status"] for run in backend.follow("last")] == ["cancelled"]
    assert not (tmp_path / ".tradewind" / FILE).exists()


def test_logs_and_progress_are_followed_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        "steps: {a: {run: 'for i in 1 2 3; do echo line $i; sleep 0.4; done'},"
        " b: {run: 'echo more', needs: [a], alone: true}}"
    )
    child = subprocess.Popen([*COMMAND, "run", "flow.yaml"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    until(lambda: list(tmp_path.glob(".tradewind/runs/*/a.1/out")))
    followed = tradewind(tmp_path, "logs", "last", "-f")
    assert followed.returncode == 0, followed.stderr
    lines = [line.replace("a | ", "") for line in followed.stdout.splitlines()]
    assert lines[:3] == ["line 1", "line 2", "line 3"]
    assert lines[3:] == ["b | more"]
    assert child.wait(30) == 0
    with reading(tmp_path / ".tradewind") as backend:
        assert [run["status"] for run in backend.follow("last")] == ["done"]


def test_an_interrupted_run_is_steered_in_the_store(tmp_path: Path) -> None:
    folder = tmp_path / ".tradewind"
    (tmp_path / "slow.yaml").write_text(SLOW)
    child = subprocess.Popen([*COMMAND, "run", "slow.yaml"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    until(lambda: len(list(tmp_path.glob(".tradewind/runs/*/*/out"))) > 2)
    child.kill()
    child.wait()
    assert ask(folder, "explain", run=0) is None, "what a crash leaves behind does no harm"
    listed = tradewind(tmp_path, "list")
    assert " interrupted " in listed.stdout
    assert "`tradewind run --resume` resumes it" in listed.stderr
    assert json.loads(tradewind(tmp_path, "list", "-o", "json").stdout)[0]["remedy"] == "tradewind run --resume"
    with reading(folder) as backend:
        assert "--resume" in backend.explain("last")["summary"]
        [run] = backend.runs(status="interrupted")
        assert (run["status"], run["remedy"]) == ("interrupted", f"tradewind run --resume --folder {folder}")
        assert backend.runs(status="active") == []
        with alone_in(folder):
            assert [(run["status"], "remedy" in run) for run in backend.runs()] == [("active", False)], (
                "somebody is there"
            )
        assert backend.prioritise("last", 3)["priority"] == 3
        changed = backend.redate("last", "90m")
        assert (changed["priority"], changed["deadline"]) == (3, changed["submitted"] + 5400)
        for wrong in ("soon", "0s"):
            with pytest.raises(ClientError, match="deadline: "):
                backend.redate("last", wrong)
        assert backend.suspend("last")["status"] == "suspended"
        assert backend.runs(status="interrupted") == []
        assert "remedy" in backend.run("last"), "nobody else would go on with it"
        assert backend.resume("last")["status"] == "interrupted"
        assert backend.cancel("last")["status"] == "cancelled"
        assert backend.run("last")["tasks"].keys() == {"done", "cancelled"}
        assert [event.name for event in backend.events("last")][-2:] == ["cancelled", "ended"]
        with pytest.raises(ClientError, match="no machine is held"):
            backend.drain(0)
    again = tradewind(tmp_path, "run", "--resume")
    assert again.returncode == 0
    assert "nothing to resume" in again.stderr


def test_whoever_leads_a_shared_store_sees_to_the_runs_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text(SLOW)
    command = [*COMMAND, "run", "slow.yaml", "--store", "shared.db"]
    child = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    until(lambda: list(tmp_path.glob(".tradewind/runs/*/*/out")))
    child.kill()
    child.wait()
    with reading(tmp_path / ".tradewind") as backend:
        assert backend.run("last")["status"] == "interrupted", "whoever led from here is dead"
        later = time.time_ns() // 1000 + 3600 * SECOND
        lease = backend.store.take_lease(NAME, "elsewhere", later + SECOND, later)
        assert lease is not None
        assert backend.run("last")["status"] == "active"
        backend.store.drop_lease(lease)
        assert backend.run("last")["status"] == "interrupted"


def test_what_failed_is_tried_again_in_the_foreground(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "flow.yaml").write_text(
        f"steps: {{a: {{run: 'echo a'}}, b: {{run: 'test -e {mark}', needs: [a]}}, c: {{run: 'echo c', needs: [b]}}}}"
    )
    assert tradewind(tmp_path, "run", "flow.yaml").returncode == 1
    mark.touch()
    retried = tradewind(tmp_path, "retry", "last")
    assert retried.returncode == 0, retried.stderr
    with reading(tmp_path / ".tradewind") as backend:
        assert backend.run("last")["tasks"] == {"done": 1}, "steps that follow each other are one chain"
    assert tradewind(tmp_path, "retry", "last").returncode == 2


def test_a_stranger_on_the_port_is_not_listened_to(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"port": 1, "secret": "x"}')
    assert ask(tmp_path, "cancel", run=0) is None
    (tmp_path / FILE).write_text("no json")
    assert ask(tmp_path, "cancel", run=0) is None


def test_a_retried_run_keeps_going_as_before(tmp_path: Path) -> None:
    bad = {f"bad{index}": {"run": "echo x >> ../../../../marks; false", "cpus": 1} for index in range(3)}
    (tmp_path / "flow.yaml").write_text(json.dumps({"steps": bad}))
    assert tradewind(tmp_path, "run", "flow.yaml", "--keep-going").returncode == 1
    assert tradewind(tmp_path, "retry", "last").returncode == 1
    assert (tmp_path / "marks").read_text().split() == ["x"] * 6, "one failure does not stop the others"
