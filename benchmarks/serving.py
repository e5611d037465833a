"""A server as anybody would start it, which can be killed and started again on the same port and folder."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

COMMAND = [sys.executable, "-m", "tradewind"]
PATIENCE = 120
"""Seconds until it must be ready."""


class Server:
    """One process; it runs while the context lasts."""

    def __init__(self, folder: Path, settings: str = "", command: Sequence[str] = COMMAND) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self._command = command
        self.process: subprocess.Popen[bytes] | None = None
        self._log = folder / "server.log"
        (folder / "tradewind.toml").write_text(settings)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [*self._command, "server", "--port", str(self.port), "--folder", str(self.folder)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stderr=log)
        until = time.monotonic() + PATIENCE
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server does not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What it answers to its first administrator."""
        found = re.search(r"tw_\w[\w-]+", self._log.read_text())
        headers = {"Authorization": f"Bearer {found[0]}"} if found else {}
        answer = httpx.request(method, f"{self.url}/api/v1{path}", json=body, headers=headers, timeout=60)
        return answer.raise_for_status().json()

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz").is_success
        except httpx.HTTPError:
            return False
