"""The harvest policies with budgets and deadlines: money and work are right, whoever decides how much is rented."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from audit import Audit
from worlds import of

from tradewind.core.log import Record
from tradewind.model.command import Cut, Ended, Start
from tradewind.model.machine import Billing, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import DAY, HOUR, MINUTE, UNIT, Duration, Time
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.steps import Steps

HARVEST = MachineType(
    "harvest",
    price=64 * UNIT // 100,
    core_price=UNIT // 100,
    billing=Billing(10 * MINUTE),
    limit=40,
    slots=64,
    amounts=amounts(cpus=64),
    market=Market.HARVEST,
    minimum=amounts(cpus=2),
)
TENANT = Tenant("default", 4 * UNIT, 10 * MINUTE)
"""Pays for six machines."""
POLICIES = ("capacity", "slacksched", "slacksched-nodelay", "slacksched-heartbeat", "replicate")


def work() -> list[Submission]:
    needs = Requirement(amounts=amounts(cpus=4))
    tasks = tuple(Task(f"t{i}", "t", needs, (5 + i % 7) * MINUTE) for i in range(24))
    job = Workflow("job", tasks, ((),) * len(tasks), deadline=2 * HOUR)
    return [Submission(i * 20 * MINUTE, replace(job, name=f"job-{i}")) for i in range(5)]


def simulate(policy: str, parameters: Mapping[str, Any], market: Market = Market.HARVEST) -> list[Record]:
    kind = replace(HARVEST, market=market)
    scenario = Scenario((), (kind,), (TENANT,), policy=policy, parameters=parameters, interval=MINUTE)
    provider = Provider(make_servers(CLUSTERS["C1"], 40, DAY, 1), "random", 1)
    records: list[Record] = []
    Simulation(scenario, work(), build(policy, parameters), provider=provider).run(records.append)
    return records


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "parameters",
    [
        {"machines": 20, "acquire": True, "epoch": "30m"},
        {"machines": 2, "scaling": "utilisation", "epoch": "10m"},
        {"scaling": "pfa"},
        {"scaling": "demand"},
    ],
    ids=["acquirer", "utilisation", "pfa", "demand"],
)
def test_no_policy_spends_more_than_its_budget(policy: str, parameters: Mapping[str, Any]) -> None:
    records = simulate(policy, parameters)
    audit = Audit([HARVEST], [TENANT], is_replicated=policy == "replicate").check(records)
    assert all(unit.is_done for unit in audit.units)
    assert 0 < audit.cost < sum(machine.charged for machine in audit.machines), "missing cores were paid back"
    if "acquire" in parameters:
        assert of(records, Cut)


@pytest.mark.parametrize("scaling", ["scs", "scs+", "greedy"])
def test_machines_may_be_rented_for_deadlines(scaling: str) -> None:
    records = simulate("slacksched", {"scaling": scaling})
    audit = Audit([HARVEST], [TENANT]).check(records)
    assert all(unit.is_done for unit in audit.units)
    assert [each.status for each in of(records, Ended)] == ["done"] * 5


def test_copies_run_on_as_many_machines_as_the_budget_pays_for() -> None:
    once, thrice = (len(of(simulate(policy, {"machines": 6}), Start)) for policy in ("capacity", "replicate"))
    assert thrice > 2 * once


def shared(parameters: Mapping[str, Any], limit: int, quantum: Duration | None = None) -> dict[int, list[Time]]:
    """When runs end, by tenant: the first has work for hours, when the second hands some in."""
    tenants = (Tenant("first"), Tenant("second"))
    kind = replace(HARVEST, limit=limit)
    scenario = Scenario((), (kind,), tenants, policy="slacksched", parameters=parameters, interval=MINUTE)
    needs = Requirement(amounts=amounts(cpus=1))
    job = Workflow("job", tuple(Task(f"t{i}", "t", needs, 5 * MINUTE) for i in range(30)), ((),) * 30)
    ours = [Submission(i * 15 * MINUTE, job, tenant="first") for i in range(24)]
    theirs = [Submission(i * 5 * MINUTE + 20 * MINUTE, job, tenant="second") for i in range(3)]
    provider = Provider([Steps([0], [64])] * limit, "random", 1)
    records: list[Record] = []
    world = Simulation(scenario, [*ours, *theirs], build("slacksched", parameters), provider=provider)
    world.state.quantum = quantum
    world.run(records.append)
    ends = of(records, Ended)
    assert [each.status for each in ends] == ["done"] * 27
    return {tenant: [each.at for each in ends if each.tenant == tenant] for tenant in (0, 1)}


@pytest.mark.parametrize("parameters", [{"machines": 4}, {"machines": 4, "scaling": "utilisation", "epoch": "10m"}])
def test_tenants_share_what_there_is(parameters: Mapping[str, Any]) -> None:
    ends = shared(parameters, limit=4)
    assert max(ends[1]) < 2 * HOUR < max(ends[0])


def test_who_waits_for_a_turn_takes_it_when_it_comes() -> None:
    ends = shared({"machines": 1}, limit=1, quantum=MINUTE)
    assert max(ends[1]) < HOUR < max(ends[0])


def test_who_has_nothing_to_do_leaves_machines_to_others() -> None:
    ends = shared({"machines": 1}, limit=1)
    assert min(ends[1]) < max(ends[0]) + HOUR
