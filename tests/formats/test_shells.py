"""Shells that steps and files name, and files that must be there."""

from pathlib import Path

import pytest

from tradewind.formats import FormatError, load_program, load_workflow
from tradewind.formats.present import check_present
from tradewind.formats.write import write_native
from tradewind.formats.write_program import write_program
from tradewind.model.action import Container, Divisible, Shell, shell_words
from tradewind.model.program import Step


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


PROGRAM = """
shell: sh
steps:
  a: {run: a | b}
  b: {run: a | b, shell: bash -e}
  c: {container: {image: i, run: x}}
  d: {divisible: {iterations: 5, run: x}, shell: zsh}
  e: {include: inner}
programs:
  inner: {steps: {f: {run: x}}}
"""


def test_a_step_has_its_own_shell_or_that_of_its_file() -> None:
    Path("w.yaml").write_text(PROGRAM)
    program = load_program("w.yaml")
    assert [_shell(step) for step in program.steps[:4]] == ["sh", "bash -e", "sh", "zsh"]
    assert _shell(program.includes["inner"].steps[0]) == "sh"
    Path("again.yaml").write_text(write_program(program))
    assert [_shell(step) for step in load_program("again.yaml").steps[:4]] == ["sh", "bash -e", "sh", "zsh"]


def test_so_does_a_task() -> None:
    Path("w.yaml").write_text("shell: sh\ntasks: {a: {run: x}, b: {run: x, shell: bash -e}}\n")
    workflow = load_workflow("w.yaml")
    assert [task.shell for task in workflow.tasks] == ["sh", "bash -e"]
    Path("again.yaml").write_text(write_native(workflow))
    assert load_workflow("again.yaml").tasks == workflow.tasks


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", ()),
        ("bash", ("bash", "-euo", "pipefail")),
        ("/opt/bin/zsh", ("/opt/bin/zsh", "-euo", "pipefail")),
        ("sh", ("sh", "-eu")),
        ("bash -e", ("bash", "-e")),
    ],
)
def test_errors_are_fatal_unless_a_shell_has_options(name: str, words: tuple[str, ...]) -> None:
    assert shell_words(name) == words


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("steps: {a: {run: x, shell: python3}}", "steps.a.shell: 'python3' is not a shell; use one of bash, dash"),
        ("shell: ''\nsteps: {a: {run: x}}", "shell: '' is not a shell"),
        ("steps: {a: {python: 'm:f', shell: sh}}", "steps.a.shell: has no effect here"),
        ("steps: {a: {steps: {b: {run: x}}, shell: sh}}", "steps.a.shell: has no effect here"),
        ("tasks: {a: {run: x, shell: fish}}", "tasks.a.shell: 'fish' is not a shell"),
    ],
)
def test_what_is_no_shell_is_refused(text: str, told: str) -> None:
    Path("w.yaml").write_text(text)
    with pytest.raises(FormatError) as refused:
        load_program("w.yaml") if "steps" in text else load_workflow("w.yaml")
    assert told in str(refused.value)


def test_files_that_are_missing_are_all_told(tmp_path: Path) -> None:
    Path("w.yaml").write_text(
        "params: {a: {type: file, default: a.txt}, b: {type: file, default: b.txt}, c: {type: file, default: 's3://c'},\n"
        "  d: {type: file, default: null}}\n"
        "steps: {x: {include: inner}, y: {include: inner, inputs: {f: '{{ params.a }}'}}}\n"
        "programs: {inner: {params: {f: {type: file, default: f.txt}}, steps: {z: {run: x}}}}\n"
    )
    program = load_program("w.yaml")
    with pytest.raises(FormatError) as refused:
        check_present(program, file="w.yaml")
    assert [line.partition(";")[0] for line in str(refused.value).splitlines()] == [
        f"w.yaml: params.a: no such file: {tmp_path / 'a.txt'}",
        f"w.yaml: params.b: no such file: {tmp_path / 'b.txt'}",
        f"w.yaml: steps.x.include: no such file: {tmp_path / 'f.txt'}",
    ]
    for name in ("a.txt", "f.txt"):
        Path(name).touch()
    check_present(program, {"a": str(tmp_path / "a.txt"), "b": None})


def _shell(step: Step) -> str:
    assert isinstance(step.action, Shell | Container | Divisible)
    return step.action.shell
