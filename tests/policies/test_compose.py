"""Policies put together from roles: what they promise each, they keep together."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.core.log import Record
from tradewind.formats.load import load
from tradewind.model.command import Ended
from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.requirement import amounts
from tradewind.model.scenario import Faults, Scenario, Submission
from tradewind.model.units import HOUR, MINUTE, SECOND, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.compose import CompositionError
from tradewind.policies.registry import PolicyError, build, names
from tradewind.sim.driver import Simulation

FOLLOWING = {"plf", "scf", "scs", "scs+", "greedy", "gain"}
"""Policies whose placer carries out the plan of their scaler."""
FOUR = amounts(cpus=4)
SPOT = MachineType(
    *("spot", 300_000, Billing(HOUR, MINUTE), BootLag(2 * MINUTE)),
    limit=20,
    market=Market.SPOT,
    amounts=FOUR,
    minimum=FOUR,
)
FIRM = MachineType("firm", UNIT, Billing(HOUR, MINUTE), BootLag(2 * MINUTE), limit=40, amounts=FOUR)


def graph(chance: random.Random, slack: float, tasks: int = 12) -> Workflow:
    """A random workflow whose deadline is its critical path on one machine type, times a slack, and ten minutes."""
    steps = tuple(Task(f"t{i}", "t", runtime=chance.randint(5, 40) * MINUTE) for i in range(tasks))
    parents = tuple(tuple(sorted(chance.sample(range(i), min(i, chance.randint(0, 2))))) for i in range(tasks))
    ends: list[int] = []
    for step, row in zip(steps, parents, strict=True):
        ends.append((step.runtime or 0) + max((ends[parent] for parent in row), default=0))
    return Workflow("w", steps, parents, deadline=round(max(ends) * slack) + 10 * MINUTE)


@pytest.mark.parametrize("scaler", [name for name in names() if name != "fixed"])
def test_every_scaler_works_with_every_placer_that_has_no_plan_to_follow(scaler: str) -> None:
    for placer in names():
        if placer == scaler or placer in FOLLOWING:
            continue
        types = (replace(SPOT, slots=2, amounts=(), minimum=()), replace(FIRM, slots=2, amounts=(), speed=1.5))
        scenario = Scenario((), types, interval=MINUTE, seed=3, faults=Faults(machine_loss=1.0))
        records: list[Record] = []
        work = [Submission(i * 5 * MINUTE, graph(random.Random(i), 3, tasks=10)) for i in range(2)]
        Simulation(scenario, work, build(scaler, {"placer": placer})).run(records.append)
        ended = [record.status for record in records if isinstance(record, Ended)]
        assert ended == ["done", "done"], placer


@pytest.mark.parametrize("placer", sorted(FOLLOWING))
def test_a_placer_that_follows_its_own_plan_is_refused_with_the_reason(placer: str) -> None:
    with pytest.raises(
        CompositionError, match=f"cannot use the placer of '{re.escape(placer)}'.*plan of its own scaler"
    ):
        build("demand", {"placer": placer})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"placer": "slacksche"}, "no policy named 'slacksche'; did you mean 'slacksched'"),
        ({"placer": "slacksched", "placer.gian": 0.1}, "policy 'slacksched' has no parameter 'gian'"),
        ({"placer.gain": 0.1}, "no other placer"),
        ({"balancer": "rupr"}, "no balancer named 'rupr'; did you mean 'ruper'"),
        ({"scaler.x": 1}, "no parameter 'scaler.x'"),
    ],
)
def test_errors_name_the_role_and_the_remedy(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        build("pfa", parameters)


def test_each_role_keeps_its_own_parameters_and_memory() -> None:
    policy = build("capability", {"patience": 5, "placer": "slacksched", "placer.gain": "0.25", "balancer": "static"})
    assert policy.name == "capability/slacksched"
    assert policy.balancer(SECOND).name == "static"
    assert policy.memory is not None
    saved = policy.memory.save()
    assert set(saved) == {"scaler", "placer"}
    again = build("capability", {"placer": "slacksched"})
    assert again.memory is not None
    again.memory.load(saved)
    assert again.memory.save() == saved


SCENARIO = """\
workload: [{generate: forkjoin, tasks: 20}]
machines: {small: {price: 1, limit: 8}}
policy: {scaler: scs+, placer: {name: slacksched, gain: 0.2}, balancer: ruper}
"""


def test_a_scenario_names_roles(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    found: Any = load(tmp_path / "s.yaml").content
    assert found.policy == "scs+"
    assert found.parameters == {"placer": "slacksched", "placer.gain": 0.2, "balancer": "ruper"}


def test_the_command_line_names_roles(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        SCENARIO.replace("policy: {scaler: scs+, placer: {name: slacksched, gain: 0.2}, balancer: ruper}", "")
    )
    words = ["simulate", str(file), "--policy", "pfa", "--placer", "slacksched", "-P", "placer.gain=0.1"]
    result = CliRunner().invoke(application(), words)
    assert result.exit_code == 0, result.output
    assert "pfa/slacksched" in result.output
