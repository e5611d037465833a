"""The plan command, as a user runs it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tradewind.cli import application

WORKFLOW = """
name: diamond
tasks:
  a: {runtime: 10m}
  b: {needs: [a], runtime: 20m}
  c: {needs: [a], runtime: 15m}
  d: {needs: [b, c], runtime: 5m}
"""


@pytest.fixture
def diamond(tmp_path: Path) -> Path:
    path = tmp_path / "diamond.yaml"
    path.write_text(WORKFLOW)
    return path


def plan(*arguments: object) -> Result:
    return CliRunner().invoke(application("plan", "policies"), ["plan", *(str(argument) for argument in arguments)])


def test_a_loose_deadline_needs_one_cheap_machine(diamond: Path) -> None:
    done = plan(diamond, "--deadline", "1h")
    assert done.exit_code == 0, done.output
    assert "ends after 50m00s, 10m00s before its deadline, for 50 (1 small)" in done.output
    assert "tightest deadline: 23m20s" in done.output


def test_a_deadline_that_cannot_be_met_says_by_how_much(diamond: Path) -> None:
    done = plan(diamond, "--deadline", "10m")
    assert done.exit_code == 4
    assert "it would be 13m20s late" in done.output
    assert "tightest deadline that can be met is 23m20s" in done.output


def test_the_tightest_deadline_can_be_met(diamond: Path) -> None:
    assert plan(diamond, "--deadline", "23m20s").exit_code == 0
    assert plan(diamond, "--deadline", "23m19s").exit_code == 4


def test_json_and_picture(diamond: Path, tmp_path: Path) -> None:
    picture = tmp_path / "machines.svg"
    done = plan(diamond, "--deadline", "40m", "--json", "--picture", picture)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["is_met"]
    assert found["finish_s"] <= 2400
    assert {step["task"] for step in found["steps"]} == {"a", "b", "c", "d"}
    assert all(step["begin"] < step["end"] <= step["latest"] for step in found["steps"])
    assert found["tightest"]["deadline_s"] == 1400
    assert picture.stat().st_size > 1000


def test_the_deadline_of_the_file_counts_where_none_is_given(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(WORKFLOW + "deadline: 1h\n")
    assert plan(path).exit_code == 0
    path.write_text(WORKFLOW)
    assert plan(path).exit_code == 2


def test_a_step_without_a_time_gets_a_guess_and_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("name: w\ntasks:\n  a: {}\n")
    done = plan(path, "--deadline", "1h")
    assert done.exit_code == 0
    assert "nothing is known of how long 'a' takes" in done.output


def test_own_machines_and_other_policies(diamond: Path, tmp_path: Path) -> None:
    machines = tmp_path / "machines.yaml"
    machines.write_text("machines:\n  only: {price: 1/h, billing: hour, boot: 5m}\n")
    for policy in ("scs", "greedy", "gain"):
        done = plan(diamond, "--deadline", "3h", "--machines", machines, "--policy", policy)
        assert done.exit_code == 0, done.output
        assert "only" in done.output
