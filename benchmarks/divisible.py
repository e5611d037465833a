"""Shares that report to one server process: what a report costs it, and how long the answer takes.

    python -m benchmarks divisible [--quick]

The server is a process of its own, with access control, on SQLite with synced commits; the callers are this process,
over loopback, in place of the programs. All shares belong to one step, and every report delivers something. The rate is
the same in each row, that of 10,000 shares which report every ten seconds, so that the cost of a report can be
compared. The answer is timed from when the report was due, also if it could not be sent then.
"""

import asyncio
import json
import sys
import time
from statistics import quantiles
from typing import Any

import psutil

from benchmarks.measure import fresh_folder
from benchmarks.serving import Server

RATE = 1_000
"""Reports a second."""
CONNECTIONS = 100
PATIENCE = 600
"""Seconds until all shares must have been started."""
SETTINGS = '[machines]\nfile = "machines.yaml"\n'
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Callers:
    """All shares of a step, on some connections."""

    def __init__(self, server: Server, count: int, *, keeps: bool) -> None:
        self.took: list[float] = []
        self.refused = 0
        self._port = server.port
        self._count = count
        self._keeps = keeps
        self._interval = count / RATE
        self._parts = self._fetched(server)
        self._done = [0] * count
        self._ranges: list[list[list[int]]] = [[] for _ in range(count)]
        self._numbers = [0] * count

    def _fetched(self, server: Server) -> list[tuple[str, str]]:
        count = self._count
        job = {"iterations": 10**12, "run": "none", "within": 2_000.0, "partitions": count, "most": count}
        server.ask("POST", "/runs", {"workflow": {"steps": {"price": {"divisible": job}}}})
        orders = server.folder / "orders"
        until = time.monotonic() + PATIENCE
        while not orders.exists() or len(lines := orders.read_text().splitlines()) < count:
            if time.monotonic() > until:
                raise RuntimeError("the server does not start the shares")
            time.sleep(0.2)
        return [(path, lease) for path, lease in map(json.loads, lines)]

    async def start(self) -> None:
        """Begin all shares."""

        async def some(first: int) -> None:
            streams = await self._connected()
            for place in range(first, self._count, CONNECTIONS):
                path, lease = self._parts[place]
                self._ranges[place] = (await self._call(streams, f"{path}/start", lease, b""))["ranges"]
            streams[1].close()

        await asyncio.gather(*(some(first) for first in range(min(CONNECTIONS, self._count))))

    async def report(self, seconds: float) -> None:
        """Report for all shares in turn."""
        began = time.perf_counter()

        async def some(first: int) -> None:
            mine = range(first, self._count, CONNECTIONS)
            pause = self._interval / len(mine)
            at = began + pause * first / CONNECTIONS
            streams = await self._connected()
            turn = 0
            while at < began + seconds:
                await asyncio.sleep(max(0.0, at - time.perf_counter()))
                if not self._keeps:
                    streams[1].close()
                    streams = await self._connected()
                place = mine[turn % len(mine)]
                path, lease = self._parts[place]
                sent = json.dumps(self._body(place, at - began + 1)).encode()
                told = await self._call(streams, f"{path}/report", lease, sent)
                self.took.append(time.perf_counter() - at)
                self._ranges[place] = told.get("ranges", [])
                turn += 1
                at += pause
            streams[1].close()

        await asyncio.gather(*(some(first) for first in range(min(CONNECTIONS, self._count))))

    def _body(self, place: int, elapsed: float) -> dict[str, object]:
        """A report that delivers a quarter of the first range that the share holds."""
        deliveries = []
        if self._ranges[place]:
            begin, end = self._ranges[place][0]
            middle = begin + max(1, (end - begin) // 4)
            self._numbers[place] += 1
            self._done[place] += middle - begin
            deliveries = [{"number": self._numbers[place], "ranges": [[begin, middle]], "result": 1}]
        return {"done": self._done[place], "elapsed": elapsed, "deliveries": deliveries}

    async def _connected(self) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def _call(self, streams: Streams, path: str, lease: str, body: bytes) -> Any:
        reader, writer = streams
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {lease}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        content = await reader.readexactly(length)
        self.refused += b" 200 " not in answer[:20]
        return json.loads(content)


def run(*, quick: bool) -> list[dict[str, Any]]:
    """What reports cost with ever more shares of a step; at last with a new connection for each report."""
    counts = (100, 1_000) if quick else (100, 1_000, 10_000)
    seconds = 5.0 if quick else 30.0
    return [_row(count, seconds, keeps=True) for count in counts] + [_row(counts[-1], seconds, keeps=False)]


def _row(count: int, seconds: float, *, keeps: bool) -> dict[str, Any]:
    folder = fresh_folder()
    (folder / "machines.yaml").write_text(f"machines: {{m: {{price: 0, slots: {count}, limit: 1}}}}\n")
    with Server(folder, SETTINGS, [sys.executable, "-m", "benchmarks.idle_server"]) as server:
        callers = Callers(server, count, keeps=keeps)
        asyncio.run(callers.start())
        assert server.process is not None
        process = psutil.Process(server.process.pid)
        before, own, began = sum(process.cpu_times()[:2]), time.process_time(), time.perf_counter()
        asyncio.run(callers.report(seconds))
        wall = time.perf_counter() - began
        cpu, own = sum(process.cpu_times()[:2]) - before, time.process_time() - own
    reports = len(callers.took)
    cuts = quantiles(callers.took, n=100)
    return {
        "shares": count,
        "connections": f"{CONNECTIONS} kept" if keeps else "one for each",
        "reports_per_s": round(reports / wall),
        "cpu_ms_per_report": round(1e3 * cpu / reports, 3),
        "callers_cpu_ms": round(1e3 * own / reports, 3),
        "p50_ms": round(1e3 * cuts[49], 1),
        "p99_ms": round(1e3 * cuts[98], 1),
        "worst_ms": round(1e3 * max(callers.took), 1),
        "refused": callers.refused,
    }
