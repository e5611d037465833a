"""A real server as a process of its own, on a port of its own."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from held_port import held_port

COMMAND = [sys.executable, "-m", "tradewind"]
TOKEN = re.compile(r"tw_\w[\w-]+")


class RealServer:
    """A server that can be started, stopped and killed, always on the same port and folder."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        port = held_port()
        self.url = f"http://127.0.0.1:{port}"
        self._folder = folder
        self._log = folder / "server.log"
        self._command = [*COMMAND, "server", *arguments, "--port", str(port)]
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def token(self) -> str:
        """The first administrator's."""
        found = TOKEN.search(self._log.read_text())
        assert found is not None
        return found[0]

    def start(self) -> None:
        """Start it, and wait until it is ready, as long as that takes on a busy host, or has ended."""
        with self._log.open("a") as file:
            self._child = subprocess.Popen(self._command, cwd=self._folder, stdout=file, stderr=file)
        while not self._is_ready():
            assert self._child.poll() is None, self._log.read_text()
            time.sleep(0.1)

    def stop(self) -> None:
        """Ask it to end."""
        assert self._child is not None
        self._child.send_signal(signal.SIGINT)
        code = self._child.wait(30)
        assert code in (0, 130), f"exit code {code}\n{self._log.read_text()}"

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz").is_success
        except httpx.TransportError:
            return False


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[tuple[str, str]]:
    """Address and token of a server that was just started."""
    server = RealServer(folder, *arguments)
    try:
        server.start()
        yield server.url, server.token
        server.stop()
    finally:
        server.kill()
