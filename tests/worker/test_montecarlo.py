"""The Monte Carlo example on real processes of different speed, killed at random: exactly N paths, the right price."""

import os
import random
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from running import Service, service, start_worker, stop

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "montecarlo"))
option: Any = import_module("option")

PROGRAM = str(Path(option.__file__))
PATHS = 2_000_000


def programs(workers: list["subprocess.Popen[bytes]"]) -> list[psutil.Process]:
    """The programs that workers have started."""
    found = []
    for worker in workers:
        try:
            found += psutil.Process(worker.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            continue
    return found


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
        speeds = {"fast": "0.004", "slow": "0.008", "slower": "0.016"}
        tokens = {site: running.token(site) for site in speeds}

        def begin(site: str) -> "subprocess.Popen[bytes]":
            command = ("--", "nice", "-n", "5", "env", f"OPTION_PAUSE={speeds[site]}", sys.executable, PROGRAM)
            return start_worker(running.url, tokens[site], *command)

        workers = {site: begin(site) for site in speeds}
        try:
            kills = age = 0
            for _ in range(400):
                time.sleep(0.25)
                state = running.get(f"/jobs/{job}")["state"]
                if state not in ("queued", "running"):
                    break
                alive = programs(list(workers.values()))
                age += bool(alive)
                if alive and age % 5 == 1 and kills < 6:  # at first sight, then now and again
                    chance.choice(alive).kill()
                    kills += 1
                if age == 16 and alive:
                    site = chance.choice(sorted(workers))
                    for process in programs([workers[site]]):
                        process.kill()
                    workers[site].send_signal(signal.SIGKILL)
                    workers[site].wait()
                    workers[site] = begin(site)
                if age in (9, 20) and alive:
                    running.kill()
                    running.start()
            checked(running, job)
            assert kills >= 1
        finally:
            for worker in workers.values():
                stop(worker)
