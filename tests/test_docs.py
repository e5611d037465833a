"""What the documentation shows is run and compared."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.core.log import Record
from tradewind.core.transitions import MACHINE_TABLE, UNIT_TABLE, diagram
from tradewind.model.command import Acquire, Ended
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.units import MINUTE
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.protocol import Offer
from tradewind.sim.defaults import MACHINES
from tradewind.sim.driver import Simulation

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_state_diagrams_are_drawn_from_the_tables() -> None:
    assert [block.strip() for block in blocks("architecture.md", "mermaid")] == [
        diagram(UNIT_TABLE),
        diagram(MACHINE_TABLE),
    ]


def test_the_tutorial_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "tutorial.md").read_text()
    files = dict(re.findall(r"Save as `([\w.]+)`:\n\n```yaml\n(.*?)```", text, re.DOTALL))
    assert set(files) == {"align.yaml", "machines.yaml", "month.yaml"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    commands = re.findall(r"^\$ tradewind (.*)$", text, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        done = CliRunner().invoke(application(), shlex.split(command))
        assert done.exit_code == 0, f"{command}\n{done.output}"
    assert (tmp_path / "timeline.svg").stat().st_size > 1000


def test_the_policy_of_the_how_to_runs() -> None:
    names: dict[str, object] = {"__name__": "modest"}
    exec(compile(blocks("howto/write-a-policy.md", "python")[0], "modest.py", "exec"), names)  # noqa: S102  # our page
    offer = names["OFFER"]
    assert isinstance(offer, Offer)
    tasks = tuple(Task(f"t{i}", "t", runtime=MINUTE) for i in range(10))
    log: list[Record] = []
    work = [Submission(0, Workflow("ten", tasks, ((),) * 10))]
    Simulation(Scenario((), MACHINES), work, offer.build(offer.parameters())).run(log.append)
    assert [record.status for record in log if isinstance(record, Ended)] == ["done"]
    assert {record.because for record in log if isinstance(record, Acquire)} == {"10 active tasks"}


def test_the_files_of_the_reference_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workflow, divisible, machines, joining, scenario = blocks("files.md", "yaml")
    (tmp_path / "montage.yaml").write_text("tasks: {a: {runtime: 1m}}")
    (tmp_path / "other.json").write_text('{"tasks": {"a": {"runtime": 60}}}')
    (tmp_path / "job.yaml").write_text(divisible)
    (tmp_path / "joining.yaml").write_text(joining)
    (tmp_path / "free.csv").write_text(blocks("files.md", "csv")[0])
    for name, text in (("align.yaml", workflow), ("machines.yaml", machines), ("scenario.yaml", scenario)):
        (tmp_path / name).write_text(text)
    for command in (
        "simulate job.yaml",
        "validate align.yaml --machines machines.yaml",
        "validate machines.yaml joining.yaml scenario.yaml",
        "simulate scenario.yaml",
    ):
        done = CliRunner().invoke(application(), shlex.split(command))
        assert done.exit_code == 0, f"{command}\n{done.output}\n{done.exception}"


def test_the_run_how_to_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reads.yaml").write_text(blocks("howto/run-for-real.md", "yaml")[0])
    (tmp_path / "machines.yaml").write_text("machines: {small: {price: 1, limit: 4}}")
    commands = re.findall(r"^\$ tradewind (.*)$", (DOCS / "howto/run-for-real.md").read_text(), re.MULTILINE)
    assert len(commands) == 4
    for command in commands[:3]:
        done = CliRunner().invoke(application(), shlex.split(command))
        assert done.exit_code == 0, f"{command}\n{done.output}\n{done.exception}"
    last = next((tmp_path / ".tradewind" / "runs").glob("*/total.1/out"))
    assert last.read_text() == "6\n"
