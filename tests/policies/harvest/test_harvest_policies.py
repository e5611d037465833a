"""The harvest policies on small worlds of machines that change."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from audit import Audit
from worlds import of

from tradewind.core.log import Record
from tradewind.model.command import Acquire, Ended, Kill, Release, Start
from tradewind.model.errors import TradewindError
from tradewind.model.event import MachineResized
from tradewind.model.machine import Billing, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import DAY, HOUR, MINUTE, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build, names
from tradewind.sim.driver import Simulation
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.steps import Steps, steps_from

HARVEST = MachineType(
    "harvest",
    billing=Billing(HOUR),
    slots=64,
    amounts=amounts(cpus=64),
    market=Market.HARVEST,
    minimum=amounts(cpus=2),
)
ANYBODY = Tenant("default")
ALL = ("capacity", "checkpoint", "oracle", "slacksched", "slacksched-heartbeat", "slacksched-nodelay")


def job(tasks: int, minutes: float, cpus: int = 4) -> Workflow:
    needs = Requirement(amounts=amounts(cpus=cpus))
    return Workflow(
        "job", tuple(Task(f"t{i}", "t", needs, round(minutes * MINUTE)) for i in range(tasks)), ((),) * tasks
    )


def simulate(
    policy: str,
    servers: Sequence[Steps],
    work: Sequence[Submission],
    parameters: Mapping[str, Any] | None = None,
    *,
    types: Sequence[MachineType] = (HARVEST,),
    tenant: Tenant = ANYBODY,
) -> list[Record]:
    scenario = Scenario((), tuple(types), (tenant,), policy, parameters or {}, interval=MINUTE)
    records: list[Record] = []
    Simulation(scenario, work, build(policy, parameters), provider=Provider(servers)).run(records.append)
    return records


def busy(count: int = 12, seed: int = 1) -> list[Steps]:
    return make_servers(CLUSTERS["C1"], count, 4 * DAY, seed)


@pytest.mark.parametrize("kill", ["newest", "oldest"])
@pytest.mark.parametrize("policy", ALL)
def test_all_work_ends_and_the_books_are_right(policy: str, kill: str) -> None:
    work = [Submission(0, job(1, 0)), *(Submission(DAY // 4 + i * HOUR, job(15, 10 + 20 * i)) for i in range(4))]
    records = simulate(policy, busy(), work, {"machines": 8, "kill": kill})
    audit = Audit([HARVEST], [ANYBODY])
    if kill == "newest":
        audit.check(records)
        assert all(unit.is_done for unit in audit.units)
    assert len(of(records, Ended)) == 5


@pytest.mark.parametrize("policy", ["slacksched", "capacity"])
def test_the_same_seed_gives_the_same_records(policy: str) -> None:
    work = [Submission(0, job(1, 0)), Submission(DAY // 8, job(30, 40))]
    one, two = (simulate(policy, busy(), work, {"machines": 6}) for _ in range(2))
    assert repr(one) == repr(two)


def test_a_strict_oracle_waits_for_machines_that_do_not_shrink() -> None:
    """One machine of 8 cores, which loses four that nobody needs while the task would run."""
    servers = [steps_from([(0, 8), (30 * MINUTE, 4), (50 * MINUTE, 8), (60 * MINUTE, 6)])]
    work = [Submission(20 * MINUTE, job(1, 20, cpus=2))]
    for strict, begins in ((False, 20), (True, 30)):
        (start,) = of(simulate("oracle", servers, work, {"machines": 1, "strict": strict}), Start)
        assert start.at == begins * MINUTE


def test_the_oracle_is_never_preempted() -> None:
    work = [Submission(0, job(1, 0)), *(Submission(HOUR + i * HOUR, job(20, 30)) for i in range(4))]
    records = simulate("oracle", busy(), work, {"machines": 10})
    assert not of(records, Kill)
    assert len(of(records, Start)) == 81
    assert len(of(records, MachineResized)) > 50  # though machines do change under it


def test_the_oracle_wants_a_simulation() -> None:
    placer = build("oracle").placer
    with pytest.raises(TradewindError, match="only works in a simulation"):
        list(placer.place(None))  # type: ignore[arg-type]


def test_long_tasks_go_where_machines_are_stable() -> None:
    """Half of the servers have changed every ten minutes for a day, the other half never."""
    restless = steps_from((i * 10 * MINUTE, 16 + 8 * (i % 2)) for i in range(400))
    servers = [restless, Steps([0], [24])] * 6
    work = [Submission(0, job(1, 0)), Submission(DAY, job(24, 60))]
    for policy in ("slacksched", "slacksched-nodelay", "slacksched-heartbeat"):
        parameters = {"machines": 12, "threshold": 0.9} if policy == "slacksched-heartbeat" else {"machines": 12}
        records = simulate(policy, servers, work, parameters)
        assert not of(records, Kill), policy
    assert of(simulate("capacity", servers, work, {"machines": 12}), Kill)


@pytest.mark.parametrize("policy", ["slacksched", "slacksched-nodelay"])
def test_the_longest_task_chooses_first(policy: str) -> None:
    """There is one stable machine, with room for one task; the long one comes last in its job."""
    restless = steps_from((i * 10 * MINUTE, 16 + 8 * (i % 2)) for i in range(400))
    servers = [Steps([0], [4]), *[restless] * 5]
    needs = Requirement(amounts=amounts(cpus=4))
    tasks = tuple(Task(f"t{i}", "t", needs, minutes * MINUTE) for i, minutes in enumerate((1, 1, 1, 1, 90)))
    work = [Submission(0, job(1, 0)), Submission(DAY + MINUTE, Workflow("job", tasks, ((),) * 5))]
    records = simulate(policy, servers, work, {"machines": 6, "kill": "oldest"})
    changes = Counter(record.machine for record in of(records, MachineResized))
    stable = min(changes, key=lambda machine: changes[machine])
    on_it = [start.unit for start in of(records, Start) if start.machine == stable and start.at > DAY]
    assert on_it == [max(start.unit for start in of(records, Start))]


def test_where_stability_is_not_looked_at_any_machine_may_go() -> None:
    """Of machines held without an acquirer, not just the most recently changed are given up."""
    servers = [Steps([0, HOUR + number * MINUTE], [16, 24]) for number in range(60)]
    work = [Submission(0, job(60, 90)), Submission(6 * HOUR, job(1, 60))]
    gone = {}
    for acquire in (False, True):
        records = simulate("capacity", servers, work, {"machines": 20, "scaling": "utilisation", "acquire": acquire})
        released = [each for each in of(records, Release) if each.because != "all work is done"]
        changed = {each.machine: each.at for each in of(records, MachineResized)}
        gone[acquire] = [changed.get(each.machine, 0) for each in released if each.at < 6 * HOUR]
    assert gone[False] != sorted(gone[False], reverse=True)


def test_draining_never_kills_work() -> None:
    steady = [Steps([0], [16])] * 40
    work = [Submission(0, job(1, 0)), *(Submission(HOUR + i * 20 * MINUTE, job(12, 50)) for i in range(30))]
    records = simulate("slacksched", steady, work, {"machines": 10, "acquire": True})
    assert not of(records, Kill)
    traded = [
        each for each in of(records, Release) if each.because in ("it was drained", "it has changed most recently")
    ]
    assert len(traded) >= 5
    held = most = 0
    for record in records:
        held += isinstance(record, Acquire) - isinstance(record, Release)
        most = max(most, held)
    assert most <= 14


def test_machines_follow_the_use_of_cores() -> None:
    steady = [Steps([0], [16])] * 60
    work = [Submission(0, job(1, 0)), *(Submission(HOUR + i * 10 * MINUTE, job(20, 60)) for i in range(24))]
    records = simulate("slacksched", steady, work, {"machines": 2, "scaling": "utilisation"})
    assert len(of(records, Acquire)) > 20
    assert any(each.because != "all work is done" for each in of(records, Release))


def test_the_scaler_of_another_policy_may_be_used_with_its_budget() -> None:
    priced = MachineType(
        "harvest",
        2 * UNIT,
        Billing(MINUTE),
        limit=20,
        slots=64,
        amounts=amounts(cpus=64),
        market=Market.HARVEST,
        minimum=amounts(cpus=2),
    )
    tenant = Tenant("default", 10 * UNIT, MINUTE)
    work = [Submission(0, job(40, 20))]
    records = simulate("slacksched", busy(), work, {"scaling": "pfa"}, types=[priced], tenant=tenant)
    audit = Audit([priced], [tenant]).check(records)
    assert all(unit.is_done for unit in audit.units)


def test_checkpoints_bound_what_is_lost() -> None:
    """A machine that shrinks each hour would never let a task of two hours end, if it did not save its progress."""
    steps = steps_from((i * 30 * MINUTE, 4 if i % 2 else 16) for i in range(200))
    tight = [steps] * 2
    work = [Submission(0, job(2, 100, cpus=8))]
    records = simulate("checkpoint", tight, work, {"machines": 2})
    assert of(records, Kill)
    assert [record.status for record in of(records, Ended)] == ["done"]


def test_they_are_all_there() -> None:
    assert set(ALL) <= set(names())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"machines": 0}, "machines must be at least 1"),
        ({"kill": "random"}, "newest"),
        ({"epoch": "0s"}, "epoch must be greater than zero"),
        ({"form": "second"}, "several"),
    ],
)
def test_wrong_parameters_are_refused(parameters: Mapping[str, Any], message: str) -> None:
    with pytest.raises(TradewindError, match=message):
        build("slacksched", parameters)
