"""Programs simulated as they would unfold, with what is assumed of their results."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.formats.load import load
from tradewind.model.event import Extended, Finished
from tradewind.model.machine import MachineType
from tradewind.model.program import Program
from tradewind.model.scenario import Given, Rehearsal, Scenario
from tradewind.model.units import SECOND
from tradewind.sim.rehearsal import RehearsalError
from tradewind.sim.simulate import simulate

TEXT = """
name: survey
params: {n: {type: int, default: 3}}
steps:
  list: {run: "seq {{ params.n }}", outputs: {items: {value: json}}, runtime: 5s}
  all:
    for_each: "{{ list.items }}"
    steps:
      each: {run: "work {{ item }}", outputs: {size: {value: json}}, runtime: 20s}
    outputs: {sizes: "{{ each.size }}"}
  sum: {run: "sum {{ all.sizes }}", runtime: 7s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "survey.yaml"
    file.write_text(TEXT)
    return file


def scenario(file: Path, assumed: dict[str, object], policy: str = "fixed") -> Scenario:
    program = load(file).content
    assert isinstance(program, Program)
    machines = (MachineType("m", limit=2),)
    given = Given((Rehearsal(program, {"n": 3}, assumed),))
    return Scenario((given,), machines, policy=policy, parameters={"machines": 2} if policy == "fixed" else {})


def test_a_program_takes_the_time_of_its_chains(file: Path) -> None:
    outcome = simulate(scenario(file, {"list.items": [1, 2, 3, 4]}))
    assert outcome.meter.finished == 6
    assert outcome.meter.end == (5 + 20 + 20 + 7) * SECOND  # four items on two machines


def test_it_unfolds_step_by_step(file: Path) -> None:
    records: list[object] = []
    simulate(scenario(file, {"list.items": [1]}), sinks=[lambda _: records.append])
    kinds = [type(record) for record in records if type(record) in (Extended, Finished)]
    assert kinds == [Finished, Extended] * 3


def test_what_nobody_can_know_has_to_be_assumed(file: Path) -> None:
    with pytest.raises(RehearsalError, match="--assume"):
        simulate(scenario(file, {}))


def test_the_command_takes_parameters_and_assumptions(file: Path) -> None:
    arguments = ["simulate", str(file), "--param", "n=2", "--assume", "list.items=[1, 2]", "--json", "-"]
    result = CliRunner().invoke(application("simulate"), arguments)
    assert result.exit_code == 0, result.output
    assert '"tasks": 4' in result.output or '"tasks":4' in result.output


def test_chains_are_placed_instead_of_tasks(tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    file.write_text("tasks: {a: {runtime: 10s}, b: {runtime: 10s, needs: [a]}, c: {runtime: 10s, needs: [b]}}")
    result = CliRunner().invoke(application("simulate"), ["simulate", str(file), "--chains", "--json", "-"])
    assert result.exit_code == 0, result.output
    assert '"tasks": 1' in result.output or '"tasks":1' in result.output


def test_an_attempt_that_takes_too_long_fails(tmp_path: Path) -> None:
    file = tmp_path / "slow.yaml"
    file.write_text("tasks: {a: {runtime: 10s, timeout: 4s, retries: 2}}")
    outcome = simulate(Scenario((Given((load(file).content,)),), (MachineType("m"),)))  # type: ignore[arg-type]
    assert outcome.meter.end == 12 * SECOND
    assert [run.status for run in outcome.meter.runs] == ["failed"]


@pytest.mark.parametrize(
    ("assumed", "hint"),
    [
        ("all.sizes=[1, 2]", "'all.sizes' is assumed, but no step has such an output"),
        ("list.item=[1, 2]", "did you mean 'list.items'?"),
        ("nobody.knows=1", "known are each.size, list.items"),
    ],
)
@pytest.mark.parametrize("command", [["simulate"], ["plan", "--deadline", "1h"]])
def test_what_nobody_would_look_at_cannot_be_assumed(command: list[str], assumed: str, hint: str, file: Path) -> None:
    done = CliRunner().invoke(application(), [*command, str(file), "--assume", "list.items=[1]", "--assume", assumed])
    assert done.exit_code != 0
    assert hint in f"{done.output}{done.exception}"


def test_what_has_to_be_assumed_is_named(tmp_path: Path) -> None:
    file = tmp_path / "survey.yaml"
    file.write_text(TEXT.replace("list", "seek"))
    done = CliRunner().invoke(application(), ["simulate", str(file)])
    assert isinstance(done.exception, RehearsalError)
    assert "--assume seek.items='[1, 2, 3]'" in str(done.exception)
