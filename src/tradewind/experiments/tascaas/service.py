"""The live service of the study: a server with three sites, each an agent, and what the study asks of it."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil

_PATIENCE = 60.0
"""Seconds to wait until the server and its sites are up."""
_TRADEWIND = (sys.executable, "-m", "tradewind")
_PROGRAM = "tradewind.experiments.tascaas.program"
_MACHINES = "machines: {none: {price: 0, limit: 0}}\n"
"""The server itself rents nothing: all machines are those of sites."""
_DOCUMENT = """
name: live
steps:
  iterate:
    divisible: {{iterations: {iterations}, run: "true", within: {within}s, most: {most}, partitions: 1, reduce: sum}}
    capabilities: [site]
    outputs: {{result: return}}
outputs: {{result: "{{{{ iterate.result }}}}"}}
"""


class Shown(NamedTuple):
    """A job as the server shows it."""

    is_over: bool
    submitted: float
    ended: float | None
    target: float
    made: int
    """Shares that were started."""


class Service:
    """A server and its sites at work."""

    def __init__(self, client: httpx.Client, folder: Path) -> None:
        self._client = client
        self._folder = str(folder)
        self._targets: dict[str, float] = {}

    def submit(self, iterations: int, target: float, maximum: int) -> str:
        """Submit a job whose results are added up; return its id."""
        text = _DOCUMENT.format(iterations=iterations, within=target, most=maximum)
        answer = self._client.post("/api/v1/runs", json={"workflow": text, "cache": False}).raise_for_status()
        id = str(answer.json()["id"])
        self._targets[id] = target
        return id

    def show(self, id: str) -> Shown:
        """Return how far a job is."""
        run = self._client.get(f"/api/v1/runs/{id}").json()
        tasks = self._client.get(f"/api/v1/runs/{id}/tasks", params={"limit": 1000}).json()["items"]
        made = sum("#" in task["name"] and task["attempts"] > 0 for task in tasks)
        return Shown(run["ended"] is not None, run["submitted"], run["ended"], self._targets[id], made)

    def result(self, id: str) -> Any:
        """Return the result of a job."""
        found = self._client.get(f"/api/v1/runs/{id}/results").json().get("results") or {}
        return found.get("result")

    def programs(self) -> list[psutil.Process]:
        """Return the programs that run."""
        found = []
        for process in psutil.process_iter():
            try:
                if _PROGRAM in process.cmdline() and process.cwd().startswith(self._folder):
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found


@contextmanager
def served(folder: Path, sites: Mapping[str, tuple[int, float]], times: Path) -> Iterator[Service]:
    """Run a server with sites of some slots and speeds; programs note the times of their reports in a folder."""
    with ExitStack() as stack:
        client = stack.enter_context(_server(folder))
        for name, size in sites.items():
            stack.enter_context(_site(client, folder, times, name, *size))
        _await(lambda: len(client.get("/api/v1/agents").json()["items"]) == len(sites))
        yield Service(client, folder)


@contextmanager
def _server(folder: Path) -> Iterator[httpx.Client]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    machines = folder / "machines.yaml"
    machines.write_text(_MACHINES)
    options = ["--no-auth", "--port", str(port), "--folder", str(folder / "server"), "--accept-unknown"]
    command = [*_TRADEWIND, "server", *options, "--machines", str(machines), "--policy", "tascaas"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            _await(lambda: client.get("/readyz").status_code == 200)
            yield client
    finally:
        _end(process)


@contextmanager
def _site(client: httpx.Client, folder: Path, times: Path, name: str, slots: int, speed: float) -> Iterator[None]:
    """Run an agent with a machine for each slot."""
    token = folder / f"{name}.token"
    token.write_text(client.post("/api/v1/agent-tokens", json={"agent": name}).raise_for_status().json()["token"])
    agent = [*_TRADEWIND, "agent", "--server", str(client.base_url), "--token-file", str(token), "--reduce"]
    options = ["--slots", str(slots), "--folder", str(folder / name), "--grace", "2", "--provides", "site"]
    settings = [f"TASCAAS_SPEED={speed}", "TASCAAS_SPREAD=0.15", f"TASCAAS_TIMES={times}"]
    command = [*agent, *options, "--", "env", *settings, sys.executable, "-m", _PROGRAM]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            if is_so():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise TimeoutError("the server, or a site, does not come up")
