"""The simulation driver: virtual time, the simulated cloud, and the order of what happens in one instant."""

import gc
from dataclasses import replace
from typing import Any

import pytest
from audit import Audit
from worlds import EnoughError, chain, minutely, of, run, simulated, task, workflow

from tradewind.core.handle import Core
from tradewind.core.log import Record
from tradewind.model.command import Acquire, Charged, Command, Dropped, Ended, Kill, Refused, Release, Start
from tradewind.model.event import Closed, Event, Failed, Finished, MachineFailed, MachineLost, MachineReady, Timer
from tradewind.model.machine import BootLag, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Faults, Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import DAY, MINUTE, SECOND, UNIT
from tradewind.model.workflow import Checkpoint, Retry, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.steps import Steps

S = SECOND
ANN = Tenant("ann")


def test_a_task_that_ends_with_the_paid_period_costs_no_other() -> None:
    records = simulated([workflow(task(seconds=60))], [minutely()])
    assert [(c.at, c.until) for c in of(records, Charged)] == [(0, MINUTE)]
    assert of(records, Ended)[0].at == MINUTE
    records = simulated([workflow(task(seconds=60)), Submission(90 * S, workflow(task()))], [minutely()])
    assert [c.at // S for c in of(records, Charged)] == [0, 120], "the machine goes at 60, before it is paid for again"


def test_a_task_a_microsecond_longer_costs_another_period() -> None:
    records = simulated([workflow(task(seconds=60.000001))], [minutely()])
    assert len(of(records, Charged)) == 2


def test_work_starts_in_the_instant_of_its_submission_where_nothing_has_to_boot() -> None:
    records = simulated([Submission(MINUTE, workflow(task()))], [minutely()])
    assert [record.at for record in of(records, Acquire, MachineReady, Start)] == [MINUTE] * 3


def test_a_chain_takes_its_boot_lag_and_its_run_times() -> None:
    kind = minutely(boot=BootLag(7 * S), speed=2.0)
    records = simulated([chain(task("a", 10), task("b", 20))], [kind])
    assert of(records, Ended)[0].at == 22 * S


def test_boot_lags_are_drawn_and_never_negative() -> None:
    kind = minutely(boot=BootLag(5 * S, 20 * S))
    records = simulated([workflow(*[task(f"t{i}") for i in range(200)])], [kind], "fixed", {"machines": 200})
    lags = [record.at for record in of(records, MachineReady)]
    assert min(lags) == 0
    assert len(set(lags)) > 50


def test_an_empty_workflow_and_no_workflow_at_all() -> None:
    records = simulated([workflow()], [minutely()])
    assert [type(record).__name__ for record in records] == ["Submitted", "Admitted", "Ended", "Closed"]
    assert [type(record).__name__ for record in simulated([], [minutely()])] == ["Closed"]


def test_what_no_machine_can_run_is_refused_and_the_rest_goes_on() -> None:
    gpu = Requirement(frozenset({"gpu"}))
    records = simulated([workflow(task(needs=gpu)), workflow(task())], [minutely()])
    assert len(of(records, Refused)) == 1
    assert [ended.status for ended in of(records, Ended)] == ["done"]


def test_failed_tasks_are_tried_again_after_a_pause() -> None:
    work = workflow(task(retry=Retry(50, delay=7 * S, factor=1.0)))
    records = simulated([work], [minutely()], faults=Faults(task_failure=0.7), seed=5)
    failures, starts = of(records, Failed), of(records, Start)
    assert len(failures) >= 1
    assert [start.at - failed.at for failed, start in zip(failures, starts[1:], strict=True)] == [7 * S] * len(failures)
    assert [start.attempt for start in starts] == list(range(1, len(starts) + 1))
    assert of(records, Ended)[0].status == "done"


def test_a_task_that_fails_too_often_fails_its_run() -> None:
    work = chain(task("a", retry=Retry(3)), task("b"))
    records = simulated([work], [minutely()], faults=Faults(task_failure=1.0))
    assert len(of(records, Start)) == len(of(records, Failed)) == 3
    assert of(records, Ended)[0].status == "failed"
    Audit([minutely()], [Tenant("default")], is_dynamic=True).check(records)


def test_machines_fail_to_boot_and_vanish_as_often_as_asked() -> None:
    faults = Faults(boot_failure=0.5, machine_loss=2.0)
    work = workflow(*[task(f"t{i}", 600, retry=Retry(lost=10**6)) for i in range(100)])
    records = simulated([work], [minutely()], faults=faults, seed=1)
    machines, failed = len(of(records, Acquire)), len(of(records, MachineFailed))
    assert 0.4 < failed / machines < 0.6
    dropped = {record.cause for record in of(records, Dropped)}
    lost = [record for record in of(records, MachineLost) if record.seq not in dropped]
    # A machine is lost within the ten minutes of a task with a probability of 1 - exp(-1/3) = 0.28.
    assert 0.15 < len(lost) / (machines - failed) < 0.45
    Audit([minutely()], [Tenant("default")], is_dynamic=True).check(records)


def test_what_still_runs_after_a_kill_reports_in_vain() -> None:
    scenario = Scenario((), (minutely(),), (Tenant("default", UNIT),), "demand")
    simulation = Simulation(scenario, [Submission(0, workflow(task(seconds=90)))], build("demand"))
    records: list[Record] = []

    def sink(record: Record) -> None:
        records.append(record)
        if isinstance(record, Start) and record.attempt == 1:
            simulation.state.all_pools[0].account.budget = 0
        if isinstance(record, Kill):
            simulation.state.all_pools[0].account.budget = UNIT

    simulation.run(sink)
    assert len(of(records, Kill)) == 1
    assert [(f.at // S, f.attempt) for f in of(records, Finished)] == [(90, 1), (210, 2)]
    assert [d.cause for d in of(records, Dropped)] == [of(records, Finished)[0].seq]


def test_all_facts_of_an_instant_come_before_its_timers() -> None:
    class Watch(Core):
        order: list[tuple[int, bool]]

        def handle(self, event: Event) -> list[Command]:
            self.order.append((event.at, isinstance(event, Timer)))
            return list(super().handle(event))

    scenario = Scenario((), (minutely(),), policy="demand")
    simulation = Simulation(
        scenario, [Submission(60 * S * i, workflow(task(seconds=60))) for i in range(4)], build("demand")
    )
    watch = Watch(simulation.state, build("demand"))
    watch.order = []
    simulation.core = watch
    simulation.run(lambda _: None)
    arriving = [at for at, is_timer in watch.order if not is_timer and at == MINUTE]
    assert arriving
    assert watch.order == sorted(watch.order, key=lambda each: each[0])
    first_timer = watch.order.index((MINUTE, True))
    assert (MINUTE, False) in watch.order[:first_timer]


@pytest.mark.parametrize("workflows", [10, 60])
def test_the_core_is_woken_once_an_instant(workflows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[int] = []
    handle = Core._timer

    def counting(self: Core, event: Timer) -> None:
        woken.append(event.at)
        handle(self, event)

    monkeypatch.setattr(Core, "_timer", counting)
    tasks = [task(f"t{i}", 13 + i, retry=Retry(50, delay=3 * S)) for i in range(10)]
    work = [Submission(7 * S * i, workflow(*tasks)) for i in range(workflows)]
    simulated(work, [minutely(limit=20)], faults=Faults(task_failure=0.3), seed=1)
    assert len(woken) <= 1.1 * len(set(woken)), "timers multiply"


def test_everything_is_released_at_the_end_and_time_stands_still() -> None:
    records = simulated([workflow(task(seconds=600))], [minutely()], "fixed", {"machines": 4})
    ended = of(records, Ended)[0]
    assert {release.at for release in of(records, Release)} == {ended.at}
    assert len(of(records, Release)) == 4
    assert records[-1].at == ended.at
    assert of(records, Closed)[0].at == 0


def test_the_garbage_collector_is_left_as_it_was() -> None:
    before = gc.get_threshold()
    scenario = Scenario((), (minutely(),))
    simulation = Simulation(scenario, [Submission(0, workflow(task()))], build("demand"))

    def sink(record: Record) -> None:
        assert gc.get_threshold() != before
        if isinstance(record, Ended):
            raise EnoughError

    with pytest.raises(EnoughError):
        simulation.run(sink)
    assert gc.get_threshold() == before


def ended(
    work: Workflow, machines: list[MachineType], tenant: Tenant = ANN, provider: Provider | None = None, **options: Any
) -> list[str]:
    """How the runs of a simulation end; it must not go on for ever."""
    handled = 0

    class Watch(Core):
        def handle(self, event: Event) -> list[Command]:
            nonlocal handled
            handled += 1
            if handled > 50_000:
                raise EnoughError
            return list(super().handle(event))

    scenario = Scenario((), tuple(machines), (tenant,), **options)
    policy = build(scenario.policy, scenario.parameters)
    simulation = Simulation(scenario, [Submission(0, work, "ann")], policy, provider=provider)
    simulation.core = Watch(simulation.state, simulation.core.policy)
    records: list[Record] = []
    simulation.run(records.append)
    return [record.status for record in of(records, Ended)]


@pytest.mark.parametrize("policy", ["demand", "pfa", "plf", "scf", "fixed", "capability"])
def test_work_that_can_never_be_paid_for_is_not_waited_for_without_end(policy: str) -> None:
    assert ended(workflow(task()), [minutely(price=3)], Tenant("ann", UNIT), policy=policy) == []


def test_work_that_no_machine_held_can_run_is_not_waited_for_without_end() -> None:
    gpu = Requirement(frozenset({"gpu"}))
    types = [minutely(), minutely("gpu", capabilities=frozenset({"gpu"}))]
    assert ended(workflow(task(needs=gpu)), types, policy="fixed", parameters={"machines": 1}) == []


def test_a_long_pause_between_attempts_is_waited_for() -> None:
    work = workflow(task(retry=Retry(99, delay=2 * DAY, max_delay=2 * DAY)))
    assert ended(work, [minutely()], faults=Faults(task_failure=0.7), seed=5) == ["done"]


def test_a_budget_that_renews_once_a_day_is_waited_for() -> None:
    tenant = Tenant("ann", 1440 * UNIT, DAY)  # a failed boot uses up a little, so no other machine can be held that day
    assert ended(workflow(task()), [minutely()], tenant, faults=Faults(boot_failure=0.8), seed=1) == ["done"]


def test_a_task_that_runs_for_days_is_waited_for() -> None:
    assert ended(workflow(task(seconds=5 * 86_400)), [minutely()]) == ["done"]


@pytest.mark.parametrize("work", [1, 30])
def test_the_core_is_woken_once_an_instant_where_no_machine_is_held(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[int] = []
    handle = Core._timer

    def counting(self: Core, event: Timer) -> None:
        woken.append(event.at)
        handle(self, event)

    monkeypatch.setattr(Core, "_timer", counting)
    failing = workflow(*[task(f"t{i}", 10, retry=Retry(99, delay=(100 + 7 * i) * S)) for i in range(work)])
    simulated([failing], [minutely()], faults=Faults(task_failure=0.8), seed=1)
    assert len(woken) <= 1.1 * len(set(woken)), "timers multiply"


def test_priorities_are_those_of_the_workflow() -> None:
    work = [workflow(task("a")), workflow(task("b"), priority=1)]
    records = simulated(work, [minutely(limit=1)])
    assert [start.unit for start in of(records, Start)] == [1, 0]


def test_a_run_can_be_broken_off_by_its_sink() -> None:
    scenario = Scenario((), (minutely(),), policy="demand")
    assert len(run(scenario, [Submission(0, workflow(task()))], most=3)) == 3


def test_machines_on_servers_vanish_too() -> None:
    spot = minutely(market=Market.SPOT, amounts=amounts(cpus=1))
    scenario = Scenario((), (spot,), policy="demand", faults=Faults(machine_loss=12.0))
    work = [Submission(0, workflow(task(seconds=600)))]
    records: list[Record] = []
    Simulation(scenario, work, build("demand"), provider=Provider([Steps([0], [4])])).run(records.append)
    lost = of(records, MachineLost)
    assert lost
    assert {record.reason for record in lost} == {"it vanished"}
    assert of(records, Ended)[0].status == "done"


def test_no_attempt_fails_after_its_time_is_up() -> None:
    brief = replace(task(seconds=60, retry=Retry(200)), timeout=5 * S)
    records = simulated([workflow(brief)], [minutely()], faults=Faults(task_failure=0.9))
    times = [ended.at - start.at for ended, start in zip(of(records, Failed), of(records, Start), strict=True)]
    assert len(times) == 200
    assert max(times) == 5 * S
    assert min(times) < 5 * S


def test_what_fails_has_begun_where_its_checkpoints_left_it() -> None:
    saving = replace(task(seconds=1000, retry=Retry(10**6)), checkpoint=Checkpoint(S))
    records = simulated([workflow(saving)], [minutely()], faults=Faults(task_failure=0.9))
    assert of(records, Ended)[0].status == "done"
    ends = of(records, Failed, Finished)
    spans = [end.at - start.at for end, start in zip(ends, of(records, Start), strict=True)]
    assert sum(spans) < 1000 * S + len(spans) * S, "each attempt loses less than a second"


@pytest.mark.parametrize("boot", [BootLag(), BootLag(10 * MINUTE)])
def test_work_that_never_gets_on_is_not_waited_for_although_machines_are_lost_and_replaced(boot: BootLag) -> None:
    gpu = Requirement(frozenset({"gpu"}))
    types = [minutely(boot=boot), minutely("gpu", capabilities=frozenset({"gpu"}))]
    faults = Faults(machine_loss=2.0)
    assert ended(workflow(task(needs=gpu)), types, policy="fixed", parameters={"machines": 1}, faults=faults) == []


EVERY_POLICY = ["demand", "pfa", "plf", "scf", "scs", "scs+", "greedy", "gain", "capability"]


@pytest.mark.parametrize("policy", EVERY_POLICY)
@pytest.mark.parametrize("boot", [BootLag(), BootLag(MINUTE)])
def test_machines_that_never_come_up_are_not_waited_for(policy: str, boot: BootLag) -> None:
    faults = Faults(boot_failure=1.0)
    assert ended(workflow(task()), [minutely(boot=boot)], policy=policy, faults=faults) == []


SPOT = MachineType("spot", UNIT, amounts=amounts(cpus=4), slots=4, market=Market.SPOT)


@pytest.mark.parametrize("policy", ["demand", "scs+"])
def test_servers_that_have_no_room_any_more_are_not_waited_for(policy: str) -> None:
    full = Provider([Steps([0, MINUTE], [4, 0])])
    assert ended(workflow(task(seconds=600)), [SPOT], policy=policy, provider=full) == []


@pytest.mark.parametrize("policy", ["demand", "scs+"])
def test_servers_that_will_have_room_are_waited_for(policy: str) -> None:
    later = Provider([Steps([0, 10 * DAY], [0, 4])])
    assert ended(workflow(task(seconds=600)), [SPOT], policy=policy, provider=later) == ["done"]
