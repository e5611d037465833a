"""The live part: real processes over HTTP at a hundredth of the paper's times, some of them killed.

A quarter of the paper's slots, as a site has one process for each; programs wait instead of computing, so that two
processors can play fourteen. Starting a process takes a second or more, a hundred times as much of a job's time as in
the paper: the targets are the paper's longer ones.
"""

import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from tradewind.experiments.claims import Claim

FACTOR = 0.01
SITES = {"on-premises": (8, 120.0), "federated": (4, 80.0), "desktop": (2, 200.0)}
"""Slots, and iterations a second before they are scaled."""
TARGETS = (3600, 2700, 2100)
ITERATIONS = 1_000_000
KILLS = 6
PATIENCE = 240.0
STEPS = 2


@dataclass(frozen=True, slots=True)
class Lived:
    """What came of it."""

    jobs: list[dict[str, Any]]
    results: list[Any]
    kills: int
    trip: float
    """Seconds for a call, in the median."""
    reports: float
    """For a partition."""


def claims(step: Callable[[str], None], seed: int) -> list[Claim]:
    """Run it, and judge."""
    lived = run(seed)
    step("live")
    return [judge_times(lived), judge_exact(lived), judge_cost(lived)]


def judge_times(lived: Lived) -> Claim:
    """Whether jobs end in time."""
    rows = [(job["ended"] - job["submitted"], job["target"], job["partitions"]["made"]) for job in lived.jobs]
    shown = ", ".join(f"{took:.1f} of {target:.0f} s ({made} partitions)" for took, target, made in rows)
    return Claim(
        "1 live",
        "the same with real processes at a hundredth of the times",
        "-",
        shown,
        holds=all(took <= 1.05 * target for took, target, _ in rows),
        note=f"14 slots, {lived.kills} programs killed meanwhile; late by a report interval at most.",
    )


def judge_exact(lived: Lived) -> Claim:
    """Whether each iteration counts once."""
    whole = [ITERATIONS, ITERATIONS * (ITERATIONS - 1) // 2]
    right = sum(result == whole for result in lived.results)
    return Claim(
        "6 live",
        "the same with real processes, killed at random",
        "-",
        f"{right} of {len(lived.results)} jobs with exactly {ITERATIONS:,} iterations and the right sum,"
        f" {lived.kills} programs killed",
        holds=right == len(lived.results),
    )


def judge_cost(lived: Lived) -> Claim:
    """What balancing costs over HTTP, at the paper's times."""
    share = lived.reports * lived.trip / (min(TARGETS) / 2)
    return Claim(
        "5 live",
        "balancing costs less than 0.1 % of the run time, over HTTP",
        "0.3 to 1 s for a call",
        f"{1e3 * lived.trip:.1f} ms for a call in the median; {lived.reports:.0f} reports of a partition: {share:.4%}"
        f" of half the time of a job of {min(TARGETS)} s",
        holds=share < 0.001,
        note="Programs report between chunks and wait for the answer; on loopback, with all else that goes on here.",
    )


def run(seed: int) -> Lived:
    """Three jobs on three sites, with some of their programs killed."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        client = stack.enter_context(served(folder))
        workers = [stack.enter_context(site(client, folder, *each)) for each in SITES.items()]
        _await(lambda: len(client.get("/api/v1/sites").json()["items"]) == len(SITES))
        ids = []
        for target in TARGETS:
            body = {"iterations": ITERATIONS, "target": target * FACTOR, "reducer": "sum", "maximum": 8}
            ids.append(client.post("/api/v1/jobs", json=body).json()["id"])
        kills, trips = 0, []
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            before = time.perf_counter()
            shown = [client.get(f"/api/v1/jobs/{id}").json() for id in ids]
            trips.append((time.perf_counter() - before) / len(ids))
            if all(job["state"] not in ("queued", "running") for job in shown):
                break
            programs = [child for worker in workers for child in _programs(worker)]
            if programs and kills < KILLS and chance.random() < 0.15:
                _kill(chance.choice(programs))
                kills += 1
            time.sleep(0.25)
        shown = [client.get(f"/api/v1/jobs/{id}").json() for id in ids]
        shown = [job | {"ended": job["ended"] or job["submitted"] + PATIENCE} for job in shown]
        results = [client.get(f"/api/v1/jobs/{id}/results").json().get("result") for id in ids]
        counts = [row["reports"] for id in ids for row in client.get(f"/api/v1/jobs/{id}/partitions").json()["items"]]
        return Lived(shown, results, kills, sorted(trips)[len(trips) // 2], sum(counts) / max(1, len(counts)))


@contextmanager
def served(folder: Path) -> Iterator[httpx.Client]:
    """A service, and somebody who may ask it everything."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    module = "tradewind.experiments.tascaas.service"
    process = subprocess.Popen([sys.executable, "-m", module, str(folder), str(port), str(FACTOR)])  # noqa: S603
    address = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=address, headers={"Authorization": "Bearer live"}, timeout=30) as client:
            _await(lambda: client.get("/api/v1/jobs").status_code == 200)
            yield client
    finally:
        process.kill()
        process.wait()


@contextmanager
def site(client: httpx.Client, folder: Path, name: str, size: tuple[int, float]) -> "Iterator[subprocess.Popen[bytes]]":
    """A worker of its own, with a process for each slot."""
    slots, speed = size
    token = folder / f"{name}.{secrets.token_hex(2)}"
    token.write_text(client.post("/api/v1/site-tokens", json={"site": name}).json()["token"])
    program = ["env", f"TASCAAS_SPEED={speed / FACTOR}", "TASCAAS_SPREAD=0.15", sys.executable, "-m"]
    options = ["--slots", str(slots), "--max-slots", str(slots), "--folder", str(folder / name), "--grace", "2"]
    command = [
        sys.executable,
        "-m",
        "tradewind",
        "worker",
        "--server",
        str(client.base_url),
        "--token-file",
        str(token),
    ]
    command += [*options, "--", *program, "tradewind.experiments.tascaas.program"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _programs(worker: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    try:
        return psutil.Process(worker.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _kill(program: psutil.Process) -> None:
    try:
        program.kill()
    except psutil.NoSuchProcess:
        return


def _await(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if is_so():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise TimeoutError("the service, or a site, does not come up")
