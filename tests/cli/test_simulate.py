"""The simulate command, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tradewind.cli import application

WORKFLOW = """
name: diamond
tasks:
  a: {runtime: 60}
  b: {needs: [a], runtime: 120}
  c: {needs: [a], runtime: 90}
  d: {needs: [b, c], runtime: 30}
"""
KEYS = {
    "policy",
    "seed",
    "workflows",
    "tasks",
    "makespan_s",
    "cost_total",
    "cost_per_interval",
    "intervals_over_budget",
    "slowdown",
    "waiting_s",
    "elasticity",
    "busy_share",
    "allocated_share",
    "decision_ms",
    "events",
    "wall_s",
    "tasks_per_s",
}


@pytest.fixture
def diamond(tmp_path: Path) -> Path:
    path = tmp_path / "diamond.yaml"
    path.write_text(WORKFLOW)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(application(), [str(argument) for argument in arguments])


def test_prints_a_table_with_a_column_for_each_policy(diamond: Path) -> None:
    done = run("simulate", diamond, "--policy", "pfa", "--policy", "demand", "--budget", 20)
    assert done.exit_code == 0, done.output
    head = done.stdout.splitlines()[0].split()
    assert head == ["pfa", "demand"]
    assert "intervals over budget" in done.stdout


def test_figures_as_json_have_all_keys(diamond: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "figures.json"
    assert run("simulate", diamond, "--budget", 20, "--json", out).exit_code == 0
    figures = json.loads(out.read_text())
    assert figures.keys() >= KEYS
    assert figures["policy"] == "pfa"
    assert figures["tasks"] == 4
    assert figures["intervals_over_budget"] == 0
    assert figures["decision_ms"].keys() == {"mean", "p95", "max"}
    assert figures["elasticity"].keys() == {"a_u", "a_o", "t_u", "t_o"}


def test_json_to_standard_output_is_nothing_but_json(diamond: Path) -> None:
    assert json.loads(run("simulate", diamond, "--json", "-").stdout)["policy"] == "demand"


def test_the_fastest_machine_alone_gives_the_ideal_makespan(diamond: Path, tmp_path: Path) -> None:
    machines = tmp_path / "machines.yaml"
    machines.write_text("machines: {only: {price: 1, limit: 4}}")
    done = run("simulate", diamond, "--machines", machines, "--policy", "fixed", "-P", "machines=4", "--json", "-")
    figures = json.loads(done.stdout)
    assert figures["makespan_s"] == 60 + 120 + 30
    assert figures["slowdown"]["mean"] == 1.0
    assert figures["cost_total"] == 4 * 4  # four machines for three and a half minutes, begun minutes paid in full


def test_same_seed_gives_the_same_log_and_another_seed_another(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        "workload: [{generate: montage, count: 3, tasks: 30, arrivals: {process: poisson, every: 60s}}]\n"
        "machines: {m: {price: 1, limit: 9}}\nnoise: {deviation: 0.2}\nfaults: {machine_loss: 1.0}\npolicy: pfa\n"
    )
    logs: list[bytes] = []
    for seed in (1, 1, 2):
        path = tmp_path / f"log-{len(logs)}.jsonl"
        assert run("simulate", scenario, "--seed", seed, "--events", path).exit_code == 0
        logs.append(path.read_bytes())
    assert logs[0] == logs[1] != logs[2]
    assert {"submitted", "acquire", "start", "finished"} <= {json.loads(line)["event"] for line in logs[0].splitlines()}


def test_a_file_with_negative_times_can_be_taken_leniently(tmp_path: Path) -> None:
    path = tmp_path / "odd.xml"
    path.write_text('<adag name="odd"><job id="a" name="a" runtime="-1"/><job id="b" name="b" runtime="5"/></adag>')
    assert run("simulate", path).exit_code != 0
    assert run("simulate", path, "--lenient").exit_code == 0


@pytest.mark.parametrize("name", ["timeline.svg", "timeline.png"])
def test_draws_a_picture(diamond: Path, tmp_path: Path, name: str) -> None:
    assert run("simulate", diamond, "--plot", tmp_path / name).exit_code == 0
    assert (tmp_path / name).stat().st_size > 1_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "nowhere.yaml"], "nowhere.yaml"),
        (["simulate", "diamond.yaml", "--policy", "pfaa"], "did you mean 'pfa'?"),
        (["simulate", "diamond.yaml", "-P", "m=1"], "policy 'demand' has no parameter 'm'"),
        (["simulate", "diamond.yaml", "-p", "pfa", "-P", "alpha=2"], "alpha must be at least 0 and below 1"),
        (["simulate", "diamond.yaml", "--budget", "-3"], "negative"),
        (["simulate", "diamond.yaml", "--interval", "0"], "--interval must be above zero"),
        (["simulate", "diamond.yaml", "-P", "m"], "not of the form key=value"),
        (["simulate", "diamond.yaml", "-p", "pfa", "-p", "scf", "--plot", "x.svg"], "take a single --policy"),
    ],
)
def test_mistakes_are_told_in_one_line_with_exit_code_2(diamond: Path, arguments: list[str], message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tradewind", *arguments],
        cwd=diamond.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_lists_policies_with_their_parameters() -> None:
    found = {row["name"]: row for row in json.loads(run("policies", "--json").stdout)}
    assert found.keys() >= {"pfa", "plf", "scf", "demand", "fixed"}
    assert [parameter["name"] for parameter in found["pfa"]["parameters"]] == ["smoothing", "m", "alpha"]
    assert "smoothing" in run("policies").stdout


def test_help_has_examples() -> None:
    assert "tradewind simulate" in run("simulate", "--help").stdout


def test_the_demo_compares_three_policies_and_saves_what_it_made(tmp_path: Path) -> None:
    done = run("demo", "--out", tmp_path / "demo")
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "comparison.svg",
        "figures.json",
        "montage.svg",
        "montage.yaml",
    }
    runs = json.loads((tmp_path / "demo" / "figures.json").read_text())["runs"]
    assert [each["policy"] for each in runs] == ["pfa", "plf", "scf"]
    assert all(each["intervals_over_budget"] == 0 for each in runs)
