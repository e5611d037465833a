"""Programs, machines and the server killed at random while a divisible step runs: what is delivered, and how often.

    python -m benchmarks divisible-kills [--quick]

Everything is a real process: a server with access control on SQLite, agents that play machines on this host, and a
program for each share. SIGKILL hits programs, machines with all that runs there, and the server, which the machines
outlive. Afterwards the deliveries in the store are laid side by side: each iteration must be there once.
"""

import json
import signal
import sqlite3
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psutil

from benchmarks.measure import fresh_folder
from benchmarks.serving import Server

MACHINES, SLOTS = 3, 4
SLOW = "0.002"
"""Seconds that an iteration takes while there is killing."""
PAUSE = 0.3
"""Seconds between two kills, on average."""
PATIENCE = 600
"""Seconds that the run may take when all kills are done."""
_TELL = 50
"""Kills between two words on how far it is."""
SETTINGS = '[divisible]\nsilence = "5s"\n[machines]\nfile = "machines.yaml"\n'
TYPES = f"machines: {{m: {{price: 0, slots: {SLOTS}, limit: {MACHINES}}}}}\n"
PROGRAM = """
import time, tradewind

def added(one, other):
    return {name: one[name] + other[name] for name in one}

with tradewind.iterations(combine=added) as it:
    for chunk in it:
        time.sleep(len(chunk) * float(open(PACE).read()))
        it.deliver({"count": len(chunk), "sum": sum(chunk), "rests": sum(n % 1009 for n in chunk)})
"""


def run(*, quick: bool) -> list[dict[str, Any]]:
    """A step under fire."""
    return [killed(kills=30, restarts=3) if quick else killed(kills=1_000, restarts=20)]


def killed(kills: int, restarts: int, seed: int = 1) -> dict[str, Any]:
    """What is left of a divisible step after so many kills of programs, machines and the server."""
    chance = Random(seed)
    folder = fresh_folder()
    iterations = 40_000 * max(kills, 10)  # far more than can be done meanwhile
    counts = {"program": 0, "machine": 0, "server": 0}
    began = time.perf_counter()
    program = folder / "program.py"
    program.write_text(f"PACE = {str(folder / 'pace')!r}\n{PROGRAM}")
    (folder / "machines.yaml").write_text(TYPES)
    (folder / "pace").write_text(SLOW)
    with Server(folder, SETTINGS) as server:
        try:
            run = server.ask("POST", "/runs", {"workflow": _workflow(program, iterations, 2 * PAUSE * kills)})["id"]
            downs = sorted(chance.sample(range(kills), restarts))
            said = 0
            while (done := counts["program"] + counts["machine"]) < kills:
                if done >= said:
                    said = done - done % _TELL + _TELL
                    _say(f"{done} of {kills} and the server {counts['server']} times", began)
                time.sleep(chance.uniform(0, 2 * PAUSE))
                if downs and done >= downs[0]:
                    downs.pop(0)
                    server.kill()
                    time.sleep(chance.uniform(0, 2))
                    server.start()
                    counts["server"] += 1
                _strike(chance, program, counts)
            between = sum(end - begin for begin, end in _delivered(folder))
            _say(f"all {done}, {between:,} of {iterations:,} iterations delivered; now to the end", began)
            (folder / "pace.new").write_text("0")
            (folder / "pace.new").replace(folder / "pace")
            status = _ended(server, run)
        finally:
            for machine in {each.pid: each for each in map(_machine, _programs(program)) if each is not None}.values():
                _kill(machine)
            for process in _programs(program):
                _kill(process)
    missing, twice = _counted(_delivered(folder), iterations)
    results = list(folder.glob("runs/*/price.*/result"))
    result = json.loads(results[-1].read_text()) if results else {}
    return {
        "iterations": iterations,
        **{f"killed_{name}": count for name, count in counts.items()},
        "delivered_under_fire": between,
        "status": status,
        "missing": missing,
        "twice": twice,
        "result": "right" if result == _expected(iterations) else "wrong",
        "wall_s": round(time.perf_counter() - began, 1),
    }


def _workflow(program: Path, iterations: int, within: float) -> dict[str, Any]:
    job = {"iterations": iterations, "run": f"exec {sys.executable} {program}", "within": within, "reduce": "sum"}
    slots = MACHINES * SLOTS
    return {"steps": {"price": {"divisible": job | {"partitions": slots, "most": slots}, "outputs": {"all": "return"}}}}


def _programs(program: Path) -> list[psutil.Process]:
    """The processes of shares, whosever children they are."""
    return [each for each in psutil.process_iter(["cmdline"]) if (each.info["cmdline"] or [])[1:2] == [str(program)]]


def _machine(program: psutil.Process) -> psutil.Process | None:
    """The agent that runs a program."""
    with suppress(psutil.NoSuchProcess):
        return program.parent()
    return None


def _kill(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGKILL)
        return 1
    return 0


def _strike(chance: Random, program: Path, counts: dict[str, int]) -> None:
    """Kill something: mostly a program, now and then a machine."""
    found = _programs(program)
    if not found:
        return
    victim = chance.choice(found)
    machine = _machine(victim) if chance.random() < 0.05 else None
    if machine is not None and machine.pid > 1:
        counts["machine"] += _kill(machine)
    else:
        counts["program"] += _kill(victim)


def _ended(server: Server, run: str) -> str:
    """How the run has ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(httpx.HTTPError):
            status = str(server.ask("GET", f"/runs/{run}")["status"])
            if status != "active":
                return status
        time.sleep(0.5)
    return "silent"


def _delivered(folder: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        rows = connection.execute("SELECT ranges FROM share_deliveries").fetchall()
    return sorted((begin, end) for (text,) in rows for begin, end in json.loads(text))


def _counted(delivered: list[tuple[int, int]], iterations: int) -> tuple[int, int]:
    """Iterations that were never delivered, and that were delivered more than once."""
    missing = twice = reached = 0
    for begin, end in delivered:
        missing += max(0, begin - reached)
        twice += max(0, min(end, reached) - begin)
        reached = max(reached, end)
    return missing + iterations - reached, twice


def _say(what: str, began: float) -> None:
    print(f"killed {what}, after {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def _expected(iterations: int) -> dict[str, int]:
    last = iterations - 1
    rests = sum(number % 1009 for number in range(iterations))
    return {"count": iterations, "sum": last * iterations // 2, "rests": rests}
