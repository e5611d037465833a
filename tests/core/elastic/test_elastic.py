"""Elastic units: the ledger stays exact, shares come and go, and everything that exists for runs exists for them."""

from dataclasses import replace
from typing import Any

import pytest
from elastic_audit import ElasticAudit
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.elastic.division import FAILURES, Division
from tradewind.core.handle import Core
from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.why import Cause, why
from tradewind.core.work import declared_time
from tradewind.model.command import Assign, Charged, Command, Dropped, Ended, Grown, Kill, Predicted, Refused, Start
from tradewind.model.elastic import Delivery, Elastic
from tradewind.model.event import (
    Cancelled,
    Event,
    Failed,
    Finished,
    MachineLost,
    MachineReady,
    MachineUnwanted,
    Progressed,
    Resumed,
    Submitted,
    Suspended,
    Timer,
)
from tradewind.model.machine import Billing, BootLag, MachineType, Market
from tradewind.model.scenario import Faults, Noise, Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

SMALL = MachineType("small", UNIT, Billing(MINUTE), BootLag(20 * SECOND), limit=12, slots=2)
BIG = MachineType("big", 4 * UNIT, Billing(MINUTE), BootLag(40 * SECOND), limit=4, slots=4, speed=2.5)
POLICIES = (
    "demand",
    "pfa",
    "plf",
    "scf",
    "capability",
    "slacksched",
    "scs+",
    "scs",
    "greedy",
    "gain",
    "tascaas",
    "tascaas-original",
)


def job(iterations: int = 10_000, hours: float = 2, deadline: int | None = 30 * MINUTE, **spec: Any) -> Workflow:
    """An elastic task between two whole ones."""
    elastic = Task("sim", "sim", runtime=round(hours * HOUR), elastic=Elastic(iterations, **spec))
    tasks = (Task("prepare", "prepare", runtime=10 * SECOND), elastic, Task("merge", "merge", runtime=20 * SECOND))
    return Workflow("job", tasks, ((), (0,), (1,)), deadline=deadline)


def alone(iterations: int = 10_000, hours: float = 2, deadline: int | None = 30 * MINUTE, **spec: Any) -> Workflow:
    """An elastic task that is a run of its own."""
    task = Task("sim", "sim", runtime=round(hours * HOUR), elastic=Elastic(iterations, **spec))
    return Workflow("alone", (task,), ((),), deadline=deadline)


def play(policy: str, *works: tuple[int, Workflow], budget: int | None = None, **options: Any) -> list[Record]:
    tenant = Tenant("default", budget=budget, interval=MINUTE)
    scenario = replace(Scenario((), (SMALL, BIG), (tenant,), policy, interval=30 * SECOND), **options)
    records: list[Record] = []
    submissions = [Submission(at, work) for at, work in works]
    Simulation(scenario, submissions, build(policy)).run(records.append)
    return records


def ends(records: list[Record]) -> list[tuple[int, str]]:
    return [(record.at, record.status) for record in records if isinstance(record, Ended)]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_runs_an_elastic_unit_and_what_follows_it(policy: str) -> None:
    records = play(policy, (0, job(initial=2)), (60 * SECOND, alone(initial=1)))
    assert [status for _, status in ends(records)] == ["done", "done"]
    audit = ElasticAudit().check(records)
    assert {run: len(done) for run, done in audit.delivered.items()} == {0: 10_000, 1: 10_000}


@given(
    seed=st.integers(0, 10**6),
    policy=st.sampled_from(("demand", "pfa", "capability", "slacksched", "scs+", "tascaas", "tascaas-original")),
    iterations=st.integers(1, 2_000),
    initial=st.integers(1, 5),
    loss=st.sampled_from((0.0, 2.0, 10.0)),
    boot_failure=st.sampled_from((0.0, 0.3)),
    noise=st.sampled_from((0.0, 0.5)),
    balancer=st.sampled_from(("", "static", "ruper-original")),
    deadline=st.sampled_from((None, 10 * MINUTE, 40 * MINUTE)),
)
@settings(max_examples=60, deadline=None)
def test_no_iteration_is_lost_or_counted_twice_whatever_fails(
    seed: int,
    policy: str,
    iterations: int,
    initial: int,
    loss: float,
    boot_failure: float,
    noise: float,
    balancer: str,
    deadline: int | None,
) -> None:
    work = job(iterations, hours=1, deadline=deadline, initial=initial, maximum=max(initial, 8), balancer=balancer)
    faults = Faults(machine_loss=loss, boot_failure=boot_failure)
    records = play(policy, (0, work), faults=faults, noise=Noise(noise), seed=seed)
    audit = ElasticAudit().check(records)
    assert len(audit.delivered[0]) == iterations
    assert [status for _, status in ends(records)] == ["done"]
    assert audit.most_at_once[0] <= max(initial, 8)


def test_the_same_seed_gives_the_same_log() -> None:
    first, second = (play("pfa", (0, job(initial=3)), faults=Faults(machine_loss=3), seed=7) for _ in range(2))
    assert first == second


def test_more_shares_are_started_to_meet_the_deadline() -> None:
    tight = play("demand", (0, alone(hours=4, deadline=30 * MINUTE)))
    loose = play("demand", (0, alone(hours=4, deadline=150 * MINUTE)))
    assert ends(tight)[0][0] <= 30 * MINUTE
    assert ends(loose)[0][0] <= 150 * MINUTE
    assert ElasticAudit().check(tight).most_at_once[0] > ElasticAudit().check(loose).most_at_once[0] >= 2


def test_what_follows_an_elastic_unit_is_left_time_before_the_deadline() -> None:
    elastic = Task("sim", "sim", runtime=4 * HOUR, elastic=Elastic(10_000, initial=2))
    work = Workflow("w", (elastic, Task("merge", "merge", runtime=25 * MINUTE)), ((), (0,)), deadline=60 * MINUTE)
    assert ends(play("demand", (0, work), machines=(SMALL,)))[0][0] <= 60 * MINUTE


@pytest.mark.parametrize("policy", ["scs+", "scs", "greedy", "gain"])
def test_deadline_policies_plan_around_an_elastic_unit(policy: str) -> None:
    records = play(policy, (0, job(hours=3, deadline=40 * MINUTE, initial=2)), (MINUTE, job(hours=1, initial=1)))
    assert [status for _, status in ends(records)] == ["done", "done"]
    assert max(at for at, _ in ends(records)) <= 40 * MINUTE
    late = [record for record in records if isinstance(record, Predicted) and (record.slack or 0) < 0]
    assert not late


def test_a_budget_holds_for_elastic_units_on_capacity_that_is_lost() -> None:
    spot = replace(SMALL, market=Market.SPOT)
    records = play("pfa", (0, job(initial=6)), budget=5 * UNIT, machines=(spot,), faults=Faults(machine_loss=6), seed=3)
    assert len(ElasticAudit().check(records).delivered[0]) == 10_000
    charges = [(record.at, record.amount) for record in records if isinstance(record, Charged)]
    for at, _ in charges:
        assert sum(amount for when, amount in charges if at <= when < at + MINUTE) <= 5 * UNIT


class Rig:
    """A core with three one-slot machines under `demand`, driven by hand."""

    def __init__(self, work: Workflow) -> None:
        kind = MachineType("m", UNIT, Billing(HOUR), limit=3)
        self.state = State((kind,), (Tenant("default"),), MINUTE, 0, declared_time)
        self.core = Core(self.state, build("demand"))
        self.seq = 0
        self.commands: list[Command] = []
        self.send(Submitted, "default", work)
        self.tick()
        self.boot()

    def send(self, kind: Any, *fields: Any, at: int | None = None) -> list[Command]:
        self.seq += 1
        event: Event = kind(self.state.now if at is None else at, self.seq, *fields)
        found = list(self.core.handle(event))
        self.commands += found
        return found

    def tick(self) -> None:
        self.send(Timer, at=self.state.now + MINUTE)

    def boot(self) -> None:
        for machine in list(self.state.machines.values()):
            if machine.is_booting:
                self.send(MachineReady, machine.id)

    def assigned(self) -> list[Assign]:
        return [command for command in self.commands if isinstance(command, Assign)]

    def division(self) -> Division:
        return next(u.elastic for u in self.state.units.values() if isinstance(u.elastic, Division))


def _report(
    rig: Rig, last: Assign, done: int, elapsed: int, number: int = 0, *ranges: tuple[int, int]
) -> list[Command]:
    where = (last.unit, last.attempt, last.machine)
    given = (Delivery(number, ranges),) if ranges else ()
    return rig.send(Progressed, *where, done, elapsed, given, at=rig.state.now + elapsed)


def test_a_repeated_report_changes_nothing() -> None:
    rig = Rig(alone(100, initial=1))
    (first,) = rig.assigned()
    begin, _ = first.ranges[0]
    (one,) = [c for c in _report(rig, first, 1, SECOND, 1, (begin, begin + 1)) if isinstance(c, Assign)]
    assert rig.division().ledger.delivered == 1
    again = [c for c in _report(rig, first, 1, SECOND, 1, (begin, begin + 1)) if isinstance(c, Assign)]
    assert rig.division().ledger.delivered == 1
    assert again[0].ranges[0][0] == one.ranges[0][0] == begin + 1


@pytest.mark.parametrize(
    ("done", "number", "ranges", "reason"),
    [
        (1, 1, (50, 51), "does not hold"),
        (99, 0, None, "holds fewer"),
        (1, 2, (0, 1), "must come before"),
    ],
)
def test_a_report_that_cannot_be_true_is_dropped_with_the_reason(
    done: int, number: int, ranges: tuple[int, int] | None, reason: str
) -> None:
    rig = Rig(alone(100, initial=4))
    first = rig.assigned()[0]
    found = _report(rig, first, done, SECOND, number, *([ranges] if ranges else []))
    (dropped,) = [command for command in found if isinstance(command, Dropped)]
    assert reason in dropped.because
    assert rig.division().ledger.delivered == 0


def test_a_late_report_of_a_lost_attempt_is_fenced() -> None:
    rig = Rig(alone(100, initial=1))
    (first,) = rig.assigned()
    rig.send(MachineLost, first.machine, "gone")
    assert rig.division().unassigned == 100
    found = _report(rig, first, 1, SECOND, 1, (0, 1))
    assert [type(command) for command in found if isinstance(command, Dropped)] == [Dropped]
    assert rig.division().ledger.delivered == 0


def test_a_share_on_a_machine_that_is_drained_gives_back_what_it_has_not_done() -> None:
    rig = Rig(alone(100, initial=1))
    (first,) = rig.assigned()
    rig.send(MachineUnwanted, first.machine, "maintenance")
    begin, _ = first.ranges[0]
    (answer,) = [c for c in _report(rig, first, 1, SECOND, 1, (begin, begin + 1)) if isinstance(c, Assign)]
    assert (answer.next, answer.ranges) == ("end", ())
    rig.send(Finished, first.unit, first.attempt, first.machine)
    rig.tick()
    rig.boot()
    assert rig.assigned()[-1].machine != first.machine
    assert rig.division().unassigned + sum(end - begin for begin, end in rig.assigned()[-1].ranges) == 99


def test_cancelling_kills_every_share() -> None:
    rig = Rig(alone(100, initial=3))
    assert len(rig.assigned()) == 3
    found = rig.send(Cancelled, 0)
    assert len([command for command in found if isinstance(command, Kill)]) == 3
    assert [command.status for command in found if isinstance(command, Ended)] == ["cancelled"]
    assert not rig.state.units


def test_a_suspended_run_starts_no_share_until_it_is_resumed() -> None:
    rig = Rig(alone(100, initial=5))
    assert (rig.division().live, rig.division().queued) == (3, 2)
    rig.send(Suspended, 0)
    assert (rig.division().live, rig.division().queued) == (3, 0)
    first = rig.assigned()[0]
    rig.send(Failed, first.unit, first.attempt, first.machine, "broke", "lost")
    assert (rig.division().live, rig.division().queued) == (2, 0)
    rig.send(Resumed, 0)
    assert rig.division().live == 3
    assert rig.division().live + rig.division().queued == 5


def test_a_unit_fails_after_many_failed_shares_without_a_delivery() -> None:
    rig = Rig(job(100, initial=1))
    start = next(c for c in rig.commands if isinstance(c, Start))
    rig.send(Finished, start.unit, start.attempt, start.machine)
    for failed in range(FAILURES):
        last = rig.assigned()[-1]
        rig.send(Failed, last.unit, last.attempt, last.machine, "no such file")
        if failed < FAILURES - 1:
            rig.tick()
            rig.tick()
            rig.boot()
    assert [command.status for command in rig.commands if isinstance(command, Ended)] == ["failed"]


def test_no_more_shares_wait_than_there_can_be_machines_for() -> None:
    records = play("demand", (0, alone(hours=500, deadline=10 * MINUTE)), machines=(replace(SMALL, limit=2),))
    started = {record.unit for record in records if isinstance(record, Start)}
    grown = [record for record in records if isinstance(record, Grown)]
    assert sum(record.tasks for record in grown) <= len(started) + 4


def test_why_says_how_many_shares_there_are() -> None:
    rig = Rig(alone(100, initial=5))
    reason = why(rig.state, rig.division().unit)
    assert reason.cause is Cause.RUNNING
    assert "3 running and 2 waiting shares" in reason.text


def test_an_unknown_balancer_is_refused_with_the_known_ones() -> None:
    records = play("demand", (0, alone(balancer="rupert")))
    (refused,) = [record for record in records if isinstance(record, Refused)]
    assert "rupert" in refused.reason
    assert "ruper" in refused.reason


def test_a_run_that_will_be_late_says_so_and_says_when_it_is_in_time_again() -> None:
    late = play("demand", (0, alone(hours=200, deadline=30 * MINUTE)))
    slacks = [record.slack for record in late if isinstance(record, Predicted)]
    assert slacks
    assert all(slack is not None and slack < 0 for slack in slacks)
    assert not [record for record in play("demand", (0, alone())) if isinstance(record, Predicted)]


@pytest.mark.parametrize(("iterations", "hours", "shares"), [(1_000, 10, 5), (7, 7, 7), (999, 3, 3), (10**9, 12, 4)])
def test_shares_of_equal_speed_end_to_the_microsecond_and_pay_no_further_period(
    iterations: int, hours: int, shares: int
) -> None:
    host = MachineType("host", UNIT, Billing(HOUR), limit=shares)
    records = play("demand", (0, alone(iterations, hours, None, initial=shares)), machines=(host,))
    assert ends(records) == [(hours * HOUR // shares, "done")]
    assert sum(record.amount for record in records if isinstance(record, Charged)) == hours * UNIT
