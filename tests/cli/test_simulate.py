"""The simulate command, as a user runs it."""

import json
import re
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


def test_many_policies_are_shown_in_full_below_each_other(diamond: Path) -> None:
    names = ["pfa", "scs+", "scs", "gain", "greedy", "demand", "plf", "scf"]
    done = run("simulate", diamond, *(word for name in names for word in ("--policy", name)))
    assert done.exit_code == 0, done.output
    assert "…" not in done.stdout
    heads = [line.split() for line in done.stdout.splitlines() if line.startswith(" ")]
    assert len(heads) > 1
    assert [name for head in heads for name in head] == names


def test_roles_are_named_once_in_a_heading(diamond: Path) -> None:
    done = run("simulate", diamond, "--policy", "pfa", "--placer", "slacksched", "--balancer", "ruper")
    assert done.stdout.splitlines()[0].strip() == "pfa/slacksched/ruper"


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
        (["simulate", "diamond.yaml", "--interval", "0"], "--interval must be greater than zero"),
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


NEEDY = """
name: needy
tasks:
  a: {runtime: 60, capabilities: [gpu]}
  b: {needs: [a], runtime: 120}
"""
TYPES = """
machines:
  plain: {price: 1, billing: minute}
  gpu: {price: 2, billing: minute, capabilities: [gpu]}
"""


@pytest.fixture
def needy(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "needy.yaml").write_text(NEEDY)
    (tmp_path / "machines.yaml").write_text(TYPES)
    return tmp_path / "needy.yaml", tmp_path / "machines.yaml"


def test_work_that_never_finishes_says_why_and_ends_as_run_would(needy: tuple[Path, Path]) -> None:
    work, machines = needy
    done = run("simulate", work, "--machines", machines, "--budget", "1.5", "--policy", "demand")
    assert done.exit_code == 3
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in done.stdout.splitlines()[1:])
    assert rows["makespan"] == rows["slowdown, mean"] == rows["waiting, mean"] == "-"
    assert rows["never finished"] == "1 of 1"
    assert (
        "error: under demand, needy: task 'a' (needs gpu): 1.5 of the budget of 1.5 is left, and a machine takes 2"
        in done.stderr
    )
    ran = subprocess.run(
        [sys.executable, "-m", "tradewind", "run", str(work), "--machines", str(machines), "--budget", "0.5"],
        capture_output=True,
        check=False,
        cwd=work.parent,
    )
    assert ran.returncode == done.exit_code


def test_the_figures_of_work_that_never_finishes_claim_nothing(needy: tuple[Path, Path]) -> None:
    work, machines = needy
    done = run("simulate", work, "--machines", machines, "--budget", "1.5", "--policy", "demand", "--json", "-")
    assert done.exit_code == 3
    figures = json.loads(done.stdout)
    assert figures["unfinished_workflows"] == 1
    assert figures["makespan_s"] is None
    assert figures["slowdown"] == {"mean": None, "median": None, "p95": None}
    (stuck,) = figures["unfinished"]
    assert (stuck["workflow"], stuck["task"], stuck["requires"]) == ("needy", "a", "gpu")
    assert (stuck["cause"], stuck["tasks_left"]) == ("budget is spent", 2)


def test_a_policy_that_never_finishes_is_left_out_of_the_comparison(needy: tuple[Path, Path]) -> None:
    work, machines = needy
    done = run("simulate", work, "--machines", machines, "--budget", 2, "-p", "fixed", "-p", "demand")
    assert done.exit_code == 3
    assert done.stdout.splitlines()[0].split() == ["demand"]
    assert "left out: fixed never finished 1 of 1" in done.stdout
    assert "error: under fixed, needy: task 'a' (needs gpu): 0 of the budget of 2 is left" in done.stderr


def test_work_that_fails_says_why_and_ends_as_run_would(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text("name: slow\ntasks:\n  a: {runtime: 5m, timeout: 1m}\n  b: {needs: [a], runtime: 5m}\n")
    done = run("simulate", path)
    assert done.exit_code == 1
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in done.stdout.splitlines()[1:])
    assert rows["failed workflows"] == "1"
    assert rows["makespan"] == rows["slowdown, mean"] == "-"
    assert "error: under demand, slow failed: task 'a': it ran longer than 1m00s" in done.stderr
    assert json.loads(run("simulate", path, "--json", "-").stdout)["makespan_s"] is None


def test_a_policy_that_rents_nothing_that_work_could_run_on_is_named_as_the_cause(needy: tuple[Path, Path]) -> None:
    work, machines = needy
    done = run("simulate", work, "--machines", machines, "-p", "fixed", "-P", "machines=1", "-P", "type=plain")
    assert done.exit_code == 1
    assert "task 'a' (needs gpu): the policy holds no machine that could take it" in " ".join(done.stderr.split())


DAX = """<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="d" jobCount="2" childCount="1">
  <job id="1" namespace="n" name="first" version="1"/>
  <job id="2" namespace="n" name="second" version="1" runtime="30"/>
  <child ref="2"><parent ref="1"/></child>
</adag>
"""
WFFORMAT = """{"name": "w", "schemaVersion": "1.5", "workflow": {
  "specification": {"tasks": [
    {"id": "1", "name": "first", "parents": [], "children": ["2"]},
    {"id": "2", "name": "second", "parents": ["1"], "children": []}], "files": []},
  "execution": {"makespanInSeconds": 30, "executedAt": "2024-01-01T00:00:00Z", "tasks": [
    {"id": "1"}, {"id": "2", "runtimeInSeconds": 30}], "machines": []}}}
"""
NATIVE = "name: n\ntasks:\n  first: {}\n  second: {needs: [first], runtime: 30}\n"
PROGRAM = """
name: p
steps:
  first: {run: "true", cpus: 2}
  second: {run: "true", needs: [first], runtime: 30}
"""
MACHINES = "machines:\n  only: {price: 1, billing: minute, cpus: 2}\n"


@pytest.mark.parametrize(
    ("name", "text"), [("w.dax", DAX), ("w.json", WFFORMAT), ("w.yaml", NATIVE), ("p.yaml", PROGRAM)]
)
def test_what_declares_no_run_time_takes_a_minute_with_a_warning(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    (tmp_path / "machines.yaml").write_text(MACHINES)
    done = run("simulate", name, "--machines", "machines.yaml", "--json", "-")
    assert done.exit_code == 0, done.output
    figures = json.loads(done.stdout)
    assert figures["makespan_s"] == 90
    assert figures["slowdown"]["mean"] == pytest.approx(1) or name == "p.yaml"
    (warning,) = figures["warnings"]
    assert warning.startswith("nothing is known of how long 'first' takes: taken as a minute")
    assert "runtime: 5m" in warning
    assert f"warning: {warning}" in done.stderr


def test_what_declares_that_it_takes_no_time_takes_none(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(NATIVE.replace("first: {}", "first: {runtime: 0}"))
    done = run("simulate", path, "--json", "-")
    figures = json.loads(done.stdout)
    assert (figures["makespan_s"], figures["warnings"]) == (30, [])


def test_a_run_time_for_one_type_holds_for_others_by_their_speed(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("name: w\ntasks:\n  a: {runtimes: {slow: 60}, capabilities: [x]}\n")
    machines = tmp_path / "machines.yaml"
    machines.write_text("machines:\n  slow: {price: 1}\n  fast: {price: 1, speed: 2, capabilities: [x]}\n")
    done = run("simulate", path, "--machines", machines, "--json", "-")
    assert json.loads(done.stdout)["warnings"] != []  # nothing that can run it has a time
    machines.write_text(
        "machines:\n  slow: {price: 9, capabilities: [x], limit: 0}\n  fast: {price: 1, speed: 2, capabilities: [x]}\n"
    )
    done = run("simulate", path, "--machines", machines, "--json", "-")
    figures = json.loads(done.stdout)
    assert (figures["makespan_s"], figures["warnings"]) == (30, [])


def test_learned_run_times_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text('name: p\nsteps:\n  only: {run: "true"}\n')
    guessed = json.loads(run("simulate", "p.yaml", "--json", "-").stdout)
    assert guessed["makespan_s"] == 60
    command = [sys.executable, "-m", "tradewind", "run", "p.yaml"]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    done = run("simulate", "p.yaml", "--json", "-")
    learned = json.loads(done.stdout)
    assert 0 < learned["makespan_s"] < 60
    assert learned["warnings"] == []
    assert "how long 'only' takes was learned from earlier runs" in done.stderr


def test_steps_without_a_time_beside_others_in_a_chain_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(PROGRAM.replace(", cpus: 2", ""))
    done = run("simulate", path, "--folder", tmp_path / "none")
    assert "warning: 'first' declares no run time" in done.stderr
