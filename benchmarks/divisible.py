"""Ten thousand partitions of one job that report every ten seconds: what a report costs, and how long it takes.

`python -m benchmarks.divisible [--partitions N] [--interval S] [--seconds S] [--batch N]`: the service is a process of
its own, on SQLite with synced commits; the callers are another one, over loopback, on a hundred connections. With
`--batch`, sites report for so many of their slots at once.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil
import uvicorn

from tradewind.core.divisible.settings import Settings
from tradewind.server.divisible.app import alone
from tradewind.server.divisible.office import open_office

CONNECTIONS = 100
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def serve(folder: Path, port: int) -> None:
    office = open_office(folder / "store.db", folder, Settings(), durability="strict")
    uvicorn.run(alone(office), host="127.0.0.1", port=port, log_level="error", access_log=False, timeout_keep_alive=75)


class Callers:
    def __init__(self, port: int, count: int, interval: float, batch: int) -> None:
        self.port = port
        self.count = count
        self.interval = interval
        self.batch = batch
        self.took: list[float] = []
        self.bad = 0
        self.token = ""
        self.parts: list[tuple[str, int, str]] = []
        self.done = [0] * count
        self.ranges: list[list[list[int]]] = [[] for _ in range(count)]
        self.numbers = [0] * count

    def prepare(self) -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=600) as client:
            self.token = client.post("/api/v1/site-tokens", json={"site": "a"}).json()["token"]
            auth = {"Authorization": f"Bearer {self.token}"}
            slots = {"slots": self.count, "max_slots": self.count}
            client.put("/worker/v1/sites/a", json=slots, headers=auth).raise_for_status()
            body = {"iterations": 10**12, "target": 20 * self.interval, "initial": self.count, "maximum": self.count}
            client.post("/api/v1/jobs", json=body).raise_for_status()
            told = client.post("/worker/v1/sites/a/fetch", json={"key": "k", "slots": self.count}, headers=auth).json()
            self.parts = [(each["path"], each["partition"], each["lease"]) for each in told["partitions"]]

    async def call(
        self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], path: str, token: str, body: bytes
    ) -> bytes:
        reader, writer = streams
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        content = await reader.readexactly(length)
        self.bad += b" 200 " not in answer[:20]
        return content

    def body(self, place: int, elapsed: float) -> dict[str, object]:
        """A report that delivers the first half of what the partition holds."""
        ranges = self.ranges[place]
        self.done[place] += 1
        deliveries = []
        if ranges:
            begin, end = ranges[0]
            middle = begin + max(1, (end - begin) // 4)
            self.numbers[place] += 1
            self.done[place] += middle - begin - 1
            deliveries = [{"number": self.numbers[place], "ranges": [[begin, middle]], "result": 1}]
        return {"done": self.done[place], "elapsed": elapsed, "deliveries": deliveries}

    async def start(self) -> None:
        async def some(first: int) -> None:
            streams = await asyncio.open_connection("127.0.0.1", self.port)
            for place in range(first, self.count, CONNECTIONS):
                path, _, lease = self.parts[place]
                self.ranges[place] = json.loads(await self.call(streams, f"{path}/start", lease, b""))["ranges"]
            streams[1].close()

        await asyncio.gather(*(some(first) for first in range(CONNECTIONS)))

    async def report(self, seconds: float) -> None:
        began = time.perf_counter()

        async def some(first: int) -> None:
            streams = await asyncio.open_connection("127.0.0.1", self.port)
            mine = range(first, self.count, CONNECTIONS)
            groups = [mine[at : at + self.batch] for at in range(0, len(mine), self.batch)]
            pause = self.interval / len(groups)
            at = began + pause * first / CONNECTIONS
            turn = 0
            while at < began + seconds:
                await asyncio.sleep(max(0.0, at - time.perf_counter()))
                group = groups[turn % len(groups)]
                elapsed = at - began + 1
                if self.batch == 1:
                    path, _, lease = self.parts[group[0]]
                    sent = json.dumps(self.body(group[0], elapsed)).encode()
                    path, token = f"{path}/report", lease
                else:
                    job = self.parts[0][0].split("/")[4]
                    rows = [{"job": job, "partition": self.parts[p][1], **self.body(p, elapsed)} for p in group]
                    sent, path, token = json.dumps({"reports": rows}).encode(), "/worker/v1/sites/a/reports", self.token
                content = json.loads(await self.call(streams, path, token, sent))
                self.took.append(time.perf_counter() - at)
                answers = [content] if self.batch == 1 else content["answers"]
                for place, told in zip(group, answers, strict=True):
                    self.ranges[place] = told.get("ranges", [])
                turn += 1
                at += pause
            streams[1].close()

        await asyncio.gather(*(some(first) for first in range(CONNECTIONS)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--interval", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--serve", nargs=2)
    given = parser.parse_args()
    if given.serve:
        serve(Path(given.serve[0]), int(given.serve[1]))
        return
    port = 20_000 + os.getpid() % 20_000
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([sys.executable, "-m", "benchmarks.divisible", "--serve", folder, str(port)])
        try:
            run(server, Callers(port, given.partitions, given.interval, given.batch), given.seconds)
        finally:
            server.terminate()
            server.wait()


def run(server: "subprocess.Popen[bytes]", callers: Callers, seconds: float) -> None:
    for _ in range(300):
        try:
            httpx.get(f"http://127.0.0.1:{callers.port}/api/v1/jobs")
            break
        except httpx.HTTPError:
            time.sleep(0.2)
    callers.prepare()
    asyncio.run(callers.start())
    process = psutil.Process(server.pid)
    before, began = sum(process.cpu_times()[:2]), time.perf_counter()
    asyncio.run(callers.report(seconds))
    wall = time.perf_counter() - began
    cpu = sum(process.cpu_times()[:2]) - before
    took = sorted(callers.took)
    reports = len(took) * callers.batch
    cuts = statistics.quantiles(took, n=100)
    print(
        f"{callers.count:,} partitions, {reports / wall:,.0f} reports a second in {len(took) / wall:,.0f} calls;"
        f" median {1e3 * cuts[49]:.0f} ms, p99 {1e3 * cuts[98]:.0f} ms, worst {1e3 * took[-1]:.0f} ms;"
        f" {1e6 * cpu / reports:.0f} us of the service's processor time for a report,"
        f" {cpu / wall:.0%} of a processor; {callers.bad} refused"
    )


if __name__ == "__main__":
    main()
