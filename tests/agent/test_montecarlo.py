"""The Monte Carlo example: by hand, and as a divisible step, with the answer that one process alone finds."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "montecarlo"
sys.path.insert(0, str(EXAMPLE))
option: Any = import_module("option")
PATHS = 300_000


def test_the_example_runs_by_hand() -> None:
    program = str(EXAMPLE / "option.py")
    found = subprocess.run([sys.executable, program, "200000"], capture_output=True, text=True, check=True)
    assert "from 200,000 paths; exact 7.1" in found.stdout


def test_the_example_runs_as_a_divisible_step(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tradewind", "run", str(EXAMPLE / "price.yaml"), "-p", f"paths={PATHS}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert json.loads(outputs["paths"]) == PATHS
    expected = option.payoffs(0, PATHS)["paid"] / 1e6 / PATHS
    assert float(outputs["price"]) == pytest.approx(expected, rel=1e-12)
