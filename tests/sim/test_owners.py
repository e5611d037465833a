"""Simulated machines that join: when they come and leave, and how their owners follow hints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from worlds import minutely, of, simulated, task, workflow

from tradewind.core.metrics import Meter
from tradewind.core.summary import summarise
from tradewind.formats.errors import FormatError
from tradewind.formats.load import load, load_machines
from tradewind.model.command import Acquire, Ended, Start, Wanted, Welcomed
from tradewind.model.event import MachineJoined, MachineLeft
from tradewind.model.machine import BootLag, MachineType, Presence
from tradewind.model.requirement import Requirement
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

GPU = Requirement(frozenset({"gpu"}))


def lab(limit: int = 9, **presence: Any) -> MachineType:
    gpu = frozenset({"gpu"})
    boot = BootLag(20 * SECOND)
    return MachineType("lab", capabilities=gpu, limit=limit, boot=boot, joins=True, presence=Presence(**presence))


def tasks(count: int, seconds: float = 10) -> Any:
    return workflow(*(task(f"t{i}", seconds, needs=GPU) for i in range(count)))


def test_machines_that_are_there_do_the_work() -> None:
    records = simulated([tasks(4)], [lab(present=2, begin=5 * SECOND)])
    assert [record.at // SECOND for record in of(records, Welcomed)][:2] == [5, 5]
    assert of(records, Ended)[0].status == "done"
    assert not of(records, Acquire)


def test_a_hint_brings_machines_after_the_boot_lag_up_to_the_limit() -> None:
    records = simulated([tasks(5, 200)], [lab(limit=3)])
    assert of(records, Wanted)[0].count == 3
    assert [record.at for record in of(records, MachineJoined)] == [20 * SECOND] * 3
    assert of(records, Ended)[0].status == "done"


def test_idle_machines_leave_when_a_hint_asks_for_fewer() -> None:
    work = workflow(task("long", 600, needs=GPU), task("short", 1, needs=GPU))
    records = simulated([work], [lab()])
    left = of(records, MachineLeft)
    assert len(left) == 1
    assert left[0].at < 3 * MINUTE
    assert len(of(records, Start)) == 2, "nothing had to run twice"


def test_machines_leave_at_their_time_and_what_ran_there_runs_elsewhere() -> None:
    gone = lab(present=1, end=30 * SECOND)
    other = replace(minutely("other", limit=1), capabilities=frozenset({"gpu"}), boot=BootLag(40 * SECOND))
    records = simulated([tasks(1, 60)], [gone, other])
    assert [start.attempt for start in of(records, Start)] == [1, 2]
    assert of(records, MachineLeft)[0].at == 30 * SECOND


def test_machines_that_leave_at_random_are_replaced() -> None:
    records = simulated([tasks(40, 120)], [lab(present=3, churn=30.0)])
    assert len(of(records, MachineLeft)) > 3
    assert of(records, Ended)[0].status == "done"


@pytest.mark.parametrize("policy", ["demand", "pfa", "scs+", "slacksched"])
def test_the_same_seed_gives_the_same_log(policy: str) -> None:
    options: dict[str, Any] = {"policy": policy, "tenants": (Tenant("ann"), Tenant("bob")), "seed": 5}
    work = [Submission(at * MINUTE, tasks(6, 50), who) for at in range(3) for who in ("ann", "bob")]
    machines = [minutely(limit=2), lab(present=2, churn=20.0)]
    first, second = (simulated(work, machines, **options) for _ in range(2))
    assert repr(first) == repr(second)
    assert len(of(first, Ended)) == 6


def test_work_for_machines_that_never_come_is_found_to_be_stuck() -> None:
    records = simulated([tasks(1)], [lab(limit=0)])
    assert not of(records, Ended)
    assert len(records) < 5_000


def test_figures_count_machines_that_joined() -> None:
    scenario = Scenario((), (lab(present=2),), (Tenant("default"),), "demand", {})
    simulation = Simulation(scenario, [Submission(0, tasks(4))], build("demand"))
    meter = Meter(simulation.state.all_pools, simulation.state.kinds)
    simulation.run(meter.observe)
    assert meter.finished == 4
    assert meter.tenants[0].allocated[0].area > 0
    assert summarise(meter)["workflows"] == 1


# Files


def machines_file(folder: Path, text: str) -> Path:
    file = folder / "machines.yaml"
    file.write_text(text)
    return file


def test_a_machines_file_may_hold_machines_that_join(tmp_path: Path) -> None:
    text = """\
machines:
  campus:
    slots: 4
    capabilities: [gpu]
    limit: 16
    boot: 2m
    joins: {present: 4, after: 10m, until: 8h, churn: 0.5, tenants: [ann]}
  desk: {joins: {}}
"""
    campus, desk = load_machines(machines_file(tmp_path, text))
    assert campus.joins
    assert campus.tenants == ("ann",)
    assert campus.presence == Presence(4, 10 * MINUTE, 480 * MINUTE, 0.5)
    assert desk.joins
    assert desk.presence == Presence()


@pytest.mark.parametrize(
    ("joins", "place", "remedy"),
    [
        ("{present: 20}", "joins.present", "raise the limit"),
        ("{after: 2h, until: 1h}", "joins.until", "let them leave after they have joined"),
        ("{presnt: 2}", "joins: unknown field", "did you mean 'present'"),
        ("{churn: -1}", "joins.churn", ""),
    ],
)
def test_mistakes_are_named_with_place_and_remedy(tmp_path: Path, joins: str, place: str, remedy: str) -> None:
    file = machines_file(tmp_path, f"machines:\n  campus:\n    limit: 16\n    joins: {joins}\n")
    with pytest.raises(FormatError) as caught:
        load_machines(file)
    assert place in str(caught.value)
    assert remedy in str(caught.value)


def test_a_scenario_names_tenants_that_do_not_exist(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text("""\
workload: [{generate: fork-join, count: 1}]
machines: {campus: {joins: {tenants: [anne]}}}
tenants: {ann: {}}
policy: demand
""")
    with pytest.raises(FormatError, match="no tenant named 'anne'"):
        load(file)
