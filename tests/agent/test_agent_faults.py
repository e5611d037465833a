"""Agents, servers and networks that fail while work runs: it ends once, and what is lost runs again."""

import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from agent_rig import World, alive, eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
WAITS = "steps:\n  a: {{run: 'echo $$; until [ -e {folder}/go ]; do sleep 0.02; done'}}\n"


def begun(world: World, agent_folder: Path) -> int:
    """The process of the task, once it runs."""
    found = eventually(lambda: [text for each in agent_folder.glob("work/runs/*/*/out") if (text := each.read_text())])
    return int(found[0])


def waiting(world: World, token: str = "") -> str:
    return world.submit(WAITS.format(folder=world.folder), token)


def go(world: World) -> None:
    (world.folder / "go").touch()


def test_the_next_process_of_an_agent_adopts_what_runs(world: World) -> None:
    agent = world.agent()
    run = waiting(world)
    pid = begun(world, agent.folder)
    agent.end(signal.SIGKILL)
    assert alive(pid)
    agent.start()
    eventually(lambda: agent.said.count("registered") == 2)
    go(world)
    assert world.ended(run)["status"] == "done", world.explained(run)
    assert world.attempts(run) == [(1, "done")]


def test_work_that_ended_while_no_agent_was_there_is_not_run_again(world: World) -> None:
    agent = world.agent()
    run = waiting(world)
    pid = begun(world, agent.folder)
    agent.end(signal.SIGKILL)
    go(world)
    eventually(lambda: not alive(pid))
    agent.start()
    assert world.ended(run)["status"] == "done", world.explained(run)
    assert world.attempts(run) == [(1, "done")]


def test_an_agent_can_be_stopped_and_leave_its_work_to_the_next(world: World) -> None:
    agent = world.agent("desk", "--leave-running")
    run = waiting(world)
    pid = begun(world, agent.folder)
    assert agent.end() == 0
    assert alive(pid)
    agent.start()
    go(world)
    assert world.ended(run)["status"] == "done", world.explained(run)
    assert world.attempts(run) == [(1, "done")]


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_a_task_survives_a_restart_of_the_server_and_ends_once(world: World, how: str) -> None:
    agent = world.agent()
    run = waiting(world)
    pid = begun(world, agent.folder)
    getattr(world.server, how)()
    world.server.start()
    assert alive(pid)
    go(world)
    assert world.ended(run)["status"] == "done", world.explained(run)
    assert world.attempts(run) == [(1, "done")]


def test_a_task_that_ends_while_there_is_no_server_is_recorded_by_the_next(world: World) -> None:
    agent = world.agent()
    run = waiting(world)
    pid = begun(world, agent.folder)
    world.server.kill()
    go(world)
    eventually(lambda: not alive(pid))
    world.server.start()
    assert world.ended(run)["status"] == "done", world.explained(run)
    assert world.attempts(run) == [(1, "done")]


def test_what_an_agent_that_is_gone_for_good_ran_runs_elsewhere(tmp_path: Path) -> None:
    world = World(tmp_path, silence="2s")
    try:
        world.server.start()
        lost = world.agent("lost")
        run = waiting(world)
        begun(world, lost.folder)
        lost.close()
        world.agent("other")
        go(world)
        assert world.ended(run)["status"] == "done", world.explained(run)
        assert [number for number, _ in world.attempts(run)] == [1, 2]
    finally:
        world.close()


def test_a_connection_that_is_cut_for_a_while_costs_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    proxy = Proxy(world.server.url)
    try:
        world.server.start()
        world.server.url, direct = proxy.url, world.server.url
        agent = world.agent()
        world.server.url = direct
        run = waiting(world)
        begun(world, agent.folder)
        proxy.is_cut = True
        proxy.cut()
        go(world)
        eventually(lambda: "trying again" in agent.said)
        proxy.is_cut = False
        assert world.ended(run)["status"] == "done", world.explained(run)
        assert world.attempts(run) == [(1, "done")]
    finally:
        world.close()
        proxy.close()


def test_an_agent_that_was_cut_off_for_too_long_drops_what_runs_elsewhere_by_now(tmp_path: Path) -> None:
    world = World(tmp_path, silence="2s")
    proxy = Proxy(world.server.url)
    try:
        world.server.start()
        world.server.url, direct = proxy.url, world.server.url
        agent = world.agent("cut")
        world.server.url = direct
        run = waiting(world)
        pid = begun(world, agent.folder)
        proxy.is_cut = True
        proxy.cut()
        eventually(lambda: world.ask("GET", "/agents")["items"] == [])
        proxy.is_cut = False
        eventually(lambda: not alive(pid))
        go(world)
        assert world.ended(run)["status"] == "done", world.explained(run)
        assert world.attempts(run)[-1] == (2, "done")
    finally:
        world.close()
        proxy.close()


def test_a_stopped_agent_waits_for_what_runs_and_leaves(world: World) -> None:
    agent = world.agent("desk", "--grace", "60")
    run = waiting(world)
    begun(world, agent.folder)
    assert agent.child is not None
    agent.child.send_signal(signal.SIGTERM)
    eventually(lambda: agent.said.count("registered") == 2)
    later = waiting(world)
    go(world)
    assert agent.child.wait(60) == 0
    assert world.ended(run)["status"] == "done", world.explained(run)
    assert world.attempts(run) == [(1, "done")]
    assert world.attempts(later) == [], "it takes no more"
    assert world.ask("GET", "/agents")["items"] == []


def test_work_that_does_not_end_in_time_goes_elsewhere(world: World) -> None:
    agent = world.agent("desk", "--grace", "0.2")
    run = waiting(world)
    pid = begun(world, agent.folder)
    assert agent.end() == 0
    assert not alive(pid)
    world.agent("other")
    go(world)
    assert world.ended(run)["status"] == "done", world.explained(run)
    assert world.attempts(run)[-1] == (2, "done")


def test_a_revoked_token_drops_the_agent_and_its_work_at_once(world: World) -> None:
    agent = world.agent("desk")
    run = waiting(world)
    pid = begun(world, agent.folder)
    (token,) = world.ask("GET", "/agent-tokens")["items"]
    world.ask("DELETE", f"/agent-tokens/{token['id']}")
    assert world.ask("GET", "/agents")["items"] == []
    assert agent.child is not None
    assert agent.child.wait(30) != 0
    assert "refuses this agent" in agent.said
    assert not alive(pid)
    world.agent("other")
    go(world)
    assert world.ended(run)["status"] == "done", world.explained(run)


def test_an_agent_never_gets_the_work_of_tenants_it_does_not_serve(world: World) -> None:
    ada, bob = world.tenant("ada"), world.tenant("bob")
    of_ada = world.agent("of-ada", token=world.token("of-ada", ada))
    go(world)
    mine, theirs = waiting(world, ada), waiting(world, bob)
    assert world.ended(mine)["status"] == "done"
    assert world.ask("GET", "/agents", token=bob)["items"] == []
    assert world.attempts(theirs) == []
    of_bob = world.agent("of-bob", token=world.token("of-bob", bob))
    assert world.ended(theirs)["status"] == "done"
    assert theirs not in of_ada.said + "".join(map(str, of_ada.folder.rglob("*")))
    assert of_bob.said


def test_names_of_agents_belong_to_whoever_made_the_first_token(world: World) -> None:
    ada, bob = world.tenant("ada"), world.tenant("bob")
    world.token("desk", ada)
    (row,) = world.ask("GET", "/agent-tokens", token=ada)["items"]
    world.ask("DELETE", f"/agent-tokens/{row['id']}", token=ada)
    url, headers = f"{world.server.url}/api/v1/agent-tokens", {"Authorization": f"Bearer {bob}"}
    assert httpx.post(url, json={"agent": "desk"}, headers=headers).status_code == 409
    assert httpx.post(url, json={"agent": "mine", "tenants": ["ada"]}, headers=headers).status_code == 403
    assert httpx.delete(f"{url}/{row['id']}", headers=headers).status_code == 404
    world.token("desk", ada)


class Proxy:
    """Passes bytes between agents and a server, until it is cut."""

    def __init__(self, url: str) -> None:
        self._target = ("127.0.0.1", int(url.rpartition(":")[2]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.is_cut = False
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections."""
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.is_cut:
                near.close()
                continue
            far = socket.create_connection(self._target)
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
