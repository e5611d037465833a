"""A real server and real agents over loopback, each a process that can be stopped, killed and started again."""

import os
import signal
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from real_server import RealServer

from tradewind.live.engines.agents import FOLDER, stop_all

SETTINGS = """
[machines]
file = "machines.yaml"
[tenants]
budget = 0
[policy]
interval = "50ms"
[server]
grace = 1
[agents]
silence = "{silence}"
"""
MACHINES = "machines:\n  rented: {price: 1, limit: 1}\n"
"""Too dear for anybody: all work is done by agents."""


class AgentProcess:
    """`tradewind agent`, in a folder of its own."""

    def __init__(self, server: str, token: Path, *options: str) -> None:
        self.folder = token.with_suffix("")
        self.folder.mkdir(exist_ok=True)
        self._log = self.folder / "log"
        self._command = [sys.executable, "-m", "tradewind", "agent", "--server", server, "--token-file", str(token)]
        self._command += ["--folder", str(self.folder / "work"), *options]
        self.child: subprocess.Popen[bytes] | None = None

    def start(self) -> "AgentProcess":
        with self._log.open("ab") as log:
            self.child = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self.folder)
        return self

    @property
    def said(self) -> str:
        return self._log.read_text()

    def end(self, how: signal.Signals = signal.SIGTERM, patience: float = 30.0) -> int:
        """End it; its exit code."""
        assert self.child is not None
        self.child.send_signal(how)
        return self.child.wait(patience)

    def close(self) -> None:
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        stop_all(self.folder / "work" / FOLDER)


class World:
    """A server, its agents, and what its users can see."""

    def __init__(self, folder: Path, silence: str = "60s") -> None:
        self.folder = folder
        (folder / "tradewind.toml").write_text(SETTINGS.format(silence=silence))
        (folder / "machines.yaml").write_text(MACHINES)
        self.server = RealServer(folder)
        self.agents: list[AgentProcess] = []

    def close(self) -> None:
        for agent in self.agents:
            agent.close()
        self.server.kill()

    def ask(self, method: str, path: str, body: Any = None, token: str = "") -> Any:
        headers = {"Authorization": f"Bearer {token or self.server.token}"}
        answer = httpx.request(method, f"{self.server.url}/api/v1{path}", json=body, headers=headers, timeout=20)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def token(self, name: str, token: str = "", **more: Any) -> str:
        """A token for an agent."""
        made: str = self.ask("POST", "/agent-tokens", {"agent": name, **more}, token)["token"]
        return made

    def agent(self, name: str = "desk", *options: str, token: str = "", slots: int = 1, **more: Any) -> AgentProcess:
        """An agent that runs."""
        file = self.folder / f"{name}.token"
        if not file.exists():
            file.write_text(token or self.token(name, **more))
        grace = [] if "--grace" in options else ["--grace", "1"]
        agent = AgentProcess(self.server.url, file, "--slots", str(slots), *grace, *options)
        self.agents.append(agent)
        return agent.start()

    def tenant(self, name: str) -> str:
        """A token of a new tenant."""
        self.ask("PUT", f"/tenants/{name}", {})
        made: str = self.ask("POST", "/tokens", {"name": name, "role": "user", "tenant": name})["token"]
        return made

    def submit(self, text: str, token: str = "", uploads: dict[str, bytes] | None = None) -> str:
        sent = {
            name: {"name": f"{name}.txt", "data": b64encode(data).decode()} for name, data in (uploads or {}).items()
        }
        made: str = self.ask("POST", "/runs", {"workflow": text, "uploads": sent, "cache": False}, token)["id"]
        return made

    def ended(self, run: str, token: str = "") -> Any:
        """A run, once it has ended."""

        def look() -> Any:
            found = self.ask("GET", f"/runs/{run}", token=token)
            return found if found["status"] in ("done", "failed", "cancelled") else None

        return eventually(look)

    def outputs(self, run: str) -> Any:
        """What a run has given, which must be done."""
        assert self.ended(run)["status"] == "done", self.explained(run)
        return self.ask("GET", f"/runs/{run}/results")["results"]

    def attempts(self, run: str) -> list[tuple[int, str]]:
        rows = self.ask("GET", f"/runs/{run}/attempts")["items"]
        return sorted((each["attempt"], each["outcome"]) for each in rows)

    def explained(self, run: str) -> str:
        """What is known of a run that did not end as it should have."""
        attempts = self.ask("GET", f"/runs/{run}/attempts")["items"]
        said = "\n".join(agent.said for agent in self.agents)
        return f"{self.ask('GET', f'/runs/{run}')}\n{attempts}\n{said}"


def eventually(look: Callable[[], Any], patience: float = 60.0) -> Any:
    """What something gives once it gives anything; the patience only ends a test that would hang."""
    until = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.02)
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
