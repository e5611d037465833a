"""Divisible tasks of workflow files: read, written, checked, simulated."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.formats.errors import FormatError
from tradewind.formats.load import load_text
from tradewind.formats.write import write_native
from tradewind.model.elastic import Elastic
from tradewind.model.units import MINUTE
from tradewind.model.workflow import Workflow

TEXT = """\
deadline: 45m
tasks:
  simulate:
    runtime: 40h
    divisible: {iterations: 1000000, initial: 4, maximum: 200, within: 30m, balancer: static, weights: [1, 2, 3, 4]}
"""


def read(text: str) -> Workflow:
    found = load_text(text.encode(), "job.yaml").content
    assert isinstance(found, Workflow)
    return found


def test_a_divisible_task_is_read_and_written_again() -> None:
    workflow = read(TEXT)
    assert workflow.tasks[0].elastic == Elastic(1_000_000, 4, 200, 30 * MINUTE, "static", (1, 2, 3, 4))
    assert read(write_native(workflow)) == workflow


@pytest.mark.parametrize(
    ("part", "word"),
    [
        ("{iterations: 0}", "iterations"),
        ("{iterations: 10, initial: 5, maximum: 4}", "maximum"),
        ("{iterations: 10, weights: [1, 2]}", "weights"),
        ("{iteration: 10}", "iteration"),
        ("{iterations: 10, balancer: rupert}", "did you mean 'ruper'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(part: str, word: str) -> None:
    with pytest.raises(FormatError, match=word):
        read(f"tasks: {{a: {{runtime: 1h, divisible: {part}}}}}")


def test_a_divisible_task_is_simulated_from_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("deadline: 45m\ntasks: {a: {runtime: 10h, divisible: {iterations: 100000, initial: 4}}}\n")
    result = CliRunner().invoke(application(), ["simulate", str(file), "--policy", "pfa", "--policy", "capability"])
    assert result.exit_code == 0, result.output


def test_running_one_is_refused_with_the_remedy(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(TEXT)
    result = CliRunner().invoke(application(), ["run", str(file), "--folder", str(tmp_path / "state")])
    assert isinstance(result.exception, FormatError)
    assert "step of a program" in str(result.exception)
