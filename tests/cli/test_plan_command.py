"""The plan command, as a user runs it."""

import json
import re
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from tradewind.cli import application, progress
from tradewind.core.estimates import ENOUGH, Learned
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Changes
from tradewind.model.machine import MachineType
from tradewind.model.units import MINUTE
from tradewind.model.workflow import Task

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
    assert "too late" in plan(diamond, "--deadline", "2m").output


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_and_kept_out_of_the_output(
    diamond: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    shown = StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=shown, force_terminal=is_terminal, width=120))
    done = plan(diamond, "--deadline", "1h", "--json")
    assert json.loads(done.stdout)["is_met"]
    assert ("planning diamond" in shown.getvalue()) == is_terminal
    assert ("planning diamond, try 2" in shown.getvalue()) == is_terminal


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


PROGRAM = """
name: reads
params:
  ref: {type: text, default: genome}
deadline: 2h
steps:
  split: {run: "split {{ params.ref }}", outputs: {parts: {path: "part-*", many: true}}, runtime: 5m}
  align:
    for_each: "{{ split.parts }}"
    as: part
    steps:
      map: {run: "bwa {{ part }} > o.bam", outputs: {bam: o.bam}, runtime: 20m}
      sort: {run: "sort {{ map.bam }}"}
  merge: {run: merge, needs: [align], runtime: 10m}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "reads.yaml"
    path.write_text(PROGRAM)
    return path


def test_a_program_is_planned_as_it_would_unfold_with_what_is_assumed(program: Path) -> None:
    done = plan(program, "--assume", 'split.parts=["a", "b", "c"]', "--param", "ref=mouse")
    assert done.exit_code == 0, done.output
    assert "reads: ends after 1h15m, 45m00s before its deadline, for 75 (1 small)" in done.output
    assert "map[2] (map + sort)" in done.output
    assert 'assumed: params.ref = "mouse"' in done.output
    assert 'assumed: split.parts = ["a","b","c"]' in done.output
    assert "assumed: steps are planned once they can start" in done.output
    assert "warning: 'sort' declares no run time" in done.output


def test_a_plan_of_a_program_as_json(program: Path) -> None:
    done = plan(program, "--assume", "split.parts=[1, 2]", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [step["task"] for step in found["steps"]] == ["split", "map[0]", "map[1]", "merge"]
    assert {step["latest"] for step in found["steps"]} == {None}, "only a real run knows what follows"
    assert "split.parts = [1,2]" in found["assumed"]


def test_a_program_that_depends_on_what_only_a_run_knows_says_what_to_assume(program: Path) -> None:
    done = plan(program)
    assert done.exit_code == 1
    assert "give what to assume" in str(done.exception)


def test_workflows_take_nothing_to_be_assumed(diamond: Path) -> None:
    assert plan(diamond, "--deadline", "1h", "--assume", "a.b=1").exit_code == 2
    assert plan(diamond, "--deadline", "1h", "--interval", "0s").exit_code == 2


def test_work_that_no_machine_can_do_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("name: w\nsteps:\n  a: {run: x, runtime: 1m, cpus: 4000}\n")
    done = plan(path, "--deadline", "1h")
    assert done.exit_code == 5
    assert "step 'a' needs 4,000 of cpus" in done.stderr
    path.write_text("name: w\ntasks:\n  a: {runtime: 1m, cpus: 4000}\n")
    done = plan(path, "--deadline", "1h")
    assert done.exit_code == 5
    assert "w.yaml:3: task 'a' needs 4,000 of cpus" in done.stderr
    path.write_text("name: w\nsteps:\n  a: {for_each: '{{ range(2) }}', run: x, runtime: 1m, cpus: 4000}\n")
    done = plan(path, "--deadline", "1h")
    assert done.exit_code == 5
    assert "no machine type offers what task 'a[0]' needs" in done.stderr


def test_tasks_that_run_behind_each_other_are_placed_as_a_chain_as_in_a_run(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("name: w\ntasks:\n  a: {runtime: 10m}\n  b: {needs: [a], runtime: 20m}\n")
    (step,) = json.loads(plan(path, "--deadline", "1h", "--json").stdout)["steps"]
    assert (step["task"], step["tasks"], step["begin"], step["end"]) == ("a", ["a", "b"], 0, 1800)


def test_many_tasks_are_shown_together_unless_all_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    tasks = "".join(f"  t{number}: {{name: step, runtime: 10m}}\n" for number in range(60))
    path.write_text(f"name: w\ntasks:\n{tasks}")
    short, full = plan(path, "--deadline", "2h"), plan(path, "--deadline", "2h", "--all")
    assert "t59" not in short.output
    assert re.search(r"^ *step +small +60 +1? *\d+ ", short.output, re.MULTILINE)
    assert all(f"t{number} " in full.output for number in range(60))


def test_what_runs_have_shown_counts_more_than_what_is_declared(diamond: Path, tmp_path: Path) -> None:
    learned = Learned()
    kind: Any = SimpleNamespace(type=MachineType("small"))
    unit: Any = SimpleNamespace(task=Task("a", "a"))
    for _ in range(ENOUGH):
        learned.learn(unit, kind, 40 * MINUTE)
        learned.learn_lag(MachineType("small"), 3 * MINUTE)
    folder = tmp_path / "state"
    folder.mkdir()
    store = open_store(folder / "store.db")
    store.save(Changes(memories=learned.changes()))
    store.close()
    machines = tmp_path / "machines.yaml"
    machines.write_text("machines:\n  small: {price: 1}\n")
    words = (diamond, "--deadline", "2h", "--machines", machines)
    assert "ends after 50m00s" in plan(*words, "--folder", tmp_path / "none").output
    assert "ends after 1h23m" in plan(*words, "--folder", folder).output, "30 minutes more, and three of boot"


def test_a_deadline_looser_than_one_that_can_be_met_is_not_said_to_be_out_of_reach(tmp_path: Path) -> None:
    """GAIN plans both tasks on the cheap type, of which there is one machine, unless it is in a hurry."""
    work, machines = tmp_path / "pair.yaml", tmp_path / "machines.yaml"
    work.write_text("name: pair\ntasks:\n  a: {runtime: 40m}\n  b: {runtime: 40m}\n")
    machines.write_text("machines:\n  slow: {price: 1, limit: 1}\n  fast: {price: 5, limit: 2, speed: 2}\n")
    done = plan(work, "--deadline", "1h", "--machines", machines, "--policy", "gain")
    assert done.exit_code == 0, done.output
    assert "pair: ends after 20m00s, 40m00s before its deadline" in done.output
    assert "tightest deadline: 20m00s" in done.output
    assert "cannot end" not in done.output
    assert "gain would be 20m00s late with a deadline of 1h00m" in " ".join(done.output.split())
    assert "run it with --deadline 20m00s" in " ".join(done.output.split())
    found = json.loads(plan(work, "--deadline", "1h", "--machines", machines, "--policy", "gain", "--json").stdout)
    assert (found["is_met"], found["tightest"]["deadline_s"], len(found["warnings"])) == (True, 1200, 1)
