"""Options that would change nothing are refused, by every command that takes them."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application

PROGRAM = "name: p\nsteps:\n  a: {run: 'true'}\n"
WORKFLOW = "name: w\ntasks:\n  a: {runtime: 60}\n"
SCENARIO = "workload: [{files: [w.yaml]}]\nmachines: {s: {price: 1}}\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("p.yaml", PROGRAM), ("w.yaml", WORKFLOW), ("s.yaml", SCENARIO)):
        (tmp_path / name).write_text(text)


def refusal(words: str) -> str:
    """What a command says that is refused."""
    done = CliRunner().invoke(application("run", "simulate"), words.split())
    assert done.exit_code != 0, f"{words} was accepted"
    return " ".join(f"{done.output} {done.exception}".replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-P bogus=1", "policy 'fixed' has no parameter 'bogus'"),
        ("--balancer bogus", "no balancer named 'bogus'"),
        ("--placer bogus", "no policy named 'bogus'"),
        ("--services bogus.yaml", "--services is for workflows of Steep"),
    ],
)
def test_run_refuses_options_that_would_change_nothing(words: str, told: str) -> None:
    assert told in refusal(f"run p.yaml {words}")


@pytest.mark.parametrize("words", ["--deadline 2h", "-p a=1", "--keep-going", "--no-cache"])
def test_what_is_resumed_keeps_what_it_was_given(words: str) -> None:
    assert f"{words.split(maxsplit=1)[0]} is for a new run" in refusal(f"run --resume {words}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("w.yaml --market harvest --placer slacksched", "leave out --placer"),
        ("w.yaml --market harvest --balancer static", "leave out --balancer"),
        ("s.yaml --param a=1", "--param is for workflow files"),
        ("s.yaml --assume a.b=1", "--assume is for workflow files"),
        ("s.yaml --every 5m", "--every is for workflow files"),
    ],
)
def test_simulate_refuses_options_that_would_change_nothing(words: str, told: str) -> None:
    assert told in refusal(f"simulate {words}")
