"""What one server process holds, measured from other processes on loopback.

    python -m benchmarks server [--quick]

- `GET` of runs per second, beside what bare FastAPI reaches on the same machine in the same run
- a workflow of 100,000 tasks, from the first byte sent to the answer
- event-stream clients at once, and how late an event reaches the last of them
- listing and search among finished tasks
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tradewind.live.store import coding, words
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Changes
from tradewind.live.store.rows import RunRow, UnitRow, run_id
from tradewind.live.store.sql import SqlStore

BARE = """
import uvicorn
from fastapi import FastAPI
app = FastAPI()
ANSWER = {"items": [{"id": "x", "name": "y", "status": "done", "tasks": {"done": 3}}], "next": None}
@app.get("/api/v1/runs")
async def runs(limit: int = 100): return ANSWER
uvicorn.run(app, port=%d, log_level="error", access_log=False)
"""

QUESTIONS = (
    ("list of 100 runs", "/runs"),
    ("list of 100 tasks", "/runs/{run}/tasks"),
    ("search: words", "/search?q=ligo"),
    ("search: many hits", "/search?q=is:task+b"),
    ("search: one in many", "/search?q=is:task+status:failed+task"),
    ("search: status", "/search?q=is:task+status:done"),
    ("search: time", "/search?q=is:task+start:%3E%3D2000-01-01"),
    ("search: nothing", "/search?q=is:task+start:%3E%3D2100-01-01"),
)

CALLER = """
import http.client, sys, time
host, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
connection = http.client.HTTPConnection(host)
end, count = time.perf_counter() + seconds, 0
while time.perf_counter() < end:
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status
    count += 1
print(count / seconds)
"""


@contextmanager
def server(folder: Path, port: int) -> Iterator[str]:
    flags = ["--no-auth", "--port", str(port), "--folder", str(folder)]
    rates = {"TRADEWIND_SERVER__RATE": "1000000", "TRADEWIND_SERVER__BURST": "1000000"}
    with _process([sys.executable, "-m", "tradewind", "server", *flags], port, rates) as url:
        yield url


@contextmanager
def _process(command: list[str], port: int, variables: dict[str, str]) -> Iterator[str]:
    process = subprocess.Popen(command, env=os.environ | variables)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{url}/readyz").status_code in (200, 404):
                    break
            except httpx.HTTPError:
                pass
            time.sleep(0.1)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def rate(url: str, path: str, seconds: float, callers: int = 2) -> float:
    """Requests per second of some processes together."""
    command = [sys.executable, "-c", CALLER, url.removeprefix("http://"), path, str(seconds)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(callers)]
    return sum(float(process.communicate()[0]) for process in running)


def filled(folder: Path, tasks: int, per_run: int = 1000) -> None:
    """A store with so many finished tasks, all of which can be found."""
    store = open_store(folder / "store.db", durability="relaxed")
    assert isinstance(store, SqlStore)
    now = time.time_ns() // 1000
    document = b'{"$":"Workflow"}'
    for number in range(tasks // per_run):
        at = now - 1_000_000 * (tasks // per_run - number)
        name = f"{('montage', 'epigenomics', 'ligo')[number % 3]} {number}"
        row = RunRow(number, run_id(at, number), name, "default", 0, None, at, at + 900_000, "done", {}, None, document)
        first = number * per_run
        units = [
            UnitRow(
                number,
                first + n,
                f"task_{n}_{'abc'[n % 3]}",
                None,
                5 if n == 7 else 4,
                1,
                0,
                0,
                None,
                at,
                at + 9,
                {},
                "",
            )
            for n in range(per_run)
        ]
        store.save(Changes(new_runs=[row], new_units=units))
        entries = [
            (
                unit.number,
                number,
                words.entry(number, "default", unit.chain, status="failed" if unit.state == 5 else ""),
            )
            for unit in units
        ]
        run = [(number, number, words.entry(number, "default", name, status="done", more=row.id))]
        counts = coding.to_text({"4": per_run - 1, "5": 1})

        def write(
            session: Any, entries: Any = entries, run: Any = run, number: int = number, counts: str = counts
        ) -> None:
            session.write_words("task_words", entries)
            session.write_words("run_words", run)
            session.change("INSERT INTO tallies (run, counts) VALUES (:run, :counts)", run=number, counts=counts)

        store.transact(write)
    store.close()


def median(url: str, path: str, times: int = 15) -> float:
    took = []
    with httpx.Client(base_url=url, timeout=60) as client:
        for _ in range(times):
            began = time.perf_counter()
            assert client.get(path).status_code == 200, path
            took.append(time.perf_counter() - began)
    return sorted(took)[len(took) // 2]


async def listeners(url: str, count: int) -> tuple[int, float]:
    """How many of so many clients heard of a submission, and how long it took until the last did."""
    heard: list[float] = []
    ready = asyncio.Semaphore(0)
    host, _, port = url.removeprefix("http://").partition(":")

    async def listen() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while b": \n" not in (line := await reader.readline()) and line:
            pass
        ready.release()
        while line := await reader.readline():
            if b"event: admitted" in line:
                heard.append(time.perf_counter())
                break
        writer.close()

    tasks = [asyncio.create_task(listen()) for _ in range(count)]
    for _ in range(count):
        await ready.acquire()
    began = time.perf_counter()
    async with httpx.AsyncClient() as client:
        await client.post(f"{url}/api/v1/runs", json={"workflow": {"tasks": {"a": {"run": "true"}}}})
    await asyncio.wait(tasks, timeout=30)
    return len(heard), max(heard, default=began) - began


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """Each figure with what is wanted of it."""
    tasks, large, streams, seconds = (20_000, 5_000, 50, 2.0) if quick else (1_000_000, 100_000, 500, 10.0)
    rows: list[dict[str, Any]] = []

    def note(measured: str, figure: float, wanted: str) -> None:
        rows.append({"measured": measured, "figure": round(figure, 2), "wanted": wanted})

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        filled(folder, tasks)
        with _process([sys.executable, "-c", BARE % 8791], 8791, {}) as url:
            bare = rate(url, "/api/v1/runs", seconds)
        note("bare FastAPI, GET per second", bare, "")
        with server(folder, 8792) as url:
            id = httpx.get(f"{url}/api/v1/runs", params={"limit": 1}).json()["items"][0]["id"]
            least = f"at least {min(2000, round(bare / 2))}"
            note("GET of one run per second", rate(url, f"/api/v1/runs/{id}", seconds), least)
            note("GET of a list of one run per second", rate(url, "/api/v1/runs?limit=1", seconds), least)
            for label, path in QUESTIONS:
                note(f"{label}, ms", 1000 * median(url, f"/api/v1{path.format(run=id)}"), "below 100")
            heard, late = asyncio.run(listeners(url, streams))
            note("event-stream clients that heard of a run", heard, str(streams))
            note("until the last of them did, s", late, "")
            note(f"submission of {large:,} tasks, s", submission(url, large), "below 10")
    return rows


def submission(url: str, tasks: int) -> float:
    """Seconds from the first byte sent to the answer."""
    many = {f"t{n}": {"run": "true", "needs": [f"t{n % 10}"] if n > 9 else []} for n in range(tasks)}
    headers = {"Content-Type": "application/yaml"}
    text = json.dumps({"tasks": many})
    began = time.perf_counter()
    answer = httpx.post(f"{url}/api/v1/runs", content=text, headers=headers, timeout=120)
    took = time.perf_counter() - began
    assert answer.status_code == 201, answer.text
    httpx.post(f"{url}/api/v1/runs/{answer.json()['id']}/cancel", timeout=60)
    return took
