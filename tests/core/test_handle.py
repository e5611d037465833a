"""The core, event by event."""

from collections.abc import Iterator
from typing import Any

import pytest
from audit import Audit
from worlds import Bench, chain, minutely, of, task, workflow

from tradewind.model.command import (
    Acquire,
    Admitted,
    Charged,
    Command,
    Cut,
    Dropped,
    Eligible,
    Ended,
    Kill,
    Refused,
    Release,
    Start,
    Wake,
)
from tradewind.model.event import (
    Broken,
    Cancelled,
    Closed,
    Extended,
    Failed,
    Finished,
    MachineFailed,
    MachineLost,
    MachineReady,
    Redated,
    Reprioritised,
    Submitted,
    Timer,
)
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Retry
from tradewind.policies.protocol import Place, Policy, Rent, Return, Scaling, Unit, View
from tradewind.policies.registry import build


def names(commands: list[Command]) -> list[str]:
    return [type(command).__name__ for command in commands]


def one_machine(slots: int = 1) -> Bench:
    """A core with one machine, up from the start once something is submitted."""
    return Bench([minutely(slots=slots)], "fixed", {"machines": 1})


# Work


def test_a_run_from_submission_to_result() -> None:
    bench = one_machine()
    assert names(bench.submit(1, chain(task("a"), task("b")))) == ["Admitted", "Eligible", "Acquire", "Charged", "Wake"]
    assert names(bench.tell(MachineReady, 5, 0)) == ["Start"]
    assert names(bench.tell(Finished, 15, 0, 1, 0)) == ["Eligible", "Start"]
    assert names(bench.tell(Finished, 25, 1, 1, 0)) == ["Ended"]
    admitted, ended = of(bench.records, Admitted)[0], of(bench.records, Ended)[0]
    assert (admitted.ideal, admitted.tasks, admitted.first) == (20 * SECOND, 2, 0)
    assert (ended.at, ended.status) == (25 * SECOND, "done")
    assert names(bench.tell(Closed, 30)) == ["Release"]
    Audit(bench.machines, bench.tenants, is_dynamic=True).check(bench.records)


def test_an_empty_workflow_is_done_at_once() -> None:
    bench = one_machine()
    assert names(bench.submit(1, workflow())) == ["Admitted", "Ended"]
    assert of(bench.records, Admitted)[0].ideal == 0


def test_what_no_machine_type_can_run_is_refused_whole() -> None:
    bench = Bench([minutely(amounts=amounts(cpus=2)), minutely("g", capabilities=frozenset({"gpu"}))])
    both = Requirement(frozenset({"gpu"}), amounts(cpus=1))
    (refused,) = bench.submit(0, workflow(task("fine"), task("odd", needs=both)))
    assert isinstance(refused, Refused)
    assert refused.reason == "no machine type offers what task 'odd' needs: gpu, cpus=1"
    assert not bench.state.runs
    assert names(bench.submit(0, workflow(task("asks", needs=Requirement(amounts=amounts(gpus=1)))))) == ["Refused"]


def test_the_ideal_makespan_takes_the_fastest_type_that_can_run_each_task() -> None:
    types = [minutely("slow"), minutely("fast", speed=4.0), minutely("gpu", capabilities=frozenset({"gpu"}))]
    bench = Bench(types)
    gpu = Requirement(frozenset({"gpu"}))
    bench.submit(0, chain(task("a", 40), task("b", 10, on={"slow": 1}), task("c", 30, needs=gpu)))
    assert of(bench.records, Admitted)[0].ideal == (10 + 1 + 30) * SECOND


def test_deadlines_count_from_submission() -> None:
    bench = one_machine()
    bench.submit(7, workflow(task(), deadline=MINUTE))
    assert of(bench.records, Admitted)[0].deadline == 67 * SECOND


def test_a_failed_task_is_tried_again_after_growing_delays() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task(retry=Retry(3, delay=10 * SECOND))))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Timer, 0)
    bench.tell(Failed, 5, 0, 1, 0, "oops")
    assert len(bench.starts) == 1
    assert [w.due for w in of(bench.records, Wake)][-1] == 15 * SECOND
    bench.tell(Timer, 15)
    bench.tell(Failed, 16, 0, 2, 0, "oops")
    assert [w.due for w in of(bench.records, Wake)][-1] == 36 * SECOND
    bench.tell(Timer, 36)
    assert [(s.at // SECOND, s.attempt) for s in bench.starts] == [(0, 1), (15, 2), (36, 3)]
    assert names(bench.tell(Failed, 40, 0, 3, 0, "oops")) == ["Eligible", "Ended"]
    assert of(bench.records, Ended)[0].status == "failed"


def test_each_cause_of_failure_has_its_own_limit() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task(retry=Retry(2, by_cause={"timeout": 3}))))
    bench.tell(MachineReady, 0, 0)
    for attempt in (1, 2):
        bench.tell(Failed, attempt, 0, attempt, 0, "slow", "timeout")
        bench.tell(Timer, attempt)
    bench.tell(Failed, 3, 0, 3, 0, "broken", "error")
    bench.tell(Timer, 3)
    assert len(bench.starts) == 4
    bench.tell(Failed, 4, 0, 4, 0, "slow", "timeout")
    assert of(bench.records, Ended)[0].status == "failed"


def test_what_lacked_memory_asks_for_more_until_there_is_no_more() -> None:
    retry = Retry(9, memory_growth=2.0)
    needs = Requirement(amounts=amounts(memory=3))
    bench = Bench([minutely(amounts=amounts(memory=4)), minutely("big", amounts=amounts(memory=8))])
    bench.submit(0, workflow(task(needs=needs, retry=retry)))
    bench.tell(Timer, 0)
    bench.tell(MachineReady, 0, 0)
    bench.tell(Failed, 1, 0, 1, 0, "out of memory", "memory")
    bench.tell(Timer, 1)
    assert len(bench.starts) == 1, "it asks for 6 now, and the machine has 4"
    bench.tell(Timer, 60)
    assert bench.acquired[-1].kind == 1
    bench.tell(MachineReady, 61, 1)
    assert bench.starts[-1].machine == 1
    bench.tell(Failed, 62, 0, 2, 1, "out of memory", "memory")
    assert of(bench.records, Ended)[0].status == "failed", "nothing has 12"


def test_a_failed_task_ends_the_run_but_what_runs_may_end() -> None:
    bench = one_machine(slots=2)
    bench.submit(0, workflow(task("a"), task("b"), task("c"), task("d"), parents=[[], [], [], [0]]))
    bench.tell(MachineReady, 0, 0)
    assert [s.unit for s in bench.starts] == [0, 1]
    assert names(bench.tell(Failed, 5, 0, 1, 0, "oops")) == ["Eligible", "Eligible"]
    assert [e.change for e in of(bench.records, Eligible)] == [3, -1, -1]
    assert len(bench.starts) == 2, "c does not start any more"
    assert names(bench.tell(Finished, 9, 1, 1, 0)) == ["Ended"]
    assert of(bench.records, Ended)[0].status == "failed"


def test_a_run_that_keeps_going_loses_only_what_waits_for_the_failed_task() -> None:
    bench = one_machine()
    work = workflow(task("a"), task("b"), task("c"), task("d"), parents=[[], [0], [1], []])
    bench.tell(Submitted, 0, "default", work, False, True)
    bench.tell(MachineReady, 0, 0)
    bench.tell(Failed, 5, 0, 1, 0, "oops")
    assert bench.starts[-1].unit == 3
    assert names(bench.tell(Finished, 9, 3, 1, 0)) == ["Ended"]
    assert of(bench.records, Ended)[0].status == "failed"


def test_cancelling_kills_what_runs_and_drops_the_rest() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task("a"), task("b")))
    bench.submit(0, workflow(task("c")))
    bench.tell(MachineReady, 0, 0)
    commands = bench.tell(Cancelled, 5, 0)
    assert names(commands) == ["Eligible", "Kill", "Eligible", "Ended", "Start"]
    assert of(commands, Kill)[0][2:5] == (0, 1, 0)
    assert of(commands, Ended)[0].status == "cancelled"
    assert of(commands, Start)[0].unit == 2
    assert names(bench.tell(Cancelled, 6, 0)) == ["Dropped"]
    assert names(bench.tell(Finished, 7, 0, 1, 0)) == ["Dropped"]


def test_cancelling_a_unit_that_waits_to_be_tried_again() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task(retry=Retry(3, delay=10 * SECOND))))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Failed, 1, 0, 1, 0, "oops")
    assert of(bench.tell(Cancelled, 2, 0), Ended)[0].status == "cancelled"
    bench.tell(Timer, 11)
    assert len(bench.starts) == 1
    assert sum(e.change for e in of(bench.records, Eligible)) == 0


def test_an_open_run_ends_when_it_may_grow_no_more() -> None:
    bench = one_machine()
    bench.tell(Submitted, 0, "default", workflow(task("a")), True)
    bench.tell(MachineReady, 0, 0)
    assert names(bench.tell(Finished, 5, 0, 1, 0)) == []
    assert names(bench.tell(Extended, 6, 0, (task("b"), task("c")), False)) == ["Grown", "Eligible", "Start"]
    bench.tell(Finished, 7, 1, 1, 0)
    bench.tell(Finished, 8, 2, 1, 0)
    assert names(bench.tell(Extended, 9, 0, (), True)) == ["Ended"]
    assert names(bench.tell(Extended, 9, 0, (task("d"),), True)) == ["Dropped"]


def test_an_open_run_fails_if_it_grows_by_what_no_machine_can_run() -> None:
    bench = one_machine()
    bench.tell(Submitted, 0, "default", workflow(task("a")), True)
    gpu = Requirement(frozenset({"gpu"}))
    commands = bench.tell(Extended, 1, 0, (task("b", needs=gpu),), False)
    assert "no machine type offers what task 'b' needs: gpu" in of(commands, Refused)[0].reason
    assert of(commands, Ended)[0].status == "failed"


def test_a_run_that_cannot_go_on_fails_once_what_runs_has_ended() -> None:
    bench = one_machine()
    bench.tell(Submitted, 0, "default", workflow(task("a"), task("b")), True)
    bench.tell(MachineReady, 0, 0)
    assert names(bench.tell(Broken, 1, 0, "no list")) == ["Eligible"]
    assert names(bench.tell(Finished, 2, 0, 1, 0)) == ["Ended"]
    assert of(bench.records, Ended)[0].status == "failed"
    assert names(bench.tell(Broken, 3, 0, "again")) == ["Dropped"]


def test_a_closed_run_does_not_grow() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task("a")))
    assert names(bench.tell(Extended, 1, 0, (task("b"),), True)) == ["Dropped"]


# Machines


def test_a_lost_machine_costs_an_attempt_but_no_retry() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 2})
    bench.submit(0, workflow(task()))
    bench.tell(MachineReady, 0, 0)
    assert names(bench.tell(MachineLost, 5, 0, "gone")) == []
    bench.tell(MachineReady, 6, 1)
    assert [(s.attempt, s.machine) for s in bench.starts] == [(1, 0), (2, 1)]
    assert names(bench.tell(Finished, 7, 0, 1, 0)) == ["Dropped"]
    assert names(bench.tell(Finished, 8, 0, 2, 1)) == ["Ended"]


def test_a_task_under_which_too_many_machines_were_lost_has_failed() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 2})
    bench.submit(0, workflow(task(retry=Retry(lost=1))))
    for machine in (0, 1):
        bench.tell(MachineReady, 0, machine)
        bench.tell(MachineLost, 0, machine, "gone")
    assert of(bench.records, Ended)[0].status == "failed"


@pytest.mark.parametrize("is_closed", [False, True])
def test_the_loss_of_the_last_machine_may_end_the_last_run(is_closed: bool) -> None:
    bench = one_machine(slots=2)
    bench.submit(0, workflow(task("a"), task("b")))
    bench.tell(MachineReady, 0, 0)
    if is_closed:
        bench.tell(Closed, 1)
    bench.tell(Failed, 2, 0, 1, 0, "oops")
    bench.tell(MachineLost, 3, 0, "gone")
    assert of(bench.records, Ended)[0].status == "failed"
    assert not bench.state.machines
    assert not of(bench.records, Release)


def test_reports_about_machines_that_do_not_fit_are_dropped() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task()))
    bench.tell(MachineReady, 0, 0)
    late: list[tuple[type[Any], tuple[str, ...]]] = [(MachineReady, ()), (MachineFailed, ("late",))]
    for kind, details in late:
        assert names(bench.tell(kind, 1, 0, *details)) == ["Dropped"]
    bench.tell(MachineLost, 2, 0, "gone")
    late.append((MachineLost, ("again",)))
    for kind, details in late:
        assert names(bench.tell(kind, 3, 0, *details)) == ["Dropped"]
        assert names(bench.tell(kind, 3, 77, *details)) == ["Dropped"], "a machine nobody knows"
    assert names(bench.tell(Finished, 3, 99, 1, 0)) == ["Dropped"]
    assert names(bench.tell(Failed, 3, 99, 1, 0, "x")) == ["Dropped"]
    assert names(bench.tell(Cancelled, 3, 99)) == ["Dropped"]
    assert names(bench.tell(Redated, 3, 99, 1)) == ["Dropped"]
    assert names(bench.tell(Reprioritised, 3, 99, 1)) == ["Dropped"]
    dropped = of(bench.records, Dropped)[-1]
    assert dropped.what.startswith("Reprioritised(at=3000000")
    assert dropped.because == "it no longer fits the facts"


# Time


def test_the_clock_of_the_core_never_goes_back() -> None:
    bench = one_machine()
    bench.submit(100, workflow(task()))
    (start,) = bench.tell(MachineReady, 40, 0)
    assert start.at == 100 * SECOND
    assert all(r.at == 100 * SECOND for r in bench.records if not isinstance(r, MachineReady | Submitted))


def test_an_early_timer_is_asked_for_again() -> None:
    bench = Bench([minutely()])
    bench.submit(10, workflow(task()))
    assert [w.due for w in of(bench.records, Wake)] == [60 * SECOND]
    assert [w.due for w in of(bench.tell(Timer, 30), Wake)] == [60 * SECOND]
    assert names(bench.tell(Timer, 60))[:2] == ["Acquire", "Charged"]


def test_the_scaler_is_asked_at_whole_intervals_as_long_as_there_is_anything_to_decide() -> None:
    bench = Bench([minutely()], interval=45 * SECOND)
    bench.submit(50, workflow(task()))
    assert of(bench.records, Wake)[-1].due == 90 * SECOND
    bench.tell(Timer, 90)
    bench.tell(MachineReady, 91, 0)
    bench.tell(Finished, 95, 0, 1, 0)
    bench.tell(Timer, 135)
    assert [r.at // SECOND for r in of(bench.records, Release)] == [135]
    bench.tell(Timer, 150)
    bench.tell(Timer, 180)
    before = len(bench.records)
    bench.tell(Timer, 225)
    assert not of(bench.records[before:], Wake), "nothing is left to decide on"
    bench.submit(300, workflow(task()))
    assert of(bench.records, Wake)[-1].due == 315 * SECOND


def test_a_submission_on_a_whole_interval_is_decided_upon_in_the_same_instant() -> None:
    bench = Bench([minutely()])
    bench.submit(120, workflow(task()))
    assert of(bench.records, Wake)[-1].due == 120 * SECOND


def test_a_late_timer_makes_up_for_every_period_missed() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task(seconds=500)))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Timer, 200)
    while bench.core.alarms and bench.core.alarms[0][0] <= 200 * SECOND:
        bench.tell(Timer, 200)
    assert [c.until // SECOND for c in of(bench.records, Charged)] == [60, 120, 180, 240]


def test_a_machine_released_before_a_late_timer_is_paid_to_the_end() -> None:
    bench = one_machine()
    bench.submit(0, workflow(task(seconds=500)))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Closed, 1)
    bench.tell(Finished, 500, 0, 1, 0)
    assert of(bench.records, Charged)[-1].until >= 500 * SECOND


def test_work_submitted_after_closing_is_still_scaled_for() -> None:
    bench = Bench([minutely()])
    bench.submit(0, workflow(task()))
    bench.tell(Timer, 0)
    bench.tell(MachineReady, 0, 0)
    bench.tell(Closed, 1)
    bench.tell(Finished, 2, 0, 1, 0)
    bench.submit(70, workflow(task()))
    due = of(bench.records, Wake)[-1].due
    bench.tell(Timer, due / SECOND)
    bench.tell(Timer, 120)
    assert len(bench.acquired) == 2


# Decisions


class Odd:
    """A policy that asks for what cannot be."""

    on_arrival = True

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def scale(self, view: View) -> Iterator[Scaling]:
        pool = view.pools()[0]
        if self.number:
            yield Rent(pool, view.kinds[0], self.number, "why not")
            self.number = 0
        for machine in list(pool.fleets[0].machines.values()):
            yield Return(machine, "not idle")

    def rank(self, unit: Unit) -> int:
        return 0

    def place(self, view: View) -> Iterator[Place]:
        pools = view.pools()
        machines = [machine for pool in pools for fleet in pool.fleets for machine in fleet.machines.values()]
        for pool in pools:
            for unit in [unit for run in pool.runs.values() for unit in run.units]:
                for machine in machines:
                    yield Place(unit, machine, "why not")


def odd(number: int, *types: object, tenants: tuple[Tenant, ...] = (Tenant("default"),)) -> Bench:
    policy = Odd(number)
    return Bench(types or [minutely()], Policy("odd", policy, policy), tenants=tenants)  # type: ignore[arg-type]


def test_decisions_that_do_not_fit_the_facts_are_dropped() -> None:
    bench = odd(2)
    commands = bench.submit(0, chain(task(), task()))
    assert len(of(commands, Dropped)) == 2 + 4, "neither machine is idle, and neither unit has a machine that is up"
    assert {d.because for d in of(commands, Dropped)} == {"stale decision: why not", "stale decision: not idle"}
    commands = bench.tell(MachineReady, 1, 0)
    assert [(s.unit, s.machine) for s in of(commands, Start)] == [(0, 0)]
    assert len(of(commands, Dropped)) == 3


def test_a_machine_of_somebody_else_or_of_the_wrong_kind_is_not_placed_on() -> None:
    gpu = Requirement(frozenset({"gpu"}))
    tenants = (Tenant("default"), Tenant("other"))
    bench = odd(1, minutely(), minutely("g", capabilities=frozenset({"gpu"})), tenants=tenants)
    bench.submit(0, workflow(task(needs=gpu)))
    bench.submit(0, workflow(task()), "other")
    owner = bench.acquired[0].tenant
    bench.tell(MachineReady, 0, 0)
    assert [s.unit for s in bench.starts] == ([] if owner == 0 else [1])


def test_rents_are_cut_by_limits() -> None:
    bench = odd(5, minutely(limit=3))
    bench.submit(0, workflow(task()))
    (cut,) = of(bench.records, Cut)
    assert (cut.asked, cut.granted, cut.because) == (5, 3, "only 3 of 3 machines are left")
    assert len(bench.acquired) == 3


def test_rents_are_cut_by_the_budget() -> None:
    bench = odd(5, minutely(price=2), tenants=(Tenant("default", 7 * UNIT),))
    bench.submit(0, workflow(task()))
    (cut,) = of(bench.records, Cut)
    assert (cut.asked, cut.granted, cut.because) == (5, 3, "7 of the budget is left, and each takes 2")


def test_what_costs_nothing_is_not_cut_by_a_budget_of_nothing() -> None:
    bench = odd(5, minutely(price=0), tenants=(Tenant("default", 0),))
    bench.submit(0, workflow(task()))
    assert len(bench.acquired) == 5


def test_tenants_are_served_in_an_order_drawn_from_the_seed() -> None:
    def winners(seed: int) -> list[int]:
        tenants = [Tenant("a"), Tenant("b")]
        bench = Bench([minutely(limit=1)], tenants=tenants, seed=seed)
        found = []
        for minute in range(0, 60, 2):
            for tenant in tenants:
                bench.submit(minute * 60, workflow(task()), tenant.name)
            (acquire,) = of(bench.tell(Timer, minute * 60), Acquire)
            found.append(acquire.tenant)
            for run in list(bench.state.runs):
                bench.tell(Cancelled, minute * 60, run)
            bench.tell(MachineLost, minute * 60, acquire.machine, "next")
        return found

    assert winners(1) == winners(1)
    assert winners(1) != winners(2)
    assert 5 < sum(winners(1)) < 25


def test_the_policy_that_runs_is_the_one_that_was_built() -> None:
    assert Bench([minutely()], build("pfa")).core.policy.name == "pfa"
