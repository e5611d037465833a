"""A real server is killed under load: what was answered is there afterwards, and no event is lost or told twice."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_rig import HANGS, Obedient, running, settings_for, submitted

from tradewind.model.units import UNIT
from tradewind.server.app import prepared

SMALL = "name: small\ntasks:\n  a: {run: 'true'}\n  b: {run: 'true', needs: [a]}\n  c: {run: 'true', needs: [a]}\n"


class Process:
    """A server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.said = folder / f"said-{len(list(folder.glob('said-*')))}"
        command = [sys.executable, "-m", "tradewind", "server", "--no-auth", "--port", "0", "--folder", str(folder)]
        with self.said.open("w") as out:
            self.process = subprocess.Popen(
                command, stderr=out, stdout=out, cwd=folder, env=os.environ | {"TRADEWIND_SERVER__HEARTBEAT": "0.2"}
            )
        self.url = self._url()

    def _url(self) -> str:
        for _ in range(600):
            found = re.search(r"http://\S+", self.said.read_text())
            if found and self._is_ready(found[0]):
                return found[0]
            assert self.process.poll() is None, self.said.read_text()
            threading.Event().wait(0.05)
        raise AssertionError(self.said.read_text())

    @staticmethod
    def _is_ready(url: str) -> bool:
        try:
            return httpx.get(f"{url}/readyz").status_code == 200
        except httpx.HTTPError:
            return False

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        return self.process.wait(30)


class Load:
    """Clients that hand in work and listen, whatever happens to the server."""

    def __init__(self, server: Process) -> None:
        self.server = server
        self.answered: list[str] = []
        self.heard: list[tuple[str, str]] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._submit, args=(n,)) for n in range(2)]
        self.threads.append(threading.Thread(target=self._listen))
        for thread in self.threads:
            thread.start()

    def _submit(self, worker: int) -> None:
        number = 0
        while not self.stop.is_set():
            headers = {"Content-Type": "application/yaml", "Idempotency-Key": f"{worker}-{number}"}
            try:
                answer = httpx.post(f"{self.server.url}/api/v1/runs", content=SMALL, headers=headers, timeout=10)
            except httpx.HTTPError:
                self.stop.wait(0.05)
                continue  # with the same key: it may have been taken in
            if answer.status_code in (200, 201):
                self.answered.append(answer.json()["id"])
                number += 1
            self.stop.wait(0.02)

    def _listen(self) -> None:
        after = "start"
        while not self.stop.is_set():
            try:
                url = f"{self.server.url}/api/v1/events"
                with httpx.stream("GET", url, headers={"Last-Event-ID": after}, timeout=5) as stream:
                    fields: dict[str, str] = {}
                    for line in stream.iter_lines():
                        if self.stop.is_set():
                            return
                        key, _, value = line.partition(": ")
                        if line and not line.startswith(":"):
                            fields[key] = value
                        elif not line and fields:
                            self.heard.append((fields["id"], fields["data"]))
                            after, fields = fields["id"], {}
            except httpx.HTTPError:
                self.stop.wait(0.05)

    def end(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(20)
            assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nothing_that_was_answered_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    server = Process(tmp_path)
    load = Load(server)
    try:
        threading.Event().wait(1.5)
        server.end(signal.SIGKILL)
        before = len(load.answered)
        server = load.server = Process(tmp_path)
        for _ in range(400):
            if len(load.answered) > before + 3:
                break
            threading.Event().wait(0.05)
        load.end()
        everything = _all_events(server.url)
        assert len(load.answered) > before > 0
        assert len(set(load.answered)) == len(load.answered)  # a key that is used again finds the same run
        for run in load.answered:
            assert httpx.get(f"{server.url}/api/v1/runs/{run}").status_code == 200
        assert load.heard == everything[: len(load.heard)]
        assert len(load.heard) > 20
    finally:
        load.end()
        server.process.kill()
        server.process.wait(30)


def _all_events(url: str) -> list[tuple[str, str]]:
    """What a client that begins at the beginning hears until it is quiet for once."""
    found: list[tuple[str, str]] = []
    fields: dict[str, str] = {}
    with httpx.stream("GET", f"{url}/api/v1/events", params={"after": "start"}, timeout=5) as stream:
        for line in stream.iter_lines():
            key, _, value = line.partition(": ")
            if line.startswith(":") and found:
                return found
            if line and not line.startswith(":"):
                fields[key] = value
            elif not line and fields:
                found.append((fields["id"], fields["data"]))
                fields = {}
    return found


def test_a_standby_knows_tenants_that_came_while_it_waited(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, auth=False)
    with running(settings) as site:
        standby = prepared(settings, lambda _: None, Obedient)
        client = site.client()
        assert client.put("/tenants/ada", json={"budget": 3, "weight": 2}).status_code == 201
        assert client.put("/tenants/default", json={"budget": 7}).status_code == 200
        assert client.put("/tenants/bob", json={"weight": 3, "max_machines": 2}).status_code == 201
        run = submitted(client, HANGS, tenant="ada")

    async def lead() -> None:
        await standby.service.start()
        assert standby.service.driver.jobs.keys() == {0}
        await standby.service.stop()

    asyncio.run(lead())
    assert standby.pages.head(run["id"]) is not None
    budgets = {name: pool.tenant.budget for name, pool in standby.service.state.by_name.items()}
    assert budgets == {"default": 7 * UNIT, "ada": 3 * UNIT, "bob": None}, "one without a budget, and without work"
    bob = standby.service.state.by_name["bob"].tenant
    assert (bob.weight, bob.machines) == (3, 2)
    assert standby.service.state.by_name["ada"].account.budget == 3 * UNIT
    assert standby.tenants["ada"].weight == 2
    standby.readers.close()
    standby.store.close()


def test_a_server_that_is_asked_to_stop_does_so_in_good_order(tmp_path: Path) -> None:
    server = Process(tmp_path)
    text = "name: s\ntasks:\n  a: {run: sleep 30}\n"
    headers = {"Content-Type": "application/yaml"}
    run: dict[str, Any] = httpx.post(f"{server.url}/api/v1/runs", content=text, headers=headers).json()
    with httpx.stream("GET", f"{server.url}/api/v1/runs/{run['id']}/events", timeout=20) as stream:
        lines = stream.iter_lines()
        for line in lines:
            if line.startswith("event: start"):
                break
        assert server.end(signal.SIGTERM) == 0
        assert not [line for line in lines if line.startswith("event: end")]
    server = Process(tmp_path)
    try:
        again = httpx.get(f"{server.url}/api/v1/runs/{run['id']}").json()
        assert (again["status"], again["id"]) == ("active", run["id"])
        assert httpx.post(f"{server.url}/api/v1/runs/{run['id']}/cancel").json()["status"] == "cancelled"
    finally:
        assert server.end(signal.SIGTERM) == 0
