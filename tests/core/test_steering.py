"""What people want of runs and machines while they run: suspend, resume, drain, remove; and what setups ask for."""

from dataclasses import replace

from audit import Audit
from worlds import Bench, chain, minutely, of, task, workflow

from tradewind.core.why import Cause, why
from tradewind.model.command import Ended, Expired, Kill, Release, Start
from tradewind.model.event import (
    Closed,
    Failed,
    Finished,
    MachineReady,
    MachineUnwanted,
    Resumed,
    Suspended,
    TenantChanged,
    Timer,
)
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import Retry


def bench_with(machines: int = 1, kind: MachineType | None = None, policy: str = "fixed") -> Bench:
    bench = Bench([kind or minutely()], policy, {"machines": machines} if policy == "fixed" else {})
    bench.submit(0, chain(task("a"), task("b"), task("c")))
    bench.tell(Timer, 0)
    for acquire in list(bench.acquired):
        bench.tell(MachineReady, 0, acquire.machine)
    return bench


def audit(bench: Bench) -> None:
    Audit([kind.type for kind in bench.state.kinds], [pool.tenant for pool in bench.state.all_pools]).check(
        bench.records, is_complete=False
    )


def test_a_suspended_run_ends_what_runs_and_starts_nothing() -> None:
    bench = bench_with()
    bench.tell(Suspended, 1, 0)
    bench.tell(Finished, 10, 0, 1, 0)
    assert len(bench.starts) == 1
    assert why(bench.state, bench.state.units[1]).cause is Cause.SUSPENDED
    bench.tell(Resumed, 20, 0)
    assert [start.unit for start in bench.starts] == [0, 1]
    audit(bench)


def test_what_fails_while_suspended_waits_too() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 1})
    bench.submit(0, workflow(task("a", retry=Retry(3, delay=5 * SECOND))))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Suspended, 1, 0)
    bench.tell(Failed, 2, 0, 1, 0, "oops")
    bench.tell(Timer, 7)
    assert len(bench.starts) == 1
    bench.tell(Resumed, 8, 0)
    assert len(bench.starts) == 2
    audit(bench)


def test_a_drained_machine_ends_its_work_and_goes() -> None:
    bench = bench_with()
    assert not of(bench.tell(MachineUnwanted, 1, 0, "maintenance"), Release)
    released = of(bench.tell(Finished, 10, 0, 1, 0), Release)
    assert [release.machine for release in released] == [0]
    assert len(bench.starts) == 1
    audit(bench)


def test_an_idle_machine_that_is_drained_goes_at_once() -> None:
    bench = bench_with(machines=2)
    assert [release.machine for release in of(bench.tell(MachineUnwanted, 1, 1, "maintenance"), Release)] == [1]


def test_what_runs_on_a_removed_machine_runs_elsewhere() -> None:
    bench = bench_with(machines=2)
    commands = bench.tell(MachineUnwanted, 1, 0, "it smokes", True)
    assert [kill.because for kill in of(commands, Kill)] == ["it smokes"]
    assert [(start.unit, start.attempt, start.machine) for start in of(commands, Start)] == [(0, 2, 1)]


def test_a_new_tenant_may_submit_at_once() -> None:
    bench = bench_with()
    bench.tell(TenantChanged, 1, Tenant("bob", 5 * UNIT))
    bench.submit(2, workflow(task()), "bob")
    assert [run.pool.tenant.name for run in bench.state.runs.values()] == ["default", "bob"]


def test_another_budget_counts_from_now_on() -> None:
    bench = bench_with()
    bench.tell(TenantChanged, 1, Tenant("default", 3 * UNIT, 2 * MINUTE))
    pool = bench.state.by_name["default"]
    assert bench.state.affordable(pool) == UNIT  # one machine takes two for two minutes


def test_so_many_machines_are_held_in_any_case() -> None:
    bench = bench_with(kind=replace(minutely(), keep=3), policy="demand")
    assert len(bench.state.machines) == 3
    bench.tell(Timer, 60)
    bench.tell(Timer, 120)
    assert len(bench.state.machines) == 3
    for unit in range(3):
        bench.tell(Finished, 121 + unit, unit, 1, 0)
    bench.tell(Closed, 130)
    assert not bench.state.machines


def test_an_idle_machine_is_kept_for_a_while() -> None:
    bench = Bench([replace(minutely(), idle=5 * MINUTE)], "demand")
    bench.submit(0, workflow(task("a"), task("b", 3_000)))
    bench.tell(Timer, 0)
    for machine in (0, 1):
        bench.tell(MachineReady, 0, machine)
    bench.tell(Finished, 10, 0, 1, 0)
    for minute in range(1, 10):
        bench.tell(Timer, minute * 60)
        assert len(bench.state.machines) == (2 if minute < 6 else 1)


def test_all_attempts_together_may_take_only_so_long() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 1})
    retry = Retry(9, within=30 * SECOND)
    bench.submit(0, chain(task("a", 100, retry=retry), task("b")))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Failed, 20, 0, 1, 0, "oops")
    bench.tell(Timer, 20)
    commands = bench.tell(Timer, 30)
    assert of(commands, Kill)
    assert [(notice.run, notice.unit, notice.attempt) for notice in of(commands, Expired)] == [(0, 0, 2)]
    assert [ended.status for ended in of(commands, Ended)] == ["failed"]
    audit(bench)


def test_time_runs_out_between_two_attempts_as_well() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 1})
    bench.submit(0, workflow(task("a", 100, retry=Retry(9, delay=60 * SECOND, within=30 * SECOND))))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Failed, 20, 0, 1, 0, "oops")
    commands = bench.tell(Timer, 30)
    assert [ended.status for ended in of(commands, Ended)] == ["failed"]
    audit(bench)
