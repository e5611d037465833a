"""Divisible steps of programs: run for real on this machine, killed and resumed, and simulated."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from tradewind.agent.reduce import Piece, ReduceError, lay_out, run_reducer
from tradewind.core.work import RUNNING
from tradewind.formats.load import load
from tradewind.formats.write_program import write_program
from tradewind.live.store.open import open_store
from tradewind.live.store.port import RunDetail
from tradewind.live.store.rows import DeliveryRow
from tradewind.live.worker.shells import words_anywhere
from tradewind.live.worker.words import at_home, located, words_of
from tradewind.model.action import Divisible
from tradewind.model.program import Program

MODULE = """
import time

def count(chunk, factor=1):
    time.sleep(len(chunk) * {pause})
    return {{"n": len(chunk), "total": factor * (chunk.start + chunk.stop - 1) * len(chunk) // 2}}

def listed(chunk):
    return list(chunk)

def merged(results):
    return {{"parts": len(results), "is_whole": sorted(n for part in results for n in part) == list(range(400))}}
"""
WORKFLOW = """
params: {{n: {n}}}
steps:
  price:
    divisible:
      iterations: params.n
      python: pricing:count
      within: 30s
      reduce: sum
    inputs: {{factor: 2}}
    outputs: {{n: return, total: return}}
  show:
    run: printf '%s %s' {{{{ price.n }}}} {{{{ price.total }}}}
    outputs: {{text: stdout}}
outputs: {{text: "{{{{ show.text }}}}"}}
"""


def tradewind(folder: Path, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tradewind", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def prepare(folder: Path, text: str, pause: float = 0.0) -> None:
    (folder / "pricing.py").write_text(MODULE.format(pause=pause))
    (folder / "price.yaml").write_text(text)


def shares_of(root: int) -> list[psutil.Process]:
    """Processes of shares below a process."""
    found = []
    for process in psutil.Process(root).children(recursive=True):
        try:
            if "tradewind.agent.child" in " ".join(process.cmdline()) and process.cmdline()[0] != "/bin/sh":
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def awaited(root: int, seconds: float = 60) -> list[psutil.Process]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := shares_of(root):
            return found
        time.sleep(0.05)
    raise TimeoutError("no share was started")


def details(folder: Path) -> list[RunDetail]:
    """All runs that are stored in a folder."""
    store = open_store(folder / ".tradewind" / "store.db")
    try:
        return [detail for head in store.runs() if (detail := store.run(head.id)) is not None]
    finally:
        store.close()


def deliveries(folder: Path, run: int, unit: int) -> list[DeliveryRow]:
    store = open_store(folder / ".tradewind" / "store.db")
    try:
        return store.deliveries(run, unit, limit=100_000)
    finally:
        store.close()


def shown(folder: Path) -> str:
    (out,) = (folder / ".tradewind" / "runs").glob("*/show.*/out")
    return out.read_text()


def test_a_divisible_step_runs_as_shares_of_an_elastic_unit(tmp_path: Path) -> None:
    prepare(tmp_path, WORKFLOW.format(n=3000))
    run = tradewind(tmp_path, "run", "price.yaml")
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 0, out
    assert shown(tmp_path) == f"3000 {2 * sum(range(3000))}"


def test_killed_shares_and_a_killed_control_plane_lose_and_double_nothing(tmp_path: Path) -> None:
    prepare(tmp_path, WORKFLOW.format(n=4000), pause=0.003)
    run = tradewind(tmp_path, "run", "price.yaml")
    for _ in range(2):
        awaited(run.pid)[0].kill()
        time.sleep(1.0)
    awaited(run.pid)
    time.sleep(1.5)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)
    (detail,) = details(tmp_path)
    assert {unit.state for unit in detail.units} >= {RUNNING}
    again = tradewind(tmp_path, "run", "--resume")
    awaited(again.pid)[0].kill()
    out, _ = again.communicate(timeout=120)
    assert again.returncode == 0, out
    assert shown(tmp_path) == f"4000 {2 * sum(range(4000))}"
    (detail,) = details(tmp_path)
    parent = next(unit for unit in detail.units if unit.chain == "price")
    delivered = sorted(
        tuple(each) for row in deliveries(tmp_path, detail.run.number, parent.number) for each in row.ranges
    )
    assert sum(end - begin for begin, end in delivered) == 4000
    assert all(one[1] <= other[0] for one, other in pairwise(delivered))


def test_an_interrupted_run_keeps_what_its_shares_have_done(tmp_path: Path) -> None:
    prepare(tmp_path, WORKFLOW.format(n=4000).replace("      within: 30s\n", ""), pause=0.01)
    run = tradewind(tmp_path, "run", "price.yaml")
    awaited(run.pid)
    time.sleep(4)  # long enough for some chunks, and much less than the time between two reports
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert "interrupted" in out
    (detail,) = details(tmp_path)
    parent = next(unit for unit in detail.units if unit.chain == "price")
    assert deliveries(tmp_path, detail.run.number, parent.number)


def test_reducers_are_commands_and_functions_and_their_failures_are_told(tmp_path: Path) -> None:
    step = """
steps:
  price:
    divisible: {{iterations: 400, python: "pricing:listed", reduce: {reduce}}}
    outputs: {{found: return}}
  show: {{run: "printf '%s' '{{{{ price.found }}}}'", outputs: {{text: stdout}}}}
"""
    (tmp_path / "merge.py").write_text(
        "import json, sys\n"
        "rows = sorted(n for file in sys.stdin.read().split() for n in json.load(open(file)))\n"
        "print(json.dumps(rows == list(range(400))))\n"
    )
    for number, (reduce, expected) in enumerate(
        (
            ('{python: "pricing:merged"}', '"is_whole": true'),
            (f'{{run: "{sys.executable} {tmp_path}/merge.py"}}', "true"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        prepare(folder, step.format(reduce=reduce))
        run = tradewind(folder, "run", "price.yaml")
        out, _ = run.communicate(timeout=120)
        assert run.returncode == 0, out
        assert expected in shown(folder)
    folder = tmp_path / "broken"
    folder.mkdir()
    prepare(folder, step.format(reduce='{run: "echo no room >&2; exit 3"}'))
    run = tradewind(folder, "run", "price.yaml")
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "the reducer ended with code 3: no room" in out


def test_reducers_see_files_in_the_order_of_iterations(tmp_path: Path) -> None:
    results: list[dict[str, Any]] = [{"inline": [1, 2]}, {"object": "a", "url": "results/a"}, {"inline": "x"}]
    pieces = [Piece(number, result) for number, result in enumerate(results)]
    files = lay_out(pieces, lambda address: address.encode(), tmp_path / "parts")
    assert run_reducer(["sh", "-c", "xargs -n1 cat"], files, tmp_path) == b'[1, 2]results/a"x"'
    with pytest.raises(ReduceError, match="code 4: bad"):
        run_reducer(["sh", "-c", "echo bad >&2; exit 4"], files, tmp_path)


def test_a_failing_program_fails_the_step_with_its_last_words(tmp_path: Path) -> None:
    prepare(tmp_path, WORKFLOW.format(n=100).replace("python: pricing:count", "run: echo broken >&2; exit 7"))
    run = tradewind(tmp_path, "run", "price.yaml")
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "exit code 7" in out
    assert "broken" in out


def test_a_divisible_step_is_simulated_by_the_same_core(tmp_path: Path) -> None:
    text = WORKFLOW.format(n=100_000).replace("within: 30s", "within: 20m\n      sites: {a: {slots: 2, speed: 50}}")
    prepare(tmp_path, text)
    (tmp_path / "machines.yaml").write_text("machines: {big: {price: 1, cpus: 2, limit: 1, slots: 2}}")
    run = tradewind(tmp_path, "simulate", "price.yaml", "--machines", "machines.yaml", "--json", "figures.json")
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0, out
    makespan = json.loads((tmp_path / "figures.json").read_text())["makespan_s"]
    assert 1000 < makespan <= 1200  # 100,000 iterations at 50 a second on each of two slots


def test_divisible_steps_are_written_as_they_are_read(tmp_path: Path) -> None:
    text = """
steps:
  price:
    divisible:
      iterations: 100
      run: ./price {{ outputs.log }}
      within: 3h
      reduce: {run: merge}
      partitions: 2
      most: 8
      balancer: static
      sites: {a: {slots: 2, speed: 50}}
    outputs: {log: log.txt, all: return}
"""
    prepare(tmp_path, text)
    program = load(tmp_path / "price.yaml").content
    assert isinstance(program, Program)
    assert isinstance(program.steps[0].action, Divisible)
    assert not program.steps[0].checkpoint
    assert program.steps[0].alone
    (tmp_path / "again.yaml").write_text(write_program(program))
    again = load(tmp_path / "again.yaml").content
    assert isinstance(again, Program)
    assert again.steps == program.steps


def test_a_program_may_upload_large_results(tmp_path: Path) -> None:
    (tmp_path / "upload.py").write_text(
        "import tradewind\n"
        "with tradewind.iterations(chunk=10) as it:\n"
        "    for chunk in it:\n"
        "        it.upload(b''.join(b'%d ' % number for number in chunk))\n"
    )
    text = f"""
steps:
  price:
    divisible: {{iterations: 100, run: "exec {sys.executable} {tmp_path}/upload.py", within: 1m}}
    outputs: {{all: result}}
"""
    prepare(tmp_path, text)
    run = tradewind(tmp_path, "run", "price.yaml")
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 0, out
    (result,) = (tmp_path / ".tradewind" / "runs").glob("*/price.*/result")
    assert result.read_text().split() == [str(number) for number in range(100)]


def test_programs_that_lie_beside_the_workflow_are_found(tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(
        "import tradewind\n"
        "with tradewind.iterations(chunk=10) as it:\n"
        "    for chunk in it:\n"
        "        it.deliver(len(chunk))\n"
    )
    (tmp_path / "merge.py").write_text(
        "import json, sys\nprint(sum(json.load(open(file)) for file in sys.stdin.read().split()))\n"
    )
    reduce = f"{{run: {sys.executable} merge.py}}"
    step = (
        f"{{divisible: {{iterations: 100, run: {sys.executable} count.py, reduce: {reduce}}}, outputs: {{n: return}}}}"
    )
    prepare(tmp_path, f"steps: {{price: {step}}}\noutputs: {{n: '{{{{ price.n }}}}'}}\n")
    run = tradewind(tmp_path, "run", "price.yaml")
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 0, out
    assert "n: 100\n" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python x.py --n 3\n", ["python", "x.py", "--n", "3"]),
        ("exec python x.py", ["python", "x.py"]),
        ("N=1 python x.py", None),
        ("python x.py > all", None),
        ("a\nb", None),
        ("echo $N", None),
        (". ./env.sh", None),
        ("exec -a name x", None),
        ("", None),
    ],
)
def test_plain_commands_are_words_and_others_go_to_a_shell(text: str, words: list[str] | None) -> None:
    assert words_of(text) == (words or words_anywhere(text))


def test_words_that_name_files_are_whole_paths(tmp_path: Path) -> None:
    (tmp_path / "x.py").touch()
    found = located(["python", "x.py", "/x.py", "y.py", ".", "x" * 5000], [tmp_path / "none", tmp_path])
    assert found == ["python", str(tmp_path / "x.py"), "/x.py", "y.py", ".", "x" * 5000]
    assert at_home("cat < x.py", [tmp_path]) == "cat < x.py"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python x.py y.py", "python HOME/x.py y.py"),
        ("python -u x.py", "python -u HOME/x.py"),
        ("/bin/sh x.py", "/bin/sh HOME/x.py"),
        ("./y.py x.py", "HOME/y.py x.py"),
        ("y.py x.py --out=y.py", "y.py HOME/x.py --out=y.py"),
        ("python none.py x.py", "python none.py x.py"),
        ("date", "date"),
    ],
)
def test_only_the_program_of_a_plain_command_is_looked_for(tmp_path: Path, text: str, words: str) -> None:
    for name in ("x.py", "y.py"):
        (tmp_path / name).touch()
    assert at_home(text, [tmp_path]) == f"exec {words.replace('HOME', str(tmp_path))}\n"
