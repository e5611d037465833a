import random
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tradewind.cli import main
from tradewind.cli.generate import generate as command
from tradewind.formats.load import load_workflow
from tradewind.sim.generators import FAMILIES, generate

app = typer.Typer()
app.command()(command)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("family", FAMILIES)
def test_native_files_read_back_as_the_same_workflow(family: str, tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    assert run(family, "--tasks", "60", "--seed", "3", "-o", file).exit_code == 0
    assert load_workflow(file) == generate(family, 60, random.Random(3))


@pytest.mark.parametrize("suffix", ["json", "json.gz", "yaml.gz", "yml"])
def test_the_name_of_the_file_says_its_format(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"w.{suffix}"
    result = run("montage", "-o", file)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{file}: 100 tasks, ")
    again = load_workflow(file)
    made = generate("montage", 100, random.Random(0))
    assert (again.parents, [t.name for t in again.tasks]) == (made.parents, [t.name for t in made.tasks])


def test_without_a_file_the_workflow_is_printed() -> None:
    assert "step_00001" in run("chain", "--tasks", "2").stdout
    assert run("chain", "--tasks", "2", "--json").stdout.startswith("{")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("montag",), "error: no workflow family is named 'montag'; did you mean 'montage'?"),
        (("montage", "--tasks", "4"), "error: montage needs at least 11 tasks, not 4"),
        (("montage", "-o", "montage.xml"), "error: montage.xml: the name must end in .yaml or .json"),
        (("montage", "-o", "no/such/folder.yaml"), "cannot be written"),
    ],
)
def test_mistakes_end_with_code_2_and_a_reason(
    arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tradewind", "generate", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    shown = capsys.readouterr()
    assert ended.value.code == 2
    assert message in shown.err
    assert not shown.out
