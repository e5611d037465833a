"""Loading a workflow in another process gives what loading it here does, or nothing at all."""

from pathlib import Path

import pytest

from tradewind.formats.load import load
from tradewind.live.ahead import LARGEST, Ahead, is_small

PROGRAM = """
name: two
params: {upto: {default: 3, type: int}}
steps:
  first: {run: "seq {{ params.upto }} > out.txt", outputs: {file: out.txt}, retries: 2}
  second: {for_each: [1, 2], run: "cat {{ first.file }}"}
"""


def taken(path: Path) -> object:
    ahead = Ahead(path)
    try:
        return ahead.take()
    finally:
        ahead.abandon()


def test_a_program_comes_back_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(PROGRAM)
    assert taken(path) == load(path).content


@pytest.mark.parametrize(
    "text",
    [
        "steps: {a: {needs: [b]}}",
        "machines: {small: {}}",
        "tasks: {a: {runtime: 1s, capabilities: [moon]}}",
    ],
    ids=["unsound", "no workflow", "not for this host"],
)
def test_what_cannot_run_does_not_come_back(tmp_path: Path, text: str) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(text)
    assert taken(path) is None


def test_one_that_nobody_takes_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(PROGRAM)
    Ahead(path).abandon()  # an unclosed pipe or a process left behind would be warned of


def test_only_small_files_are_worth_it(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    assert not is_small(path)
    path.write_text(PROGRAM)
    assert is_small(path)
    path.write_text("#" * (LARGEST + 1))
    assert not is_small(path)
