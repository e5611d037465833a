"""The deadline policies as a whole, on the real core in virtual time."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.handle import Core
from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.model.command import Acquire, Charged, Ended, Predicted, Release, Start
from tradewind.model.event import Extended, Finished, MachineLost, MachineReady, Redated, Submitted
from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Estimates, Faults, Noise, Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, UNIT, Duration
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

LAG = 6 * MINUTE
SMALL = MachineType("small", 1 * UNIT, Billing(HOUR), BootLag(LAG))
BIG = MachineType("big", 4 * UNIT, Billing(HOUR), BootLag(LAG))
TWO_CPUS = Requirement(amounts=amounts(cpus=2))
POLICIES = ("scs", "scs+", "greedy", "gain")


def job(deadline: Duration | None, *steps: tuple[int, int], fan: bool = False) -> Workflow:
    """Tasks one after the other, or beside each other, with minutes on small and on big machines."""
    tasks = tuple(
        Task(f"t{i}", f"t{i}", runtimes={"small": a * MINUTE, "big": b * MINUTE}) for i, (a, b) in enumerate(steps)
    )
    parents = tuple(() if fan or not i else (i - 1,) for i in range(len(steps)))
    return Workflow("job", tasks, parents, deadline=deadline)


def simulated(
    policy: str,
    *jobs: tuple[int, Workflow],
    reading: str = "",
    types: tuple[MachineType, ...] = (SMALL, BIG),
    **more: object,
) -> list[Record]:
    scenario = replace(Scenario((), types), **more)  # type: ignore[arg-type]
    records: list[Record] = []
    work = [Submission(minute * MINUTE, workflow) for minute, workflow in jobs]
    Simulation(scenario, work, build(policy, {"reading": reading} if reading else {})).run(records.append)
    return records


def ends(records: list[Record]) -> list[float]:
    return [record.at / MINUTE for record in records if isinstance(record, Ended)]


def rented(records: list[Record]) -> list[int]:
    return [record.kind for record in records if isinstance(record, Acquire)]


def bill(records: list[Record]) -> float:
    return sum(record.amount for record in records if isinstance(record, Charged)) / UNIT


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_with_time_runs_on_the_cheapest_type(policy: str) -> None:
    records = simulated(policy, (0, job(2 * HOUR, (30, 10))))
    assert rented(records) == [0]
    assert ends(records) == [36.0]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_in_a_hurry_runs_on_the_type_that_is_in_time(policy: str) -> None:
    records = simulated(policy, (0, job(20 * MINUTE, (30, 10))))
    assert rented(records) == [1]
    assert ends(records) == [16.0]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_machine_for_a_later_task_is_up_when_the_task_is_ready(policy: str) -> None:
    """The first task runs on small, the second has to run on big; only one lag is paid for by the job."""
    records = simulated(policy, (0, job(50 * MINUTE, (20, 18), (90, 15))))
    assert ends(records)[0] <= 50


@pytest.mark.parametrize("policy", POLICIES)
def test_what_cannot_be_in_time_is_foreseen_at_once_and_runs_as_fast_as_can_be(policy: str) -> None:
    records = simulated(policy, (0, job(10 * MINUTE, (30, 10))))
    foreseen = [record for record in records if isinstance(record, Predicted)]
    assert foreseen[0].at == 0
    assert foreseen[0].slack == -6 * MINUTE
    assert ends(records) == [16.0]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_machine_goes_back_just_before_its_hour_ends(policy: str) -> None:
    records = simulated(policy, (0, job(2 * HOUR, (30, 10))), (300, job(2 * HOUR, (30, 10))))
    first = next(record for record in records if isinstance(record, Release))
    assert 59 <= first.at / MINUTE <= 60
    assert bill(records) == 2


@pytest.mark.parametrize("policy", POLICIES)
def test_runs_without_a_deadline_end_too(policy: str) -> None:
    records = simulated(policy, (0, job(None, (30, 10), (30, 10))))
    assert len(ends(records)) == 1
    assert not any(isinstance(record, Predicted) for record in records)


@pytest.mark.parametrize("policy", POLICIES)
def test_work_of_a_lost_machine_runs_again(policy: str) -> None:
    scenario = Scenario((), (SMALL, BIG), faults=Faults(machine_loss=2.0), seed=3)
    records: list[Record] = []
    work = [Submission(i * 20 * MINUTE, job(3 * HOUR, (20, 6), (20, 6))) for i in range(6)]
    Simulation(scenario, work, build(policy)).run(records.append)
    assert any(isinstance(record, MachineLost) for record in records)
    assert len(ends(records)) == 6


def test_reserve_opens_a_machine_where_queue_waits() -> None:
    jobs = ((0, job(3 * HOUR, (30, 10))), (10, job(3 * HOUR, (30, 10))))
    for policy in ("greedy", "gain"):
        assert rented(simulated(policy, *jobs, reading="reserve")) == [0, 0]
        assert rented(simulated(policy, *jobs, reading="queue")) == [0]


def test_greedy_takes_the_cheapest_machine_and_gain_the_cheapest_plan() -> None:
    work = job(4 * HOUR, (100, 10))  # 10 minutes on big cost less than 100 on small
    assert rented(simulated("greedy", (0, work))) == [0]
    assert rented(simulated("gain", (0, work))) == [1]


def test_a_bundle_stays_on_its_machine() -> None:
    records = simulated("scs", (0, job(4 * HOUR, (30, 10), (30, 10))), (1, job(4 * HOUR, (30, 10), (30, 10))))
    where: dict[int, set[int]] = {}
    for record in records:
        if isinstance(record, Start):
            where.setdefault(record.unit // 2, set()).add(record.machine)
    assert all(len(machines) == 1 for machines in where.values())


def test_scs_plus_shares_one_machine_where_little_comes() -> None:
    """Each task prefers another type, but one hour of small holds all of it."""
    work = job(2 * HOUR, (10, 2), (20, 6), (10, 2))
    assert bill(simulated("scs+", (0, work))) == 1
    assert bill(simulated("gain", (0, work))) > 1


def test_scs_plus_fills_paid_time_before_it_opens_a_machine() -> None:
    records = simulated("scs+", (0, job(2 * HOUR, (20, 5))), (5, job(2 * HOUR, (20, 5))))
    assert rented(records) == [0]
    assert ends(records) == [26.0, 46.0]


def test_slots_are_used_at_once() -> None:
    two = replace(SMALL, slots=2)
    for policy in POLICIES:
        records = simulated(policy, (0, job(50 * MINUTE, (30, 30), (30, 30), fan=True)), types=(two,))
        assert rented(records) == [0], policy
        assert ends(records) == [36.0], policy


jobs_strategy = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.lists(st.tuples(st.integers(5, 60), st.integers(2, 12)), min_size=1, max_size=4),
        st.integers(0, 90),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None)
@given(drawn=jobs_strategy)
def test_with_exact_estimates_scs_plus_misses_no_deadline_that_can_be_met(
    drawn: list[tuple[int, list[tuple[int, int]], int, bool]],
) -> None:
    jobs = []
    for minute, steps, slack, fan in drawn:
        fastest = [min(step) for step in steps]
        least = max(fastest) if fan else sum(fastest)
        jobs.append((minute, job(LAG + (least + slack) * MINUTE, *steps, fan=fan)))
    records = simulated("scs+", *jobs)
    deadlines = sorted((minute, workflow.deadline or 0) for minute, workflow in jobs)
    by_run = {record.run: record.at for record in records if isinstance(record, Ended)}
    assert len(by_run) == len(jobs)
    ordered = sorted(jobs, key=lambda each: each[0])
    assert len(deadlines) == len(ordered)
    for run, (minute, workflow) in enumerate(ordered):
        assert by_run[run] <= minute * MINUTE + (workflow.deadline or 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_all_work_ends_although_nothing_is_as_estimated(policy: str) -> None:
    jobs = tuple((i * 7, job(HOUR, (20, 6), (15, 4), (30, 8))) for i in range(8))
    types = tuple(replace(kind, boot=BootLag(LAG, 2 * MINUTE)) for kind in (SMALL, BIG))
    records = simulated(policy, *jobs, types=types, noise=Noise(0.4), estimates=Estimates("declared"), seed=5)
    assert len(ends(records)) == 8


def test_learned_estimates_find_what_was_not_declared() -> None:
    steps = Task("t", "t", runtimes={"small": 30 * MINUTE})
    work = [(i * 60, Workflow("job", (steps,), ((),), deadline=2 * HOUR)) for i in range(3)]
    records = simulated("scs+", *work, types=(SMALL,), estimates=Estimates("learned"))
    assert len(ends(records)) == 3


def test_a_margin_keeps_plans_clear_of_the_deadline() -> None:
    work = job(70 * MINUTE, (60, 20))
    records: list[Record] = []
    Simulation(Scenario((), (SMALL, BIG)), [Submission(0, work)], build("scs+", {"margin": 0.2})).run(records.append)
    assert rented(simulated("scs+", (0, work))) == [0]
    assert rented(records) == [1], "66 of 70 minutes are too close"


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_that_grows_is_planned_on(policy: str) -> None:
    core = Core(State((SMALL, BIG), [Tenant("t")], MINUTE, 0, declared_time), build(policy))
    step = Task("a", "a", runtimes={"small": MINUTE, "big": MINUTE})
    core.handle(Submitted(0, 1, "t", Workflow("w", (step,), ((),), deadline=HOUR), is_open=True))
    core.handle(MachineReady(LAG, 2, 0))
    core.handle(Finished(LAG + MINUTE, 3, 0, 1, 0))
    out = core.handle(Extended(LAG + MINUTE, 4, 0, (replace(step, id="b", name="b"),), is_last=True))
    assert [command.unit for command in out if isinstance(command, Start)] == [1]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("reading", ["reserve", "queue"])
def test_work_waits_where_no_more_machines_are_to_be_had(policy: str, reading: str) -> None:
    few = (replace(SMALL, limit=1), replace(BIG, limit=1))
    jobs = tuple((i, job(HOUR, (30, 10), (30, 10))) for i in range(6))
    records = simulated(policy, *jobs, types=few, reading=reading if policy in ("greedy", "gain") else "")
    assert len(ends(records)) == 6


@pytest.mark.parametrize("policy", POLICIES)
def test_another_tenant_may_hold_all_machines_for_a_while(policy: str) -> None:
    scenario = Scenario((), (replace(SMALL, limit=1),), (Tenant("a"), Tenant("b")))
    work = [Submission(0, job(HOUR, (30, 30)), "a"), Submission(MINUTE, job(HOUR, (30, 30)), "b")]
    records: list[Record] = []
    Simulation(scenario, work, build(policy)).run(records.append)
    assert len(ends(records)) == 2


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_whose_deadline_changes_is_planned_again(policy: str) -> None:
    """The second task was to run on small; with the new deadline only big is in time, and then nothing is."""
    state = State((SMALL, BIG), [Tenant("default")], MINUTE, 0, declared_time)
    core = Core(state, build(policy))
    records: list[Record] = [*core.handle(Submitted(0, 1, "default", job(3 * HOUR, (30, 10), (40, 12))))]
    assert rented(records) == [0]
    (first,) = [record for record in records if isinstance(record, Predicted)]
    assert first.slack is not None
    assert first.slack > 0
    records = [*core.handle(Redated(MINUTE, 2, 0, 65 * MINUTE)), *core.handle(Redated(2 * MINUTE, 3, 0, 20 * MINUTE))]
    again = [record for record in records if isinstance(record, Predicted)]
    assert 1 in rented(records)
    assert again[-1].slack is not None
    assert again[-1].slack < 0


@pytest.mark.parametrize("policy", [*POLICIES, "demand", "capability"])
def test_what_tasks_share_besides_slots_is_counted(policy: str) -> None:
    """Eight tasks of two cpus run at once on a machine of sixteen, although it has sixteen slots."""
    big = MachineType("big", UNIT, boot=BootLag(MINUTE), limit=10, slots=16, amounts=amounts(cpus=16))
    tasks = tuple(Task(f"t{i}", "t", runtime=45 * MINUTE, requirement=TWO_CPUS) for i in range(40))
    flat = Workflow("flat", tasks, ((),) * 40, deadline=50 * MINUTE)
    records = simulated(policy, (0, flat), types=(big,))
    assert ends(records) == [46.0]
    assert rented(records) == [0] * 5


@pytest.mark.parametrize("policy", POLICIES)
def test_the_cheapest_type_is_where_a_task_pays_least_for_its_share_of_a_machine(policy: str) -> None:
    """A slot of the wide type is cheaper, but tasks that need much memory leave most of its slots empty."""
    wide = MachineType("wide", 16 * UNIT, boot=BootLag(MINUTE), slots=16, amounts=amounts(cpus=16, memory=32))
    tall = MachineType("tall", 8 * UNIT, boot=BootLag(MINUTE), slots=4, amounts=amounts(cpus=4, memory=64))
    hungry = Requirement(amounts=amounts(cpus=1, memory=16))
    tasks = tuple(Task(f"t{i}", "t", runtime=10 * MINUTE, requirement=hungry) for i in range(4))
    records = simulated(policy, (0, Workflow("flat", tasks, ((),) * 4, deadline=15 * MINUTE)), types=(wide, tall))
    assert ends(records) == [11.0]
    assert rented(records) == [1]
