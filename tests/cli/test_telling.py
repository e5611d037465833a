"""What `tradewind run` and its neighbours tell people at the end, and before anything is spent."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tradewind.cli import COMMANDS, MOVED, application
from tradewind.cli.summary import amount

TRADEWIND = [sys.executable, "-m", "tradewind"]
MACHINES = "machines: {small: {price: 1, cpus: 2, memory: 4GB, limit: 2}}"
LATER_GPU = "steps:\n  a: {run: 'true'}\n  b:\n    run: 'true'\n    needs: [a]\n    gpus: 1\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("TRADEWIND_SERVER", raising=False)
    (tmp_path / "machines.yaml").write_text(MACHINES)
    return tmp_path


def tradewind(*words: str) -> Result:
    return CliRunner().invoke(application(words[0]), list(words))


def in_a_process(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*TRADEWIND, *words], capture_output=True, text=True, check=False, timeout=60)


def test_the_outputs_of_a_program_are_printed_for_people_and_programs(here: Path) -> None:
    (here / "w.yaml").write_text(
        "steps:\n  a: {run: echo 3, outputs: {n: json, t: stdout}}\n"
        "outputs: {n: '{{ a.n }}', twice: '{{ [a.n, a.n] }}', t: '{{ a.t }}'}\n"
    )
    done = tradewind("run", "w.yaml")
    assert done.stdout == "n: 3\ntwice: [3,3]\nt: 3\n"
    again = tradewind("run", "w.yaml", "--json")  # all from the cache
    assert json.loads(again.stdout)["outputs"] == {"n": 3, "twice": [3, 3], "t": "3"}
    assert tradewind("get").stdout.endswith("outputs\n  n: 3\n  twice: [3,3]\n  t: 3\n")
    assert json.loads(tradewind("get", "-o", "json").stdout)["outputs"] == {"n": 3, "twice": [3, 3], "t": "3"}


def test_it_is_told_where_files_are_that_a_run_gives(here: Path) -> None:
    (here / "w.yaml").write_text("steps: {a: {run: 'echo hi > r', outputs: {f: r}}}\noutputs: {f: '{{ a.f }}'}\n")
    assert tradewind("run", "w.yaml").exit_code == 0
    assert Path(json.loads(tradewind("get", "-o", "json").stdout)["outputs"]["f"]).read_text() == "hi\n"


def test_a_pipe_that_fails_is_a_failure_and_is_not_cached(here: Path) -> None:
    (here / "w.yaml").write_text("steps: {a: {run: 'cat missing | sort > r', outputs: {f: r}}}\n")
    for _ in range(2):  # the second time it is not in the cache
        done = tradewind("run", "w.yaml", "--json")
        assert (done.exit_code, json.loads(done.stdout)["failures"][0]["reason"]) == (1, "exit code 1")


def test_a_missing_file_is_told_before_anything_runs(here: Path) -> None:
    (here / "w.yaml").write_text(
        "params:\n  f: {type: file, default: in.txt}\nsteps: {a: {run: 'cat {{ params.f }}'}}\n"
    )
    checked = tradewind("validate", "w.yaml")
    told = f"params.f: no such file: {here / 'in.txt'}; create it, or pass another one with -p f=PATH\n"
    assert (checked.exit_code, checked.stderr) == (2, f"error: w.yaml:2: {told}")
    run = in_a_process("run", "w.yaml")
    assert (run.returncode, run.stderr) == (2, f"error: w.yaml: {told}")
    assert not (here / ".tradewind").exists()
    (here / "in.txt").touch()
    assert tradewind("run", "w.yaml").exit_code == 0


def test_a_missed_deadline_is_told_and_is_the_exit_code_also_after_a_resumption(here: Path) -> None:
    (here / "w.yaml").write_text(
        "deadline: 200ms\nparams: {mark: mark}\nsteps: {a: {run: 'touch {{ params.mark }}; sleep 1'}}\n"
    )
    mark = here / "mark"
    child = subprocess.Popen(
        [*TRADEWIND, "run", "w.yaml", "-p", f"mark={mark}"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    for _ in range(1000):
        if mark.exists():
            break
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130, said
    assert "interrupted: 0 chains done; `tradewind run --resume` resumes it" in said
    assert "0ms" not in said
    assert "`tradewind run --resume` resumes it" in tradewind("get").stderr
    late = in_a_process("run", "--resume")
    assert late.returncode == 4, late.stderr
    assert "after its deadline: 1 chain in" in late.stderr
    assert "after its deadline" in tradewind("watch").stderr


def test_a_failed_run_names_what_to_do_next_and_why_it_failed(here: Path) -> None:
    (here / "w.yaml").write_text("steps: {a: {run: exit 7}}\n")
    failed = in_a_process("run", "w.yaml")
    assert failed.returncode == 1
    run = json.loads(tradewind("get", "-o", "json").stdout)["id"]
    assert f"`tradewind retry {run}` retries the failed tasks" in failed.stderr
    told = tradewind("explain").stdout
    assert told.startswith(f"{run} has failed\na (attempt 1): exit code 7\n")
    assert tradewind("explain", "last", "a").stdout.startswith("a has failed: exit code 7\n")


def test_a_command_that_looks_for_a_file_beside_the_workflow_is_told_how_to_find_it(here: Path) -> None:
    (here / "x.py").write_text("print(1)\n")
    (here / "w.yaml").write_text("steps: {a: {run: cat x.py w.yaml}}\n")
    failed = tradewind("run", "w.yaml")
    assert failed.exit_code == 1
    assert "x.py is next to the workflow" in failed.stderr
    (here / "w.yaml").write_text("steps: {a: {run: 'test x.py = y.py'}}\n")
    assert "beside" not in tradewind("run", "w.yaml").stderr
    (here / "w.yaml").write_text("params: {x: {type: file, default: x.py}}\nsteps: {a: {run: 'cat {{ params.x }}'}}\n")
    assert tradewind("run", "w.yaml").exit_code == 0


def test_why_a_run_failed_is_kept_where_no_task_is_to_blame(here: Path) -> None:
    (here / "w.yaml").write_text("params: {x: {type: text}}\nsteps: {a: {for_each: params.x, run: echo}}\n")
    assert tradewind("run", "w.yaml", "-p", "x=1").exit_code == 1
    reason = "a: for_each takes a list, not text"
    assert json.loads(tradewind("get", "-o", "json").stdout)["reason"] == reason
    for verb in ("get", "explain"):
        assert reason in tradewind(verb).stdout
    assert reason in tradewind("watch").stderr


def test_what_no_machine_can_run_is_told_before_anything_is_spent(here: Path) -> None:
    (here / "w.yaml").write_text(LATER_GPU)
    refused = in_a_process("run", "w.yaml", "--machines", "machines.yaml")
    assert refused.returncode == 5
    assert refused.stderr == "error: w.yaml:3: step 'b' needs 1 of gpus, but machine types offer none\n"
    assert not (here / ".tradewind").exists()
    assert in_a_process("run", "w.yaml").returncode == 5  # loaded ahead
    checked = tradewind("validate", "w.yaml", "--machines", "machines.yaml")
    assert (checked.exit_code, "w.yaml:3: step 'b' needs" in checked.stderr) == (2, True)
    for words in (["plan", "w.yaml", "--deadline", "1h"], ["simulate", "w.yaml"]):
        told = tradewind(*words, "--machines", "machines.yaml")
        assert (told.exit_code, told.stderr) == (5, refused.stderr)


def test_what_turns_out_later_to_be_impossible_ends_with_its_own_code_everywhere(here: Path) -> None:
    (here / "w.yaml").write_text(LATER_GPU.replace("gpus: 1", "gpus: 1\n    for_each: '{{ range(2) }}'"))
    reason = "no machine type offers what task 'b[0]' needs: gpus=1"
    for words in (["run", "w.yaml"], ["simulate", "w.yaml"], ["simulate", "w.yaml", "--json", "-"], ["watch"]):
        told = tradewind(*words, *(["--machines", "machines.yaml"] if len(words) > 1 else []))
        assert told.exit_code == 5, told.output
        assert reason in told.stderr


def test_what_may_be_skipped_is_not_refused_beforehand(here: Path) -> None:
    (here / "w.yaml").write_text(LATER_GPU.replace("gpus: 1", "gpus: 1\n    when: 1 > 2"))
    assert in_a_process("run", "w.yaml", "--machines", "machines.yaml").returncode == 0
    assert tradewind("validate", "w.yaml", "--machines", "machines.yaml").exit_code == 2


def test_a_workflow_without_commands_is_told_to_do_nothing(here: Path) -> None:
    (here / "w.yaml").write_text("tasks: {a: {runtime: 1m}}\n")
    assert "no task has a command to `run`" in in_a_process("run", "w.yaml").stderr
    (here / "w.yaml").write_text("tasks: {a: {runtime: 1m, run: 'true'}}\n")
    assert "no task has a command" not in in_a_process("run", "w.yaml").stderr


def test_default_machines_that_do_not_do_are_said_to_be_defaults(here: Path) -> None:
    (here / "w.yaml").write_text("tasks: {a: {runtime: 1m, memory: 8GB}}\n")
    said = in_a_process("simulate", "w.yaml").stderr
    assert "needs 8GB of memory, but machine types offer none" in said
    assert "--machines" in said
    (here / "machines.yaml").write_text(MACHINES)
    assert "at most 4GB" in in_a_process("simulate", "w.yaml", "--machines", "machines.yaml").stderr


def test_parameters_go_by_the_same_name_everywhere(here: Path) -> None:
    (here / "w.yaml").write_text("params: {n: 1}\nsteps: {a: {run: 'test {{ params.n }} = 2', runtime: 1m}}\n")
    assert tradewind("run", "w.yaml", "--param", "n=2").exit_code == 0
    assert in_a_process("run", "w.yaml", "--param", "n=2").returncode == 0
    for words in (["-p", "n=2"], ["--param", "n=2"]):
        assert tradewind("plan", "w.yaml", "--deadline", "1h", *words).exit_code == 0
    mistaken = tradewind("simulate", "w.yaml", "-p", "n=2")
    assert (mistaken.exit_code, "--param n=2" in mistaken.output) == (2, True)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.00"), (22589.0, "22,589.00"), (1.005, "1.00"), (0.0125, "0.0125"), (0.0000123, "0.000012")],
)
def test_shows_amounts_to_what_matters(value: float, shown: str) -> None:
    assert amount(value) == shown


def test_every_command_stands_in_one_group_of_the_help() -> None:
    said = subprocess.run(
        [*TRADEWIND, "--help"], capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "100"}
    ).stdout
    listed = [line.split()[1] for line in said.splitlines() if line.startswith("│ ") and line[2].isalpha()]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("name", MOVED)
def test_a_command_that_is_gone_names_what_replaces_it(name: str, here: Path) -> None:
    said = in_a_process(name, "list", "--server", "http://127.0.0.1:9")
    assert said.returncode == 2
    assert said.stderr == f"error: `tradewind {name}` is gone: {MOVED[name]}\n"
    assert name not in COMMANDS


def test_a_file_that_is_not_there_or_cannot_be_read_is_named_first(here: Path) -> None:
    for words in (
        ["agent", "--server", "http://127.0.0.1:9", "--token-file", "nowhere"],
        ["run", "nowhere"],
        ["simulate", "nowhere"],
    ):
        assert in_a_process(*words).stderr == "error: nowhere: no such file\n"
    assert in_a_process("agent", "--server", "http://127.0.0.1:9", "--token-file", str(here)).stderr == (
        f"error: {here}: is a directory\n"
    )


def test_a_server_says_which_address_is_taken_before_it_makes_anything(here: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = in_a_process("server", "--port", str(port))
    assert refused.returncode == 2
    assert (
        refused.stderr == f"error: cannot listen on 127.0.0.1:{port}: address already in use; see --host and --port\n"
    )
    assert not (here / ".tradewind").exists()


def test_odd_words_of_a_failed_command_do_not_change_how_it_ends(here: Path) -> None:
    (here / "flow.yaml").write_text(f"steps: {{a: {{run: 'echo {'a' * 300}; exit 1'}}}}\n")
    done = in_a_process("run", "flow.yaml")
    assert done.returncode == 1
    assert "its files are in" in done.stderr
