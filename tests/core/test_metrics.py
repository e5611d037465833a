"""The meter and its figures on a tiny log, worked out by hand.

Two tasks of 60 s and 30 s are submitted at 0 with a budget of 2. Two machines, taken at 0 and 30, are ready at once;
the first task runs from 0 to 60, the second from 30 to 60. All limits together allow 4 machines.
"""

import pytest
from worlds import Bench, minutely, of, simulated, task, workflow

from tradewind.core.log import Record
from tradewind.core.metrics import Meter, RunMeter
from tradewind.core.state import State
from tradewind.core.summary import summarise
from tradewind.core.work import declared_time
from tradewind.model.command import (
    Acquire,
    Admitted,
    Charged,
    Cut,
    Eligible,
    Ended,
    Kill,
    Refunded,
    Refused,
    Release,
    Start,
)
from tradewind.model.event import (
    Extended,
    Failed,
    Finished,
    MachineFailed,
    MachineLost,
    MachineReady,
    Submitted,
    TenantChanged,
)
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Faults, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT

S = SECOND
TINY: list[Record] = [
    Admitted(0, 1, 0, 0, "w", 0, 2, 0, 40 * S, 50 * S),
    Eligible(0, 1, 0, 0, 2),
    Acquire(0, 2, 0, 0, 0, ""),
    Charged(0, 2, 0, 0, UNIT, 60 * S),
    MachineReady(0, 3, 0),
    Start(0, 3, 0, 1, 0),
    Acquire(30 * S, 4, 1, 1, 0, ""),
    Charged(30 * S, 4, 1, 0, UNIT, 90 * S),
    MachineReady(30 * S, 5, 1),
    Start(30 * S, 5, 1, 1, 1),
    Finished(60 * S, 6, 0, 1, 0),
    Finished(60 * S, 7, 1, 1, 1),
    Ended(60 * S, 7, 0, 0, "done"),
    Release(60 * S, 7, 0, ""),
    Refunded(60 * S, 7, 1, 0, UNIT // 2),
    Release(60 * S, 7, 1, ""),
]


def fresh() -> Meter:
    types = [minutely("a", limit=1), minutely("b", limit=3)]
    state = State(types, [Tenant("ann", 2 * UNIT), Tenant("bob")], MINUTE, 0, declared_time)
    return Meter(state.all_pools, state.kinds)


def measured(*records: Record) -> Meter:
    meter = fresh()
    for record in records:
        meter.observe(record)
    return meter


def test_figures_of_the_tiny_log() -> None:
    figures = summarise(measured(*TINY))
    assert figures["workflows"] == 1
    assert figures["tasks"] == 2
    assert figures["failed_workflows"] == figures["refused_workflows"] == figures["failures"] == figures["cuts"] == 0
    assert figures["makespan_s"] == 60
    assert figures["cost_total"] == 1.5
    assert figures["cost_per_interval"] == {"mean": 2.0, "max": 2.0}
    assert figures["intervals_over_budget"] == 0
    assert figures["slowdown"] == {"mean": 1.5, "median": 1.5, "p95": 1.5}  # 60 s instead of 40 s
    assert figures["waiting_s"] == {"mean": 0.0}
    assert figures["busy_share"] == 90 / 240
    assert figures["allocated_share"] == 90 / 240
    assert figures["attempts"] == 2
    assert figures["lost_attempts"] == 0
    assert figures["deadline_misses"] == 1
    assert figures["events"] == len(TINY)
    ann = figures["tenants"]["ann"]
    # One of two wanted machines lacks for half of the time; four could be had.
    assert ann["elasticity"] == {"a_u": 30 / 240, "a_o": 0.0, "t_u": 0.5, "t_o": 0.0}
    assert figures["elasticity"] == {"a_u": 15 / 240, "a_o": 0.0, "t_u": 0.25, "t_o": 0.0}  # bob wanted nothing
    assert ann["budget"] == 2
    assert ann["cost_total"] == 1.5
    assert figures["tenants"]["bob"]["budget"] is None
    assert figures["tenants"]["bob"]["slowdown"] == {"mean": None, "median": None, "p95": None}


def test_figures_may_be_asked_for_at_any_time() -> None:
    asked, unasked = fresh(), fresh()
    for record in TINY:
        asked.observe(record)
        summarise(asked)
        unasked.observe(record)
    assert summarise(asked) == summarise(unasked)


def test_idle_machines_are_spare() -> None:
    records: list[Record] = [
        Acquire(0, 1, 0, 0, 0, ""),
        Charged(0, 1, 0, 0, UNIT, 60 * S),
        Admitted(10 * S, 2, 0, 0, "w", 0, 1, 0, 10 * S, None),
        Eligible(10 * S, 2, 0, 0, 1),
        Start(15 * S, 3, 0, 1, 0),
        Finished(40 * S, 4, 0, 1, 0),
        Ended(40 * S, 4, 0, 0, "done"),
    ]
    figures = summarise(measured(*records))
    assert figures["slowdown"]["mean"] == 3.0
    assert figures["waiting_s"]["mean"] == 5.0
    # Ten of 40 seconds in which one machine of four stands idle, unwanted.
    assert figures["tenants"]["ann"]["elasticity"] == {"a_u": 0.0, "a_o": 10 / 160, "t_u": 0.0, "t_o": 0.25}
    assert figures["busy_share"] == 25 / 160
    assert figures["allocated_share"] == 40 / 160


def test_machines_that_outlive_the_work_do_not_make_for_more_than_there_are() -> None:
    records: list[Record] = [
        Admitted(0, 1, 0, 0, "w", 0, 1, 0, 10 * S, None),
        Eligible(0, 1, 0, 0, 1),
        Acquire(0, 1, 0, 0, 0, ""),
        Start(0, 1, 0, 1, 0),
        Finished(10 * S, 2, 0, 1, 0),
        Ended(10 * S, 2, 0, 0, "done"),
        Release(100 * S, 3, 0, ""),
    ]
    figures = summarise(measured(*records))
    assert figures["makespan_s"] == 10
    assert figures["allocated_share"] == 100 / 400
    assert figures["busy_share"] == 10 / 400


def test_spending_is_told_by_interval_and_type() -> None:
    meter = measured(
        Acquire(0, 1, 0, 0, 0, ""),
        Acquire(0, 1, 1, 1, 0, ""),
        Charged(0, 1, 0, 0, UNIT, 60 * S),
        Charged(59 * S, 1, 1, 0, 3 * UNIT, 119 * S),
        Charged(60 * S, 2, 0, 0, UNIT, 120 * S),
        Admitted(0, 3, 0, 0, "w", 0, 0, 0, 0, None),
        Ended(150 * S, 3, 0, 0, "done"),
    )
    ann = meter.tenants[0]
    assert ann.spending == {0: [UNIT, 3 * UNIT], 1: [UNIT, 0]}
    assert ann.per_interval(150 * S) == [4 * UNIT, UNIT, 0]
    assert summarise(meter)["intervals_over_budget"] == 1


def test_spending_is_judged_by_the_budget_in_force() -> None:
    meter = measured(
        TenantChanged(0, 1, Tenant("ann", 5 * UNIT)),
        Acquire(0, 2, 1, 1, 0, ""),
        Charged(1, 2, 1, 0, 4 * UNIT, 60 * S),
        Admitted(1, 3, 0, 0, "w", 0, 0, 0, 0, None),
        Ended(2, 3, 0, 0, "done"),
    )
    assert summarise(meter)["intervals_over_budget"] == 0


def test_late_reports_of_old_attempts_count_for_nothing() -> None:
    meter = measured(
        *TINY[:6],
        Finished(1 * S, 9, 0, 7, 0),
        Failed(1 * S, 9, 1, 1, 0, "never ran"),
        Kill(2 * S, 10, 0, 1, 0, "budget"),
        Finished(3 * S, 11, 0, 1, 0),
    )
    assert (meter.finished, meter.failures) == (0, 0)
    assert [level.now for level in meter.tenants[0].busy] == [0, 0]
    assert meter.tenants[0].gap.demand == 2


def test_a_lost_machine_takes_its_attempts_with_it() -> None:
    meter = measured(*TINY[:6], MachineLost(10 * S, 9, 0, "gone"), MachineLost(20 * S, 10, 0, "gone"))
    assert meter.lost == 1
    assert [level.now for level in meter.tenants[0].busy] == [0, 0]
    assert [level.now for level in meter.tenants[0].allocated] == [0, 0]
    assert meter.tenants[0].gap.supply == 0


def test_a_late_report_that_a_machine_failed_to_boot_counts_for_nothing() -> None:
    meter = measured(*TINY[:6], MachineFailed(10 * S, 9, 0, "late"))
    assert meter.tenants[0].gap.supply == 1
    meter.observe(Start(11 * S, 10, 1, 1, 0))
    assert measured(*TINY[:4], MachineFailed(10 * S, 9, 0, "true")).tenants[0].gap.supply == 0


def test_failures_cuts_and_refusals_are_counted() -> None:
    meter = measured(
        *TINY[:6],
        Failed(5 * S, 8, 0, 1, 0, "broke"),
        Cut(6 * S, 9, 0, 0, 5, 1, "budget"),
        Refused(7 * S, 10, "ann", "gpu job", "no gpu"),
    )
    figures = summarise(meter)
    assert (figures["failures"], figures["cuts"], figures["refused_workflows"]) == (1, 1, 1)
    assert meter.refused == ["gpu job: no gpu"]


def test_a_run_that_takes_no_time_has_slowdown_one() -> None:
    run = RunMeter(0, "w", 0, 5 * S, 0, None)
    with pytest.raises(ValueError, match="w has not ended"):
        _ = run.slowdown
    run.ended = 5 * S
    assert run.slowdown == 1
    assert run.waiting == 0


def test_size_without_limits_is_what_was_wanted_or_held_at_most() -> None:
    state = State([minutely()], [Tenant("t")], MINUTE, 0, declared_time)
    meter = Meter(state.all_pools, state.kinds)
    meter.observe(Admitted(0, 1, 0, 0, "w", 0, 7, 0, S, None))
    meter.observe(Eligible(0, 1, 0, 0, 7))
    assert meter.size == 7


def test_the_first_start_of_each_run_ends_its_waiting() -> None:
    records = simulated(
        [Submission(0, workflow(task(), task())), Submission(5 * S, workflow(task()))], [minutely(limit=1)]
    )
    meter = meter_of(minutely(limit=1))
    for record in records:
        meter.observe(record)
    assert [run.waiting / S for run in meter.runs] == [0, 15]


def test_units_that_join_a_run_later_count_for_that_run() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 1})
    bench.submit(0, workflow(task()))
    bench.tell(Submitted, 0, "default", workflow(task()), True)
    bench.submit(1, workflow(task(), priority=-5))
    bench.tell(Extended, 2, 1, (task("late"),), True)
    bench.tell(MachineReady, 3, 0)
    bench.tell(Finished, 4, 0, 1, 0)
    bench.tell(Finished, 5, 1, 1, 0)
    assert bench.starts[-1].unit == 3, "the late task of run 1, not that of run 2"
    meter = Meter(bench.state.all_pools, bench.state.kinds)
    for record in bench.records:
        meter.observe(record)
    assert [run.started for run in meter.runs] == [3 * S, 4 * S, None]


def test_measuring_as_it_goes_is_measuring_afterwards() -> None:
    machines = [minutely("a", limit=2), minutely("b", price=3, limit=2)]
    work = [workflow(*[task(f"t{i}", 7 * i) for i in range(9)])]
    records = simulated(work, machines, "pfa", faults=Faults(0.2, 5.0, 0.1), seed=3)
    meter = meter_of(*machines)
    for record in records:
        meter.observe(record)
    figures = summarise(meter)
    charged = sum(record.amount for record in of(records, Charged))
    refunded = sum(record.amount for record in of(records, Refunded))
    assert figures["cost_total"] * UNIT == charged - refunded
    assert figures["events"] == len(records)
    assert figures["attempts"] == len(of(records, Start))


def meter_of(*types: MachineType) -> Meter:
    state = State(types, [Tenant("default")], MINUTE, 0, declared_time)
    return Meter(state.all_pools, state.kinds)
