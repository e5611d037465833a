"""The Monte Carlo example on real processes of different speed, killed at random: exactly N paths, the right price."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from running import Service, service, start_worker, stop, wait_for

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "montecarlo"))
option: Any = import_module("option")

PROGRAM = str(Path(option.__file__))
PATHS = 2_000_000
SPEEDS = {"fast": 0.004, "slow": 0.008, "slower": 0.016}
"""Seconds for a thousand paths, at each site."""
UNDER_FIRE = 100
"""Times as slow while there is killing, so that the job cannot end meanwhile."""
KILLS = 6


def programs(workers: list["subprocess.Popen[bytes]"]) -> list[psutil.Process]:
    """The programs that workers have started."""
    found = []
    for worker in workers:
        try:
            found += psutil.Process(worker.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            continue
    return found


def stop_all(workers: Iterable["subprocess.Popen[bytes]"]) -> None:
    """All at once, for a program that sleeps is waited for."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        stop(worker)


def checked(running: Service, job: str) -> None:
    """Each path counted once, and the sum that one process alone would find."""
    done = running.done(job, within=120)
    assert done["state"] == "done", done
    assert done["delivered"] == PATHS
    result = running.get(f"/jobs/{job}/results")["result"]
    expected = option.payoffs(0, PATHS)
    assert result == expected
    assert result["paid"] / 1e6 / PATHS == pytest.approx(option.formula(), abs=0.05)


def test_the_example_runs_by_hand() -> None:
    found = subprocess.run([sys.executable, PROGRAM, "200000"], capture_output=True, text=True, check=True)
    assert "from 200,000 paths; exact 7.1" in found.stdout


def test_workers_and_service_killed_at_random_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    chance = random.Random(5)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with service(tmp_path) as running:
        body = {"iterations": PATHS, "target": 8, "reducer": "sum", "initial": 3, "maximum": 4}
        job = running.post("/jobs", body)["id"]
        tokens = {site: running.token(site) for site in SPEEDS}

        def begin(site: str, slower: float) -> "subprocess.Popen[bytes]":
            pause = f"OPTION_PAUSE={SPEEDS[site] * slower}"
            return start_worker(
                running.url, tokens[site], "--", "nice", "-n", "5", "env", pause, sys.executable, PROGRAM
            )

        def strike() -> bool:
            alive = programs(list(workers.values()))
            if alive:
                chance.choice(alive).kill()
            return bool(alive)

        workers = {site: begin(site, slower=UNDER_FIRE) for site in SPEEDS}
        try:
            for number in range(KILLS):
                wait_for(strike, 60)
                time.sleep(chance.uniform(0, 1))
                if number in (2, 4):
                    running.kill()
                    running.start()
                if number == 3:
                    site = chance.choice(sorted(workers))
                    for process in programs([workers[site]]):
                        process.kill()
                    workers[site].send_signal(signal.SIGKILL)
                    workers[site].wait()
                    workers[site] = begin(site, slower=UNDER_FIRE)
            assert running.get(f"/jobs/{job}")["state"] in ("queued", "running"), "all of it hit a job that went on"
            stop_all(workers.values())
            workers |= {site: begin(site, slower=1) for site in SPEEDS}
            checked(running, job)
        finally:
            stop_all(workers.values())
