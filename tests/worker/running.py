"""Services, sites and workers as real processes."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

HERE = Path(__file__).parent
ADMIN = {"Authorization": "Bearer admin"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Service:
    """A process that can be killed and started again on the same port and store."""

    def __init__(self, folder: Path, factor: float = 0.01, store: str = "", port: int = 0) -> None:
        self.folder = folder
        self.factor = factor
        self.store = store
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        arguments = [sys.executable, str(HERE / "divisible_service.py"), str(self.folder), str(self.port)]
        self.process = subprocess.Popen([*arguments, str(self.factor), self.store])
        wait_for(lambda: httpx.get(f"{self.url}/api/v1/jobs", headers=ADMIN).status_code == 200)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def post(self, path: str, body: Any = None) -> Any:
        answer = httpx.post(f"{self.url}/api/v1{path}", json=body, headers=ADMIN, timeout=10)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        answer = httpx.get(f"{self.url}/api/v1{path}", headers=ADMIN, timeout=10)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def token(self, site: str) -> Path:
        file = self.folder / f"{site}.token"
        file.write_text(self.post("/site-tokens", {"site": site})["token"])
        return file

    def done(self, job: str, within: float = 60) -> Any:
        wait_for(lambda: self.get(f"/jobs/{job}")["state"] not in ("queued", "running", "reducing"), within)
        return self.get(f"/jobs/{job}")


def wait_for(is_so: Any, within: float = 30) -> None:
    until = time.monotonic() + within
    while True:
        try:
            if is_so():
                return
        except (httpx.HTTPError, AssertionError):
            pass
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@contextmanager
def service(folder: Path, factor: float = 0.01, store: str = "") -> Iterator[Service]:
    made = Service(folder, factor, store)
    made.start()
    try:
        yield made
    finally:
        made.kill()


@contextmanager
def worker(url: str, token: Path, *more: str, slots: int = 2, most: int = 4) -> Iterator["subprocess.Popen[bytes]"]:
    process = start_worker(url, token, *more, slots=slots, most=most)
    try:
        yield process
    finally:
        stop(process)


def start_worker(url: str, token: Path, *more: str, slots: int = 2, most: int = 4) -> "subprocess.Popen[bytes]":
    arguments = [
        sys.executable,
        "-m",
        "tradewind",
        "worker",
        "--server",
        url,
        "--token-file",
        str(token),
    ]
    arguments += ["--slots", str(slots), "--max-slots", str(most), "--grace", "5"]
    folder = token.with_suffix(".work")
    log = token.with_suffix(".log").open("ab")
    with log:
        return subprocess.Popen(
            [*arguments, "--folder", str(folder), *more],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(HERE)},
        )


def stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
