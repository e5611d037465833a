"""The tutorial for a server, run against a real one."""

import os
import re
import shlex
from pathlib import Path

import pytest
from real_server import TOKEN, served
from typer.testing import CliRunner

from tradewind.cli import application

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

DOCS = Path(__file__).parents[1] / "docs"


def test_the_tutorial_for_a_server_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in [name for name in os.environ if name.startswith("TRADEWIND_")]:
        monkeypatch.delenv(name)
    text = (DOCS / "tutorial-server.md").read_text()
    files = dict(re.findall(r"Save as `([\w.]+)`:\n\n```yaml\n(.*?)```", text, re.DOTALL))
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    commands = [shlex.split(line) for line in re.findall(r"^\$ tradewind (.*)$", text, re.MULTILINE)]
    assert commands[0] == ["server"]
    assert len(commands) > 10
    said: dict[str, str] = {}
    with served(tmp_path) as (url, token):
        for words in commands[1:]:
            real = [word.replace("http://127.0.0.1:8642", url).replace("tw_…", token) for word in words]
            done = CliRunner().invoke(application(real[0]), real)
            assert done.exit_code == 0, f"{words}\n{done.output}\n{done.exception}"
            said[" ".join(words[:3])] = done.stdout
    assert said["logs last total"] == "the total is 55\n"
    assert "7/7" in said["list"]
    assert TOKEN.search(said["tokens create ada"]) is not None
    report = (tmp_path / "report.html").read_text()
    assert "square[7]" in report
    assert "from the cache" in report
