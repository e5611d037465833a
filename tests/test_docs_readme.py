"""What the README says can be tried at once, is."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application

ROOT = Path(__file__).parents[1]
ROWS = [
    row for row in (ROOT / "README.md").read_text().splitlines() if row.count("|") == 5 and "](docs/policies" in row
]
TRIED = [re.findall(r"`([^`]+)`", row.split("|")[3])[0] for row in ROWS]


def test_each_of_the_five_systems_has_something_to_try() -> None:
    assert [command.split()[0] for command in TRIED] == ["simulate", "plan", "simulate", "simulate", "run", "policies"]


@pytest.mark.parametrize("command", TRIED)
def test_what_can_be_tried_works(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    fewer = " -p paths=20000" if command.startswith("run ") else ""
    for words in ("generate montage --tasks 60 -o montage.yaml", command + fewer):
        done = CliRunner().invoke(application(words.split()[0]), shlex.split(words))
        assert done.exit_code == 0, done.output
