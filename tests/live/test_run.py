"""`tradewind run` as a user runs it: real processes, real crashes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tradewind.live.store.open import open_store

COMMAND = [sys.executable, "-m", "tradewind", "run"]


def run(folder: Path, *arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False, timeout=timeout
    )


def write(folder: Path, text: str) -> Path:
    path = folder / "flow.yaml"
    path.write_text(text)
    return path


def processes_of(folder: Path) -> list[str]:
    """Commands of processes that still speak of a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            place = str((entry / "cwd").readlink())
        except OSError:
            continue
        if (str(folder) in command or place.startswith(str(folder))) and int(entry.name) != os.getpid():
            found.append(command)
    return found


def test_values_and_files_travel_from_step_to_step(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("def total(values):\n    return sum(values)\n")
    write(
        tmp_path,
        """
        name: sums
        params: {upto: {default: 3, type: int}}
        steps:
          numbers: {run: "seq {{ params.upto }} > numbers.txt; echo [1,2,3]",
                    outputs: {file: numbers.txt, values: {value: json}}}
          double: {for_each: "{{ numbers.values }}", run: "echo $((2 * {{ item }}))", outputs: {value: {value: json}}}
          total: {python: "steps:total", inputs: {values: "{{ double.value }}"}, outputs: {sum: {value: return}}}
        """,
    )
    done = run(tmp_path, "flow.yaml", "-p", "upto=5", "--json", "--events", "log.jsonl")
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["status"] == "done"
    store = open_store(tmp_path / ".tradewind" / "store.db")
    detail = store.run(outcome["run"])
    assert detail is not None
    results = {call: values for unit in detail.units for call, values in (unit.results or {}).items()}
    assert results["total"] == {"sum": 12}
    assert Path(results["numbers"]["file"]).read_text().split() == ["1", "2", "3", "4", "5"]
    assert all(attempt.outcome == "done" for attempt in detail.attempts)
    store.close()
    assert {"start", "finished", "ended"} <= {
        json.loads(line)["event"] for line in (tmp_path / "log.jsonl").read_text().splitlines()
    }


def test_a_failure_shows_the_last_lines_and_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "steps: {bad: {run: 'echo working; echo broken >&2; exit 3'}, after: {run: 'true', needs: [bad]}}")
    done = run(tmp_path, "flow.yaml")
    assert done.returncode == 1
    assert "exit code 3" in done.stderr
    assert "broken" in done.stderr
    assert ".tradewind/runs" in done.stderr


def test_all_failures_are_counted_although_only_the_last_are_remembered(tmp_path: Path) -> None:
    write(tmp_path, "name: many\ntasks:\n" + "".join(f"  t{number}: {{run: exit 3}}\n" for number in range(5)))
    code = "import tradewind.live.driver as d; d.MOST = 3; from tradewind.cli import main; main()"
    command = [sys.executable, "-c", code, "run", "flow.yaml", "--keep-going"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "5 failed" in done.stderr
    assert "and 2 more; `tradewind get" in done.stderr
    summary = subprocess.run(
        [*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    found = json.loads(summary.stdout)
    assert (found["failed"], len(found["failures"])) == (5, 3)


def test_keep_going_runs_what_does_not_depend_on_the_failure(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        params: {mark: {default: none}}
        steps:
          bad: {run: exit 1}
          after: {run: "true", needs: [bad]}
          slow: {run: sleep 0.3}
          last: {run: "touch {{ params.mark }}", needs: [slow]}
        """,
    )
    mark = tmp_path / "mark"
    assert run(tmp_path, "flow.yaml", "--keep-going", "-p", f"mark={mark}").returncode == 1
    assert mark.exists()


def test_retries_and_growing_attempts(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    write(
        tmp_path,
        f"steps: {{flaky: {{run: 'echo x >> {counter}; test $(wc -l < {counter}) -ge 3', retries: 4}}}}",
    )
    assert run(tmp_path, "flow.yaml").returncode == 0
    assert counter.read_text().count("x") == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["flow.yaml", "-p", "nope=1"], 2, "nope"),
        (["nowhere.yaml"], 2, "nowhere.yaml"),
        ([], 2, "--resume"),
        (["flow.yaml", "--machines", "machines.yaml", "--budget", "0.5"], 3, "cannot pay for any machine"),
        (["gpu.yaml"], 5, "gpu"),
    ],
)
def test_exit_codes(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    write(tmp_path, "steps: {one: {run: 'true'}}")
    (tmp_path / "gpu.yaml").write_text("steps: {one: {run: 'true', capabilities: [gpu]}}")
    (tmp_path / "machines.yaml").write_text("machines: {small: {price: 1}}")
    done = run(tmp_path, *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_declared_machines_are_processes_paid_from_the_budget(tmp_path: Path) -> None:
    (tmp_path / "machines.yaml").write_text("machines: {small: {price: 1, limit: 4}}")
    write(tmp_path, "steps: {each: {for_each: [1, 2, 3, 4, 5, 6], run: 'sleep 0.2'}}")
    done = run(tmp_path, "flow.yaml", "--machines", "machines.yaml", "--budget", "2", "--policy", "demand", "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["figures"]
    assert figures["cost_total"] == 2
    assert figures["intervals_over_budget"] == 0


def test_ctrl_c_stops_cleanly_and_resume_goes_on(tmp_path: Path) -> None:
    write(
        tmp_path,
        "steps: {each: {for_each: '{{ range(8) }}', run: 'sleep 0.4; echo {{ item }}', outputs: {x: {value: json}}}}",
    )
    child = subprocess.Popen([*COMMAND, "flow.yaml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    _wait_for_done(tmp_path, 2)
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130
    assert child.stderr is not None
    assert "--resume" in child.stderr.read()
    child.stderr.close()
    assert not processes_of(tmp_path)
    assert run(tmp_path, "--resume").returncode == 0
    _check_each_done_once(tmp_path, 8)


def test_a_killed_control_plane_leaves_no_orphan_and_loses_nothing(tmp_path: Path) -> None:
    tasks = 120
    write(tmp_path, f"steps: {{each: {{for_each: '{{{{ range({tasks}) }}}}', run: 'sleep 0.03'}}}}")
    arguments = ["flow.yaml"]
    for done in (tasks // 6, tasks // 3, tasks // 2):
        child = subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.DEVNULL)
        _wait_for_done(tmp_path, done)
        child.kill()
        child.wait()
        arguments = ["--resume"]
    deadline = time.monotonic() + 15
    while processes_of(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not processes_of(tmp_path)
    assert run(tmp_path, "--resume").returncode == 0
    _check_each_done_once(tmp_path, tasks)


def _wait_for_done(folder: Path, count: int) -> None:
    """Wait until so many attempts have ended well."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if len(list(folder.glob(".tradewind/runs/*/*/exitcode"))) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("the run does not get on")


def _check_each_done_once(folder: Path, tasks: int) -> None:
    store = open_store(folder / ".tradewind" / "store.db")
    [head] = store.runs()
    assert head.status == "done"
    detail = store.run(head.id)
    assert detail is not None
    done = Counter(attempt.unit for attempt in detail.attempts if attempt.outcome == "done")
    assert len(done) == tasks
    assert set(done.values()) == {1}
    started_after_done = Counter(attempt.unit for attempt in detail.attempts)
    last = {attempt.unit: attempt.attempt for attempt in detail.attempts if attempt.outcome == "done"}
    assert all(started_after_done[unit] <= attempt for unit, attempt in last.items()), "finished work is not repeated"
    store.close()
