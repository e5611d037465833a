"""The live part: real processes over HTTP at a hundredth of the paper's times, some of them killed.

A quarter of the paper's slots, as a site has one process for each; programs wait instead of computing, so that two
processors can play fourteen. Starting a process takes a second or more, a hundred times as much of a job's time as in
the paper: the targets are the paper's longer ones. Programs time their own reports.
"""

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from tradewind.experiments.claims import Claim
from tradewind.experiments.tascaas.service import Shown, served

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

    jobs: list[Shown]
    results: list[Any]
    kills: int
    times: list[float]
    """Seconds that each report took, as its program saw it."""
    reports: float
    """For a partition."""


def claims(step: Callable[[str], None], seed: int) -> list[Claim]:
    """Run it, and judge."""
    lived = run(seed)
    step("live")
    return [judge_times(lived), judge_exact(lived), judge_cost(lived)]


def judge_times(lived: Lived) -> Claim:
    """Whether jobs end in time."""
    rows = [((job.ended or job.submitted + PATIENCE) - job.submitted, job.target, job.made) for job in lived.jobs]
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
    typical = median(lived.times) if lived.times else float("inf")
    worst = sorted(lived.times)[int(0.99 * len(lived.times))] if lived.times else float("inf")
    share = lived.reports * typical / (min(TARGETS) / 2)
    return Claim(
        "5 live",
        "balancing costs less than 0.1 % of the run time, over HTTP",
        "0.3 to 1 s for a call",
        f"{1e3 * typical:.1f} ms for a report in the median of {len(lived.times)}, {1e3 * worst:.0f} ms at the 99th"
        f" percentile; {lived.reports:.0f} reports of a partition: {share:.4%} of half the time of a job of"
        f" {min(TARGETS)} s",
        holds=share < 0.001,
        note="An upper bound: programs continue while a report is on its way. Timed in the programs, on loopback.",
    )


def run(seed: int) -> Lived:
    """Run three jobs on three sites, with some of their programs killed."""
    chance = random.Random(seed)
    sites = {name: (slots, speed / FACTOR) for name, (slots, speed) in SITES.items()}
    with tempfile.TemporaryDirectory() as name:
        folder, times = Path(name), Path(name) / "times"
        times.mkdir()
        with served(folder, sites, times) as service:
            ids = [service.submit(ITERATIONS, target * FACTOR, 8) for target in TARGETS]
            kills, until = 0, time.monotonic() + PATIENCE
            while time.monotonic() < until and not all(service.show(id).is_over for id in ids):
                programs = service.programs()
                if programs and kills < KILLS and chance.random() < 0.15:
                    _kill(chance.choice(programs))
                    kills += 1
                time.sleep(0.25)
            shown, results = [service.show(id) for id in ids], [service.result(id) for id in ids]
        counts = [len(_noted(file)) for file in times.iterdir()]
        noted = [time for file in sorted(times.iterdir()) for time in _noted(file)]
        return Lived(shown, results, kills, noted, sum(counts) / max(1, len(counts)))


def _noted(file: Path) -> list[float]:
    """What a program has noted; its last line may be cut off if it was killed."""
    return [float(line) for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _kill(program: psutil.Process) -> None:
    try:
        program.kill()
    except psutil.NoSuchProcess:
        return
