"""Deadline policies on real processes: the example's stream, and a deadline given on the command line."""

import asyncio
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "deadlines" / "stream.py"
COMMAND = [sys.executable, "-m", "tradewind", "run"]


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("deadline_stream", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("policy", ["scs", "scs+"])
def test_a_stream_of_jobs_with_deadlines_on_machines_of_this_host(tmp_path: Path, policy: str) -> None:
    found = asyncio.run(example().stream(tmp_path, jobs=3, policy=policy, deadline=120, spacing=0.2, unit=0.4))
    assert found.done == 3
    assert found.late == 0
    assert found.cost > 0
    assert found.predictions >= 3


def test_a_deadline_on_the_command_line_is_warned_of_and_ends_with_code_4(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text('name: late\ntasks:\n  a: {run: "sleep 0.5", runtime: 30s}\n')
    machines = "machines:\n  small: {price: 0.06/h, billing: minute}\n"
    (tmp_path / "machines.yaml").write_text(machines)
    words = ["flow.yaml", "--machines", "machines.yaml", "--policy", "scs+", "--deadline", "200ms", "--json"]
    done = subprocess.run([*COMMAND, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout)["exit_code"] == 4
    assert "will miss its deadline by" in done.stderr


def test_what_was_learned_is_kept_for_the_next_session(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text('name: w\ntasks:\n  a: {run: "sleep 0.1"}\n')
    (tmp_path / "machines.yaml").write_text("machines:\n  small: {price: 0.06/h, billing: minute}\n")
    words = ["flow.yaml", "--machines", "machines.yaml", "--policy", "scs+", "--no-cache"]

    def once() -> str:
        done = subprocess.run([*COMMAND, *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert "nothing is known of how long 'a' takes" in once()
    assert "nothing is known" not in once()
