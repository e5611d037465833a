"""A server in this process, on a port of its own, over an engine that does as it is told."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tradewind.live.engines.fake import FakeEngine
from tradewind.live.port import Broke, Done, Expected, Listener, Order, Report
from tradewind.server.app import Server, application, config_of, first_token, prepared
from tradewind.server.auth import Role, new_token
from tradewind.server.context import Context
from tradewind.server.settings import Settings

MACHINES = """
machines:
  small: {price: 1, slots: 2, cpus: 4, limit: 10}
  big: {price: 5, slots: 4, cpus: 16, capabilities: [gpu], limit: 2}
"""
HELLO = "name: hello\ntasks:\n  a: {run: echo hi}\n  b: {run: echo ho, needs: [a]}\n  c: {run: echo, needs: [a]}\n"
HANGS = (
    "name: hangs\ntasks:\n  hang: {run: sleep 9}\n  b: {run: echo, needs: [hang]}\n  c: {run: echo, needs: [hang]}\n"
)
FAILS = "name: fails\ntasks:\n  fail: {run: x}\n  b: {run: echo, needs: [fail]}\n  c: {run: echo, needs: [fail]}\n"


class Obedient(FakeEngine):
    """Does not end what is called `hang`, lets fail what is called `fail`, and leaves files behind."""

    def __init__(self, listener: Listener) -> None:
        self.loop = asyncio.get_running_loop()
        super().__init__(listener, soon=self.loop.call_soon, work=self._do)

    def start(self, orders: Sequence[Order]) -> None:
        for order in orders:
            folder = Path(order.folder)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "out").write_text(f"this is {order.chain}\n")
        super().start([order for order in orders if not order.chain.startswith("hang")])

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        """What hangs is not lost."""
        return [report for report in super().check(expected) if not isinstance(report, Broke)]

    @staticmethod
    def _do(order: Order) -> Done | Broke:
        if order.chain.startswith("fail"):
            return Broke(order.unit, order.attempt, order.machine, "error", "exit code 1: the widget was stuck")
        return Done(order.unit, order.attempt, order.machine, {call.id: {} for call in order.calls})


class Site:
    """A server that runs, and clients for it."""

    def __init__(self, context: Context, url: str, token: str | None) -> None:
        self.context = context
        self.url = url
        self.token = token
        self._clients: list[httpx.Client] = []

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token or self.token}"} if token or self.token else {}
        made = httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=20)
        self._clients.append(made)
        return made

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def token_for(self, role: Role, tenant: str | None = None, **more: Any) -> str:
        token, row = new_token("a test", role, tenant, now=0, **more)
        self.context.access.put_token(row)
        return token


def settings_for(folder: Path, **server: Any) -> Settings:
    file = folder / "machines.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(MACHINES)
    values = {"folder": folder, "port": 0, "durability": "relaxed", "heartbeat": 0.5, "grace": 1.0} | server
    return Settings.model_validate(
        {"server": values, "machines": {"file": file, "outlive": False}, "policy": {"interval": "50ms"}}
    )


@contextmanager
def running(settings: Settings, engine: Callable[[Listener], Any] | None = Obedient) -> Iterator[Site]:
    """A server in a thread."""
    said: list[str] = []
    context = prepared(settings, said.append, engine)
    token = first_token(context) if settings.server.auth else None
    config = config_of(application(context, said.append), settings)
    server = Server(config, context)
    listening = socket.socket()
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listening.bind(("127.0.0.1", 0))
    context.service.base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with httpx.Client() as client:
            for _ in range(400):
                try:
                    if client.get(f"{url}/readyz").status_code == 200:
                        break
                except httpx.HTTPError:
                    pass
                threading.Event().wait(0.02)
            else:
                raise AssertionError(f"the server did not start: {said}")
        site = Site(context, url, token)
        try:
            yield site
        finally:
            site.close()
    finally:
        context.stream.close()
        server.should_exit = True
        thread.join(20)
        listening.close()
        assert not thread.is_alive(), "the server did not stop"
        assert not context.failure, said


def submitted(client: httpx.Client, text: str = HELLO, **query: Any) -> dict[str, Any]:
    answer = client.post("/runs", content=text, params=query, headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def awaited(client: httpx.Client, run: str, *statuses: str, looks: int = 400) -> dict[str, Any]:
    """A run once it has one of some statuses."""
    for _ in range(looks):
        found: dict[str, Any] = client.get(f"/runs/{run}").json()
        if found["status"] in (statuses or ("done", "failed", "cancelled")):
            return found
        threading.Event().wait(0.02)
    raise AssertionError(f"the run is still {found}")
