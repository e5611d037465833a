"""The whole server as a process of its own, with access control, tenants, and times that suit tests."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from real_server import RealServer

TIMES = '[divisible]\nfloor = "100ms"\nsilence = "5s"\nstep = "2s"\ninactive = "5s"\n'
SQUARES = """
import time, tradewind
with tradewind.iterations() as it:
    for chunk in it:
        time.sleep(0.0005 * len(chunk))
        it.deliver(sum(n * n for n in chunk))
"""


def squares(iterations: int) -> int:
    return sum(number * number for number in range(iterations))


class FullServer(RealServer):
    """A server, and what its callers may ask."""

    def __init__(self, folder: Path, *arguments: str, settings: str = TIMES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tradewind.toml").write_text(settings)
        (folder / "squares.py").write_text(SQUARES)
        super().__init__(folder, *arguments)
        self.folder = folder
        self.command = [sys.executable, str(folder / "squares.py")]

    def client(self, token: str = "") -> httpx.Client:
        """For the administrator, or for whoever has a token."""
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token or self.token}"}, timeout=20)

    def ask(self, method: str, path: str, body: Any = None, token: str = "") -> Any:
        with self.client(token) as client:
            answer = client.request(method, f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def tenant(self, name: str) -> str:
        """A token of a new tenant."""
        self.ask("PUT", f"/tenants/{name}", {})
        made: str = self.ask("POST", "/tokens", {"name": name, "role": "user", "tenant": name})["token"]
        return made

    def site_token(self, site: str, token: str = "") -> Path:
        file = self.folder / f"{site}.token"
        file.write_text(self.ask("POST", "/site-tokens", {"site": site}, token)["token"])
        return file


class StandBy(FullServer):
    """One that need not lead: it answers as soon as it lives."""

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/healthz").is_success
        except httpx.TransportError:
            return False


@contextmanager
def started(*servers: FullServer) -> Iterator[None]:
    """Run them for a while."""
    try:
        for server in servers:
            server.start()
        yield
        for server in servers:
            server.stop()
    finally:
        for server in servers:
            server.kill()
