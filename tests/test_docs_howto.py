"""The pages on Python, the cache, Steep and replay: what they show is run."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application

DOCS = Path(__file__).parents[1] / "docs"
MACHINES = "machines: {small: {price: 1, limit: 4, cpus: 2, memory: 1GB}}"
TRACE = {
    "name": "trace",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"id": "a", "name": "a", "parents": [], "children": ["b"]},
                {"id": "b", "name": "b", "parents": ["a"], "children": []},
            ]
        },
        "execution": {"tasks": [{"id": "a", "runtimeInSeconds": 2}, {"id": "b", "runtimeInSeconds": 1.5}]},
    },
}


def files(page: str) -> dict[str, str]:
    """The files that a page shows: blocks that begin with their name."""
    text = (DOCS / page).read_text()
    return dict(re.findall(r"```(?:python|yaml)\n# ([\w.]+)\n(.*?)```", text, re.DOTALL))


def console(page: str) -> Iterator[tuple[str, str]]:
    """The commands that a page shows, each with what it prints."""
    for block in re.findall(r"```console\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "machines.yaml").write_text(MACHINES)
    for name in ("text.txt", "other.txt"):
        (tmp_path / name).write_text(f"one two\nthree {name}\n")
    (tmp_path / "trace.json").write_text(json.dumps(TRACE))
    return tmp_path


def run(folder: Path, command: str) -> str:
    program, *words = shlex.split(command)
    if program == "tradewind":
        with chdir(folder):
            found = CliRunner().invoke(application(words[0]), words)
        assert found.exit_code == 0, f"{command}\n{found.output}\n{found.exception}"
        return found.stdout
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def put(folder: Path, page: str) -> None:
    for name, text in files(page).items():
        (folder / name).write_text(text)


def test_python(folder: Path) -> None:
    put(folder, "python.md")
    for command, output in console("python.md"):
        assert run(folder, command) == output
    assert run(folder, "python places.py") == "21\n"
    assert (folder / "runs" / "store.db").exists()
    assert run(folder, "python broken.py") == "raised: division by zero\n"
    assert run(folder, "python waiting.py") == "21\n"


def test_cache(folder: Path) -> None:
    put(folder, "howto/cache.md")
    told = [(command, run(folder, command)) for command, _ in console("howto/cache.md")]
    assert len(told) == 9
    explained = [output for command, output in told if command.startswith("tradewind cache explain")]
    assert "split: it ran" in explained[0]  # the last run was told not to use the cache
    assert re.search(r"value 1 of the command was \S*/text.txt, is \S*other.txt", explained[1])
    assert told[-1][1] == "removed 2 entries\n"


def test_steep(folder: Path) -> None:
    put(folder, "howto/from-steep.md")
    for command, _ in console("howto/from-steep.md"):
        run(folder, command)
    joined = sorted((folder / ".tradewind" / "runs").glob("*/join.1/output"))
    assert [path.read_text().splitlines() for path in joined] == [
        ["one two", "three text.txt"],
        ["one two", "three other.txt"],
    ]


def test_replay(folder: Path) -> None:
    for command, _ in console("howto/replay-a-trace.md"):
        run(folder, command)
    assert len(list((folder / ".tradewind" / "runs").iterdir())) == 3
