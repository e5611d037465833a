"""Workers and the server killed at random while a divisible job runs: what is delivered, and how often.

    python -m benchmarks divisible-kills [--quick]

Everything is a real process: a server with access control on SQLite, a few sites (`tradewind worker`), and a program
for each partition. SIGKILL hits programs, frontends whose programs then go on without them, whole sites, and the
server. Afterwards the deliveries in the store are laid side by side: each iteration must be there once.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psutil

from benchmarks.measure import fresh_folder
from benchmarks.serving import COMMAND, Server

SITES, SLOTS = 3, 4
SLOW = "0.002"
"""Seconds that an iteration takes while there is killing."""
PAUSE = 0.3
"""Seconds between two kills, on average."""
PATIENCE = 600
"""Seconds that the job may take when all kills are done."""
_TELL = 50
"""Kills between two words on how far it is."""
TIMES = '[divisible]\nfloor = "200ms"\nsilence = "5s"\nstart = "20s"\nstep = "5s"\ninactive = "20s"\n'
PROGRAM = """
import os, time, tradewind

def added(one, other):
    return {name: one[name] + other[name] for name in one}

with tradewind.iterations(combine=added) as it:
    for chunk in it:
        time.sleep(len(chunk) * float(open(os.environ["PACE"]).read()))
        it.deliver({"count": len(chunk), "sum": sum(chunk), "rests": sum(n % 1009 for n in chunk)})
"""


class Site:
    """A frontend that is started again whenever it has died, and its programs."""

    def __init__(self, server: Server, name: str) -> None:
        self._folder = server.folder / name
        self._folder.mkdir()
        (self._folder / "token").write_text(server.ask("POST", "/site-tokens", {"site": name})["token"])
        (server.folder / "program.py").write_text(PROGRAM)
        self._command = [*COMMAND, "worker", "--server", server.url, "--token-file", "token", "--slots", str(SLOTS)]
        self._command += ["--folder", "work", "--grace", "2", "--", sys.executable, str(server.folder / "program.py")]
        self._pace = server.folder / "pace"
        self._process: subprocess.Popen[bytes] | None = None

    def revive(self) -> None:
        """Start it, unless it runs."""
        if self._process is None or self._process.poll() is not None:
            with (self._folder / "log").open("ab") as log:
                variables = os.environ | {"PACE": str(self._pace)}
                self._process = subprocess.Popen(self._command, cwd=self._folder, env=variables, stderr=log)

    def programs(self) -> list[psutil.Process]:
        """Those at work, also for frontends that have died."""
        return [
            each for each in _running(self._command[-1]) if Path(each.info["cwd"] or "/").is_relative_to(self._folder)
        ]

    def kill_frontend(self) -> int:
        """End the frontend at once; how many processes that are."""
        if self._process is None or self._process.poll() is not None:
            return 0
        self._process.kill()
        self._process.wait()
        return 1

    def kill_all(self) -> int:
        """End everything at once, as if the machine were gone."""
        programs = self.programs()
        return self.kill_frontend() + sum(_kill(each) for each in programs)

    def stop(self) -> None:
        """Let it drain."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        self.kill_all()


def _running(program: str) -> list[psutil.Process]:
    """The processes that run a program, whosever children they are."""
    return [each for each in psutil.process_iter(["cmdline", "cwd"]) if (each.info["cmdline"] or [])[1:2] == [program]]


def _kill(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        process.kill()
        return 1
    return 0


def run(*, quick: bool) -> list[dict[str, Any]]:
    """A job under fire."""
    return [killed(kills=30, restarts=3) if quick else killed(kills=1_000, restarts=20)]


def killed(kills: int, restarts: int, seed: int = 1) -> dict[str, Any]:
    """What is left of a job after so many kills of workers and of the server."""
    chance = Random(seed)
    folder = fresh_folder()
    iterations = 40_000 * max(kills, 10)  # far more than can be done meanwhile
    counts = {"program": 0, "frontend": 0, "site": 0, "server": 0}
    began = time.perf_counter()
    with Server(folder, TIMES) as server:
        (folder / "pace").write_text(SLOW)
        slots = SITES * SLOTS
        body = {"iterations": iterations, "target": 2 * PAUSE * kills, "reducer": "sum"}
        job = server.ask("POST", "/jobs", body | {"initial": slots, "maximum": slots})["id"]
        sites = [Site(server, f"site-{number}") for number in range(SITES)]
        try:
            downs = sorted(chance.sample(range(kills), restarts))
            said = 0
            while (done := counts["program"] + counts["frontend"] + counts["site"]) < kills:
                if done >= said:
                    said = done - done % _TELL + _TELL
                    _say(f"{done} of {kills} workers and the server {counts['server']} times", began)
                time.sleep(chance.uniform(0, 2 * PAUSE))
                for site in sites:
                    site.revive()
                if downs and done >= downs[0]:
                    downs.pop(0)
                    server.kill()
                    time.sleep(chance.uniform(0, 2))
                    server.start()
                    counts["server"] += 1
                _strike(chance, sites, counts)
            between = server.ask("GET", f"/jobs/{job}")["delivered"]
            _say(f"all {done} workers, {between:,} of {iterations:,} iterations delivered; now to the end", began)
            (folder / "pace.new").write_text("0")
            (folder / "pace.new").replace(folder / "pace")
            shown = _ended(server, job, sites)
            result = server.ask("GET", f"/jobs/{job}/results")["result"] if shown["state"] == "done" else {}
        finally:
            for site in sites:
                site.stop()
            for process in _running(str(folder / "program.py")):
                _kill(process)
    missing, twice = _counted(folder / "store.db", iterations)
    return {
        "iterations": iterations,
        **{f"killed_{name}": count for name, count in counts.items()},
        "delivered_under_fire": between,
        "state": shown["state"],
        "delivered": shown["delivered"],
        "missing": missing,
        "twice": twice,
        "result": "right" if result == _expected(iterations) else "wrong",
        "partitions": shown["partitions"]["made"],
        "wall_s": round(time.perf_counter() - began, 1),
    }


def _say(what: str, began: float) -> None:
    print(f"killed {what}, after {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def _strike(chance: Random, sites: list[Site], counts: dict[str, int]) -> None:
    """Kill something: mostly a program, now and then a frontend, or all of a site."""
    site, drawn = chance.choice(sites), chance.random()
    if drawn < 0.03:
        counts["site"] += site.kill_all()
    elif drawn < 0.1:
        counts["frontend"] += site.kill_frontend()
    elif programs := site.programs():
        counts["program"] += _kill(chance.choice(programs))


def _ended(server: Server, job: str, sites: list[Site]) -> dict[str, Any]:
    """The job when it is over."""
    until = time.monotonic() + PATIENCE
    shown: dict[str, Any] = {"state": "silent", "delivered": 0, "partitions": {"made": 0}}
    while time.monotonic() < until:
        for site in sites:
            site.revive()
        with suppress(httpx.HTTPError):
            shown = server.ask("GET", f"/jobs/{job}")
            if shown["state"] not in ("queued", "running"):
                return shown
        time.sleep(0.5)
    return shown


def _counted(store: Path, iterations: int) -> tuple[int, int]:
    """Iterations that nobody delivered, and that were delivered more than once."""
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT ranges FROM deliveries").fetchall()
    missing = twice = reached = 0
    for begin, end in sorted((begin, end) for (text,) in rows for begin, end in json.loads(text)):
        missing += max(0, begin - reached)
        twice += max(0, min(end, reached) - begin)
        reached = max(reached, end)
    return missing + iterations - reached, twice


def _expected(iterations: int) -> dict[str, int]:
    last = iterations - 1
    rests = sum(number % 1009 for number in range(iterations))
    return {"count": iterations, "sum": last * iterations // 2, "rests": rests}
