"""Divisible jobs from the command line: programs with one step."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.formats.iterations import Iterations, program_text
from tradewind.formats.load import load
from tradewind.model.action import Divisible
from tradewind.model.program import Kind, Program
from tradewind.model.units import MINUTE

_words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=20).filter(
    lambda text: text.strip() and "{{" not in text
)


def _loaded(job: Iterations, folder: Path) -> Program:
    file = folder / "job.yaml"
    file.write_text(program_text(job))
    program = load(file).content
    assert isinstance(program, Program)
    return program


def _action(program: Program) -> Divisible:
    (step,) = program.steps
    assert isinstance(step.action, Divisible)
    return step.action


def test_what_was_given_is_in_the_program(tmp_path: Path) -> None:
    job = Iterations(1_000_000, ("python", "option.py"), "night", "sum", within="45m", shares=2, max_shares=9)
    program = _loaded(job, tmp_path)
    action = _action(program)
    assert program.name == "night"
    assert (action.iterations, action.command, action.reducer) == (1_000_000, "python option.py", "sum")
    assert (action.within, action.initial, action.maximum) == (45 * MINUTE, 2, 9)


def test_an_input_becomes_a_file_parameter(tmp_path: Path) -> None:
    program = _loaded(Iterations(5, ("./process.sh",), input=tmp_path / "images.tar"), tmp_path)
    (parameter,) = program.parameters.values()
    assert parameter.kind is Kind.FILE
    assert parameter.default == str(tmp_path / "images.tar")


def test_a_reducer_may_be_a_command_or_a_function(tmp_path: Path) -> None:
    command = _action(_loaded(Iterations(5, ("run",), reduce_run="python merge.py"), tmp_path))
    function = _action(_loaded(Iterations(5, ("run",), reduce_python="program:merge"), tmp_path))
    assert (command.reducer, command.reduce) == ("run", "python merge.py")
    assert (function.reducer, function.reduce) == ("python", "program:merge")


def test_local_files_in_the_command_are_sent_along(tmp_path: Path) -> None:
    (tmp_path / "option.py").write_text("")
    words = ("python", str(tmp_path / "option.py"), "-n", "a b")
    program = _loaded(Iterations(5, words), tmp_path)
    assert _action(program).command == "python {{ file1 }} -n 'a b'"
    assert program.parameters["file1"].kind is Kind.FILE
    assert program.parameters["file1"].default == words[1]
    assert program.steps[0].inputs == {"file1": "{{ params.file1 }}"}


@given(st.lists(_words, min_size=1, max_size=4), st.integers(1, 10**12))
def test_any_command_survives_the_way_through_the_file(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], iterations: int
) -> None:
    action = _action(_loaded(Iterations(iterations, tuple(words)), tmp_path_factory.mktemp("job")))
    assert (shlex.split(action.command), action.iterations) == (words, iterations)
