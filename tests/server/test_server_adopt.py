"""A real server dies while tasks run: what still runs goes on, what ended is recorded, what is gone runs again."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "live" / "store"))
from store_places import ended_server, new_database  # noqa: F401

from tradewind.live.engines.agents import FOLDER, found_in, stop_all
from tradewind.live.worker.processes import started

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
WAITS = "name: w\ntasks:\n  a: {run: 'echo $$; until [ -e %s/go ]; do sleep 0.02; done'}\n"


def eventually(look: Callable[[], Any]) -> Any:
    """What something gives once it gives anything."""
    for _ in range(1500):
        if found := look():
            return found
        threading.Event().wait(0.02)
    raise AssertionError("it never happened")


class World:
    """A folder, a store, and the servers that come and go."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self.store = store
        self.words: list[str] = []
        """More that the next server is started with."""
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    def command(self, *words: str) -> list[str]:
        where = ["--folder", str(self.folder / "kept"), *(["--store", self.store] if self.store else [])]
        return [sys.executable, "-m", "tradewind", "server", *where, *words]

    def start(self) -> httpx.Client:
        self._starts += 1
        said = self.folder / f"said-{self._starts}"
        environment = os.environ | {"TRADEWIND_MACHINES__OUTLIVE": "true", "TRADEWIND_SERVER__GRACE": "1"}
        with said.open("wb") as out:
            self._process = subprocess.Popen(
                self.command("--no-auth", "--port", "0", *self.words),
                stdout=out,
                stderr=out,
                cwd=self.folder,
                env=environment,
            )

        def ready() -> str | None:
            assert self._process is not None
            assert self._process.poll() is None, said.read_text()
            found = re.search(r"http://\S+", said.read_text())
            try:
                return found[0] if found and httpx.get(f"{found[0]}/readyz").status_code == 200 else None
            except httpx.HTTPError:
                return None

        return httpx.Client(base_url=f"{eventually(ready)}/api/v1", timeout=20)

    def end(self, how: signal.Signals) -> str:
        """End the server; what it said."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(30)
        return (self.folder / f"said-{self._starts}").read_text()

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(30)
        stop_all(self.folder / "kept" / FOLDER)

    def begin(self, client: httpx.Client) -> tuple[str, int]:
        """A run whose task waits for a file: its id, and the process once it runs."""
        headers = {"Content-Type": "application/yaml"}
        run: str = client.post("/runs", content=WAITS % self.folder, headers=headers).json()["id"]
        return run, int(eventually(lambda: self.out(1)))

    def out(self, attempt: int) -> str:
        """What an attempt has written so far."""
        found = list(self.folder.glob(f"kept/runs/*/a.{attempt}/out"))
        return found[0].read_text() if found else ""

    def go(self) -> None:
        (self.folder / "go").touch()

    def attempts(self, client: httpx.Client, run: str) -> list[tuple[int, str]]:
        """All attempts of the run's only task, once it is done."""
        eventually(lambda: client.get(f"/runs/{run}").json()["status"] == "done")
        rows = client.get(f"/runs/{run}/attempts").json()["items"]
        return [(each["attempt"], each["outcome"]) for each in rows]

    def stop_machines(self) -> "subprocess.CompletedProcess[str]":
        command = self.command("--stop-machines")
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=self.folder)


@pytest.fixture(params=["sqlite", "postgres"])
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    made = World(tmp_path, new_database() if request.param == "postgres" else "")
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_task_goes_on_and_ends_once(world: World, how: signal.Signals) -> None:
    with world.start() as client:
        run, pid = world.begin(client)
    said = world.end(how)
    assert ("1 machine goes on" in said) == (how is signal.SIGTERM)
    with world.start() as client:
        assert client.get(f"/runs/{run}").json()["status"] == "active"
        world.go()
        assert world.attempts(client, run) == [(1, "done")]
    assert world.out(1) == f"{pid}\n", "it is the same process"
    assert not world.out(2)


def test_a_task_goes_on_through_servers_with_other_policies_and_machine_files(tmp_path: Path) -> None:
    world = World(tmp_path, "")
    machines = tmp_path / "machines.yaml"
    lives = [
        ("demand", "{m: {slots: 4, limit: 2}}"),
        ("pfa", "{m: {slots: 1, limit: 1, capabilities: [disk]}, n: {price: 1}}"),
        ("scs+", "{n: {price: 1}, m: {limit: 0}}"),
    ]
    try:
        for life, (policy, types) in enumerate(lives):
            machines.write_text(f"machines: {types}\n")
            world.words = ["--machines", str(machines), "--policy", policy]
            with world.start() as client:
                if not life:
                    run, pid = world.begin(client)
                assert client.get(f"/runs/{run}").json()["status"] == "active"
                if life == len(lives) - 1:
                    world.go()
                    assert world.attempts(client, run) == [(1, "done")]
            world.end(signal.SIGKILL)
        assert world.out(1) == f"{pid}\n"
    finally:
        world.close()


def test_a_task_that_ended_without_a_server_is_not_run_again(world: World) -> None:
    with world.start() as client:
        run, _ = world.begin(client)
    world.end(signal.SIGKILL)
    world.go()
    eventually(lambda: list(world.folder.glob("kept/runs/*/a.1/exitcode")))
    with world.start() as client:
        assert world.attempts(client, run) == [(1, "done")]
    assert not world.out(2)


def test_a_task_whose_machine_is_gone_runs_again_once(world: World) -> None:
    with world.start() as client:
        run, pid = world.begin(client)
    world.end(signal.SIGKILL)
    (found,) = (each for each in found_in(world.folder / "kept" / FOLDER) if each.is_alive)
    os.kill(found.pid, signal.SIGKILL)
    eventually(lambda: not found.is_alive)
    world.go()
    with world.start() as client:
        assert world.attempts(client, run) == [(1, "lost"), (2, "done")]
    assert world.out(2) != f"{pid}\n"


def test_a_session_does_not_end_what_a_server_has_left(tmp_path: Path) -> None:
    world = World(tmp_path, "")
    file = tmp_path / "other.yaml"
    file.write_text("tasks: {b: {run: 'true'}}\n")
    command = [sys.executable, "-m", "tradewind", "run", str(file), "--folder", str(tmp_path / "kept")]
    try:
        with world.start() as client:
            run, _ = world.begin(client)
        world.end(signal.SIGTERM)
        refused = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
        assert refused.returncode == 2
        assert "a server left tasks running there" in refused.stderr
        world.go()
        with world.start() as client:
            assert world.attempts(client, run) == [(1, "done")]
        world.end(signal.SIGTERM)
        assert subprocess.run(command, check=False, capture_output=True, cwd=tmp_path).returncode == 0
    finally:
        world.close()


def test_a_task_goes_on_only_once_where_its_machine_and_keeper_are_gone(tmp_path: Path) -> None:
    """Nothing is left that could end the first attempt, except the next server."""
    world = World(tmp_path, "")
    try:
        with world.start() as client:
            run, pid = world.begin(client)
        world.end(signal.SIGKILL)
        (found,) = (each for each in found_in(tmp_path / "kept" / FOLDER) if each.is_alive)
        keeper = int(Path(f"/proc/{found.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(keeper, signal.SIGSTOP)  # so that it cannot notice that the machine is gone
        os.kill(found.pid, signal.SIGKILL)
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: not found.is_alive)
        assert started(pid), "the task goes on"
        with world.start() as client:
            eventually(lambda: world.out(2))
            assert not started(pid)
            world.go()
            assert world.attempts(client, run) == [(1, "lost"), (2, "done")]
    finally:
        world.close()


def test_machines_can_be_ended_without_a_server(world: World) -> None:
    with world.start() as client:
        run, pid = world.begin(client)
    refused = world.stop_machines()
    assert refused.returncode == 2
    assert "works there already" in refused.stderr
    world.end(signal.SIGTERM)
    ended = world.stop_machines()
    assert (ended.returncode, ended.stdout) == (0, "ended 1 machine; the next server runs their tasks again\n")
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    world.go()
    with world.start() as client:
        assert world.attempts(client, run) == [(1, "lost"), (2, "done")]
