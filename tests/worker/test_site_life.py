"""Real workers of a whole server: lost networks, stubborn programs, drains without a service, hints and hooks."""

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
from full_server import FullServer, squares, started
from running import start_worker, stop, wait_for, worker

T = TypeVar("T")
TIMES = '[divisible]\nfloor = "100ms"\nsilence = "2s"\nstep = "2s"\ninactive = "5s"\n'
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here', flush=True); time.sleep(99)"
)


class Line:
    """A network between workers and a server that can be cut: all connections break, and new ones are refused."""

    def __init__(self, port: int) -> None:
        self._there = port
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._is_cut = False
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._joined, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def cut(self) -> None:
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._break)

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()

        async def end() -> None:
            self._server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._do(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _break(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        there = await asyncio.open_connection("127.0.0.1", self._there)
        ends = {writer, there[1]}
        self._open |= ends
        await asyncio.gather(_copied(reader, there[1]), _copied(there[0], writer))
        self._open -= ends


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while some := await reader.read(1 << 16):
            writer.write(some)
            await writer.drain()
    writer.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullServer]:
    made = FullServer(tmp_path_factory.mktemp("life"), settings=TIMES)
    with started(made):
        yield made


@pytest.mark.parametrize("seconds", [0.5, 4.0], ids=["shorter than a lease", "longer than a lease"])
def test_a_network_that_was_cut_costs_time_and_nothing_else(server: FullServer, seconds: float) -> None:
    line = Line(int(server.url.rpartition(":")[2]))
    body = {"iterations": 8_000, "target": 30, "reducer": "sum", "initial": 2, "maximum": 2}
    job = server.ask("POST", "/jobs", body | {"command": server.command})["id"]
    try:
        with worker(line.url, server.site_token(f"cut-{seconds:g}"), slots=2, most=2):
            wait_for(lambda: 0 < server.ask("GET", f"/jobs/{job}")["delivered"] < 8_000)
            line.cut()
            time.sleep(seconds)
            line.mend()
            wait_for(lambda: server.ask("GET", f"/jobs/{job}")["state"] == "done", within=90)
        shown = server.ask("GET", f"/jobs/{job}")
        assert (shown["delivered"], shown["assigned"], shown["unassigned"]) == (8_000, 0, 0)
        assert server.ask("GET", f"/jobs/{job}/results")["result"] == squares(8_000)
    finally:
        line.close()


def test_a_program_that_does_not_end_is_made_to_and_its_part_goes_back(server: FullServer) -> None:
    job = server.ask("POST", "/jobs", {"iterations": 10, "command": [sys.executable, "-c", STUBBORN]})["id"]
    token = server.site_token("stubborn")
    process = start_worker(server.url, token, "--grace", "0.3", "--keep", slots=1, most=1)
    try:
        wait_for(lambda: any("here" in file.read_text() for file in token.with_suffix(".work").glob("*/out")))
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        stop(process)
    shown = server.ask("GET", f"/jobs/{job}")
    assert (shown["state"], shown["assigned"], shown["partitions"]["live"]) == ("queued", 0, 0)
    assert not [each for each in server.ask("GET", "/sites")["items"] if each["site"] == "stubborn"]
    server.ask("POST", f"/jobs/{job}/cancel")


def test_a_worker_drains_also_while_nobody_answers(server: FullServer) -> None:
    line = Line(int(server.url.rpartition(":")[2]))
    job = server.ask("POST", "/jobs", {"iterations": 10**6, "target": 10, "command": server.command})["id"]
    token = server.site_token("alone")
    process = start_worker(line.url, token, "--grace", "1", slots=1, most=1)
    try:
        wait_for(lambda: server.ask("GET", f"/jobs/{job}")["delivered"] > 0)
        line.cut()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        wait_for(lambda: server.ask("GET", f"/jobs/{job}")["partitions"]["live"] == 0)
        assert server.ask("GET", f"/jobs/{job}")["assigned"] == 0, "the lease ran out, and all of it went back"
    finally:
        stop(process)
        line.close()
    server.ask("POST", f"/jobs/{job}/cancel")


def test_a_site_grows_when_work_waits_and_its_hook_hears_of_it(server: FullServer, tmp_path: Path) -> None:
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\necho $1 >> {tmp_path}/told\n")
    hook.chmod(0o755)
    body = {"iterations": 10**6, "target": 10, "initial": 3, "maximum": 3, "command": server.command}
    job = server.ask("POST", "/jobs", body)["id"]
    with worker(server.url, server.site_token("grows"), "--hook", str(hook), slots=1, most=4):
        wait_for(lambda: server.ask("GET", f"/jobs/{job}")["partitions"]["live"] == 3)
        server.ask("POST", f"/jobs/{job}/cancel")
        wait_for(lambda: (tmp_path / "told").read_text().split()[-1] == "1", within=60)
    told = [int(slots) for slots in (tmp_path / "told").read_text().split()]
    assert max(told) >= 3
    assert max(told) <= 4
