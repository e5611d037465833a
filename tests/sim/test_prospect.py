"""The tightest deadline that `plan` names, against the simulator."""

from dataclasses import replace
from typing import NamedTuple

import pytest
from audit import Audit
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.log import Record
from tradewind.model.command import Ended
from tradewind.model.machine import BootLag, MachineType
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Given, Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import HOUR, MINUTE, SECOND, UNIT, Duration, Time, parse_duration, show_duration
from tradewind.model.workflow import Task, Workflow
from tradewind.sim.prospect import Prospect, Terms, least_makespan, look_ahead, shown_length, tightest
from tradewind.sim.simulate import simulate
from tradewind.sim.workload import submissions


class Case(NamedTuple):
    """Work, and machines that can run it."""

    workflow: Workflow
    types: tuple[MachineType, ...]


@st.composite
def machine_types(draw: st.DrawFn) -> tuple[MachineType, ...]:
    """A few types, of which the first is as large as any in everything."""
    types = []
    for place in range(draw(st.integers(1, 3))):
        sizes = {"cpus": draw(st.integers(1, 8)), "memory": draw(st.integers(1, 16)), "fpgas": draw(st.integers(0, 2))}
        if not place:
            sizes = {"cpus": 8, "memory": 16, "fpgas": 2}
        types.append(
            MachineType(
                f"k{place}",
                draw(st.integers(1, 5)) * UNIT,
                boot=BootLag(draw(st.sampled_from((0, MINUTE, 5 * MINUTE)))),
                limit=draw(st.sampled_from((1, 2, 4, 100))),
                slots=draw(st.sampled_from((1, sizes["cpus"], 3))),
                amounts=amounts(**sizes),
                speed=draw(st.sampled_from((1.0, 2.0))),
            )
        )
    return tuple(types)


@st.composite
def cases(draw: st.DrawFn, most: int = 10) -> Case:
    """A few tasks that take different amounts."""
    tasks, parents = [], []
    for place in range(draw(st.integers(1, most))):
        wanted = amounts(
            cpus=draw(st.integers(0, 8)), memory=draw(st.integers(0, 16)), fpgas=draw(st.sampled_from((0, 0, 0, 1)))
        )
        time = draw(st.integers(1, 60)) * MINUTE
        tasks.append(Task(f"t{place}", f"t{place}", runtime=time, requirement=Requirement(amounts=wanted)))
        above = draw(st.sets(st.integers(0, place - 1), max_size=2)) if place else set()
        parents.append(tuple(sorted(above)))
    return Case(Workflow("w", tuple(tasks), tuple(parents)), draw(machine_types()))


def soonest(case: Case) -> Prospect:
    terms = Terms(case.types)
    return tightest(case.workflow, terms, look_ahead(case.workflow, terms, 100 * HOUR))


def simulated_end(case: Case, deadline: Duration, *, chains: bool = False) -> Time:
    """When the work ends under `scs+` if it has so long, by a simulation whose log is checked."""
    work = (Given((replace(case.workflow, deadline=deadline),)),)
    records: list[Record] = []
    scenario = Scenario(work, case.types, policy="scs+", chains=chains)
    simulate(scenario, submissions(scenario), [lambda _: records.append])
    Audit(case.types, [Tenant("default")]).check(records)
    (end,) = (record.at for record in records if isinstance(record, Ended))
    return end


@settings(max_examples=150)
@given(cases())
def test_the_tightest_deadline_is_met_in_a_simulation_and_a_clearly_tighter_one_is_not(case: Case) -> None:
    found = soonest(case)
    assert simulated_end(case, found.deadline) <= found.deadline
    tighter = found.deadline * 8 // 10
    assert simulated_end(case, tighter) > tighter


@settings(max_examples=50)
@given(cases(most=40))
def test_it_is_met_exactly_where_chains_are_placed_as_in_a_run(case: Case) -> None:
    found = soonest(case)
    assert simulated_end(case, found.deadline, chains=True) == found.finish <= found.deadline


@settings(max_examples=150)
@given(cases())
def test_no_plan_ends_before_the_least_makespan(case: Case) -> None:
    assert soonest(case).finish >= least_makespan(case.workflow, Terms(case.types))


def test_tasks_that_take_different_amounts_share_a_machine() -> None:
    kind = MachineType("k", UNIT, limit=1, slots=2, amounts=amounts(cpus=4, memory=4))
    wants = (amounts(cpus=4), amounts(memory=4))
    tasks = tuple(
        Task(f"t{i}", "t", runtime=HOUR, requirement=Requirement(amounts=want)) for i, want in enumerate(wants)
    )
    case = Case(Workflow("w", tasks, ((), ())), (kind,))
    assert least_makespan(case.workflow, Terms(case.types)) == soonest(case).finish == HOUR


@pytest.mark.parametrize("length", [1, SECOND, 59 * MINUTE + 1, HOUR + 1, 25 * HOUR + MINUTE])
def test_a_length_that_is_shown_is_not_too_short_when_it_is_given_as_a_deadline(length: Duration) -> None:
    assert parse_duration(show_duration(shown_length(length))) == shown_length(length) >= length


def flat(tasks: int, cpus: int, minutes: int) -> Workflow:
    requirement = Requirement(amounts=amounts(cpus=cpus))
    each = (Task(f"t{i}", "t", runtime=minutes * MINUTE, requirement=requirement) for i in range(tasks))
    return Workflow("flat", tuple(each), ((),) * tasks)


BIG = MachineType("big", UNIT, boot=BootLag(MINUTE), limit=10, slots=16, amounts=amounts(cpus=16))


@pytest.mark.parametrize("policy", ["scs+", "scs", "greedy", "gain", "demand", "pfa", "capability", "plf", "scf"])
def test_eight_tasks_of_two_cpus_run_at_once_on_sixteen(policy: str) -> None:
    work, terms = flat(40, cpus=2, minutes=45), Terms((BIG,), policy)
    asked = look_ahead(work, terms, 50 * MINUTE)
    assert asked.finish == tightest(work, terms, asked).deadline == 46 * MINUTE
