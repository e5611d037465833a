"""Recorded workflows replayed for real."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tradewind.live.replay import NothingRecordedError, replayed
from tradewind.live.store.open import open_store
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement, amounts_of
from tradewind.model.units import MINUTE, SECOND
from tradewind.model.workflow import Task, Workflow

TRACES = Path(__file__).parents[3] / "shared" / "data" / "wfinstances"
MACHINES = (MachineType("a", amounts=amounts_of({"cpus": 2})), MachineType("b", amounts=amounts_of({"cpus": 4})))
COMMAND = [sys.executable, "-m", "tradewind", "run"]


def trace() -> Workflow:
    wide = Requirement(amounts=amounts_of({"cpus": 64, "memory": 10**12}))
    tasks = (Task("a b", "a", runtime=MINUTE), Task("a_b", "a", wide, runtime=30 * SECOND), Task("c", "c"))
    return Workflow("trace", tasks, ((), (0,), (0, 1)))


def test_steps_take_their_recorded_time_divided_by_the_speed() -> None:
    program = replayed(trace(), MACHINES, 100)
    assert [step.id for step in program.steps] == ["a_b", "a_b_2", "c"]
    assert [step.inputs["seconds"] for step in program.steps] == [0.6, 0.3, 0.0]
    assert [step.needs for step in program.steps] == [(), ("a_b",), ("a_b", "a_b_2")]
    assert program.steps[0].runtime == 600_000
    assert dict(program.steps[1].requirement.amounts) == {"cpus": 4}


def test_what_has_no_recorded_times_cannot_be_replayed() -> None:
    with pytest.raises(NothingRecordedError, match="declares no run times"):
        replayed(Workflow("w", (Task("a", "a"),), ((),)), MACHINES, 1)
    with pytest.raises(ValueError, match="above zero"):
        replayed(trace(), MACHINES, 0)


@pytest.mark.parametrize(
    ("name", "speed", "burns"),
    [
        ("helloworld-forkjoin-10-chameleon", 5_000, False),
        ("1000genome-chameleon-2ch-100k-001", 10_000, False),
        ("bacass-dirt02-001", 20_000, True),
        ("cycles-chameleon-1l-1c-9p-001", 5_000, False),
    ],
)
def test_public_traces_run_live(tmp_path: Path, name: str, speed: int, burns: bool) -> None:
    file = TRACES / f"{name}.json.gz"
    if not file.exists():
        pytest.skip("the shared data are not here")
    (tmp_path / "machines.yaml").write_text("machines: {a: {slots: 8, limit: 2}}")
    words = [str(file), "--replay", "--speed", str(speed), "--machines", "machines.yaml", "--json"]
    done = subprocess.run(
        [*COMMAND, *words, *(["--burn"] if burns else [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    store = open_store(tmp_path / ".tradewind" / "store.db")
    detail = store.run(json.loads(done.stdout)["run"])
    store.close()
    assert detail is not None
    assert {attempt.outcome for attempt in detail.attempts} == {"done"}
    assert len(detail.attempts) == len(detail.units)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flow.yaml", "--speed", "10"], "--speed and --burn need --replay"),
        (["flow.yaml", "--burn"], "--speed and --burn need --replay"),
        (["flow.yaml", "--replay"], "recorded"),
        (["flow.yaml", "other.yaml"], "one workflow at a time"),
    ],
)
def test_wrong_use_is_told(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "flow.yaml").write_text("steps: {a: {run: 'true'}}")
    done = subprocess.run([*COMMAND, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert message in done.stderr
