"""Boot lags that are declared wrongly, and learned, in simulations."""

from collections.abc import Mapping
from typing import Any

import pytest

from tradewind.core.estimates import ENOUGH, Learned
from tradewind.core.log import Record
from tradewind.model.action import NOTHING
from tradewind.model.command import Acquire, Ended
from tradewind.model.event import MachineReady
from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.scenario import Estimates, Scenario, Submission
from tradewind.model.units import HOUR, MINUTE, UNIT, Time
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

REAL, DECLARED = 20 * MINUTE, MINUTE
SLOW = MachineType("slow", UNIT, Billing(HOUR), BootLag(REAL, declared=DECLARED))
FAST = MachineType("fast", 8 * UNIT, Billing(HOUR), BootLag(REAL, declared=DECLARED))
WORK = Task("t", "t", runtimes={"slow": 40 * MINUTE, "fast": 10 * MINUTE})
DEADLINE = 45 * MINUTE
"""Enough for a slow machine that is up a minute after it was asked for, not for one that takes twenty."""
JOBS = 12


def lateness(policy: str, estimates: str, known: Mapping[str, Any] = NOTHING) -> tuple[list[Time], list[Record]]:
    """By how much each job is late; one comes every three hours, when nothing is held any more."""
    records: list[Record] = []
    work = [Submission(i * 3 * HOUR, Workflow("job", (WORK,), ((),), deadline=DEADLINE)) for i in range(JOBS)]
    scenario = Scenario((), (SLOW, FAST), estimates=Estimates(estimates))
    simulation = Simulation(scenario, work, build(policy))
    simulation.state.recall(known)
    simulation.run(records.append)
    ends = {record.run: record.at for record in records if isinstance(record, Ended)}
    return [ends[run] - run * 3 * HOUR - DEADLINE for run in range(JOBS)], records


def test_machines_come_up_after_the_real_lag_whatever_is_declared() -> None:
    _, records = lateness("scs+", "declared")
    asked = {record.machine: record.at for record in records if isinstance(record, Acquire)}
    up = {record.machine: record.at for record in records if isinstance(record, MachineReady)}
    assert {up[machine] - asked[machine] for machine in up} == {REAL}


def test_a_lag_that_is_declared_wrongly_is_paid_for_with_missed_deadlines() -> None:
    late, _ = lateness("scs+", "declared")
    assert late == [15 * MINUTE] * JOBS


@pytest.mark.parametrize("policy", ["scs+", "greedy"])
def test_deadlines_are_met_again_once_the_lag_has_been_learned(policy: str) -> None:
    late, _ = lateness(policy, "learned")
    assert late[:3] == [15 * MINUTE] * 3, "slow machines, thought to be up in a minute"
    assert max(late[4:]) <= 0


@pytest.mark.parametrize("policy", ["scs+", "scs", "greedy", "gain"])
def test_what_an_earlier_time_has_learned_of_the_lag_counts_from_the_start(policy: str) -> None:
    earlier = Learned()
    for kind in (SLOW, FAST):
        for _ in range(ENOUGH):
            earlier.learn_lag(kind, REAL)
    late, _ = lateness(policy, "learned", earlier.changes())
    assert max(late) <= 0
