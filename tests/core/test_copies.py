"""Several attempts of one unit at once: the first to end counts, and the loss of one leaves the others alone."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from audit import Audit
from worlds import Bench, of, task, workflow

from tradewind.core.handle import Core
from tradewind.core.restore import MachineWas, Next, RunWas, UnitWas, restore
from tradewind.core.state import State
from tradewind.core.transitions import UnitState
from tradewind.core.work import RUNNING, declared_time
from tradewind.model.command import Dropped, Ended, Kill, Start
from tradewind.model.event import (
    Cancelled,
    Closed,
    Failed,
    Finished,
    MachineLost,
    MachineReady,
    MachineResized,
    MachineUnwanted,
    Suspended,
    Timer,
)
from tradewind.model.machine import Billing, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, UNIT
from tradewind.model.workflow import ONCE, Checkpoint, Retry
from tradewind.policies.protocol import Copy, Place, Placing, Policy, View
from tradewind.policies.registry import build

CORES = Requirement(amounts=amounts(cpus=2))
SPOT = MachineType("spot", UNIT, Billing(MINUTE), slots=4, amounts=amounts(cpus=4), market=Market.SPOT)


def running(*, machines: int = 3, replicas: int = 3, retry: Retry = ONCE) -> Bench:
    """One unit, with an attempt on each of some machines."""
    bench = Bench([SPOT], "replicate", {"machines": machines, "replicas": replicas})
    bench.submit(0, workflow(task("t", 1000, needs=CORES, retry=retry)))
    for machine in range(machines):
        bench.tell(MachineReady, machine, machine)
    return bench


def on(bench: Bench) -> dict[int, int]:
    """The attempts of the first unit, by machine."""
    return {each.machine.id: each.number for each in bench.state.units[0].attempts()}


def audited(bench: Bench) -> Audit:
    return Audit([SPOT], bench.tenants, is_replicated=True).check(bench.records, is_complete=not bench.state.runs)


def test_each_attempt_runs_on_another_machine() -> None:
    bench = running()
    assert on(bench) == {0: 1, 1: 2, 2: 3}
    assert bench.state.units[0].state == UnitState.RUNNING


@pytest.mark.parametrize("winner", [0, 1, 2])
def test_the_first_to_end_counts_and_the_others_are_killed(winner: int) -> None:
    bench = running()
    out = bench.tell(Finished, 10, 0, winner + 1, winner)
    assert [(each.machine, each.attempt) for each in of(out, Kill)] == [
        (machine, machine + 1) for machine in range(3) if machine != winner
    ]
    assert [each.status for each in of(out, Ended)] == ["done"]
    assert not any(machine.running for machine in bench.state.machines.values())
    assert {machine.free for machine in bench.state.machines.values()} == {SPOT_FREE}


SPOT_FREE = (4, 4)


def test_a_report_of_an_attempt_that_was_beaten_is_dropped() -> None:
    bench = running()
    bench.submit(5, workflow(task("other", 1000, needs=CORES)))
    bench.tell(Finished, 10, 0, 2, 1)
    assert of(bench.tell(Finished, 11, 0, 1, 0), Dropped)
    assert of(bench.tell(Failed, 11, 0, 3, 2, "late"), Dropped)


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_what_is_taken_back_leaves_the_other_attempts_alone(gone: int) -> None:
    bench = running()
    out = bench.tell(MachineLost, 10, gone, "taken back")
    unit = bench.state.units[0]
    assert not of(out, Kill)
    assert unit.state == UnitState.RUNNING
    assert unit.preempted == 1
    assert on(bench) == {machine: machine + 1 for machine in range(3) if machine != gone}


def test_an_attempt_that_was_lost_is_made_up_for_under_a_new_number() -> None:
    bench = running()
    bench.tell(MachineLost, 10, 2, "taken back")
    bench.tell(Timer, 60)
    (acquired,) = [each.machine for each in bench.acquired if each.machine > 2]
    bench.tell(MachineReady, 61, acquired)
    assert on(bench) == {0: 1, 1: 2, acquired: 4}
    bench.tell(Finished, 70, 0, 4, acquired)
    bench.tell(Closed, 71)
    audited(bench)


def test_a_shrink_ends_the_attempt_that_runs_there_and_no_other() -> None:
    harvest = replace(SPOT, market=Market.HARVEST)
    bench = Bench([harvest], "replicate", {"machines": 2, "replicas": 2})
    bench.submit(0, workflow(task("t", 1000, needs=CORES)))
    bench.tell(MachineReady, 0, 0)
    bench.tell(MachineReady, 1, 1)
    out = bench.tell(MachineResized, 10, 1, amounts(cpus=1))
    assert [(each.machine, each.attempt) for each in of(out, Kill)] == [(1, 2)]
    assert on(bench) == {0: 1}
    assert bench.state.machines[1].free == (1, 1)


def test_the_last_attempt_to_be_lost_makes_the_unit_ready_again() -> None:
    bench = running()
    for machine in (1, 0, 2):
        bench.tell(MachineLost, 10, machine, "taken back")
    unit = bench.state.units[0]
    assert unit.state == UnitState.READY
    assert (unit.preempted, unit.lost, unit.machine, unit.copies) == (3, 0, None, ())


def test_a_failure_counts_but_others_may_still_end_well() -> None:
    bench = running()
    bench.tell(Failed, 10, 0, 1, 0, "it crashed")
    assert bench.state.units[0].failures == {"error": 1}
    out = bench.tell(Finished, 20, 0, 3, 2)
    assert [each.status for each in of(out, Ended)] == ["done"]


def test_a_unit_fails_when_the_last_of_its_attempts_does() -> None:
    bench = running(replicas=2, machines=2)
    assert not of(bench.tell(Failed, 10, 0, 2, 1, "it crashed"), Ended)
    bench.tell(MachineUnwanted, 11, 1, "enough")  # so that nothing makes up for it
    for each in bench.starts[2:]:
        bench.tell(Failed, 12, 0, each.attempt, each.machine, "it crashed")
    out = bench.tell(Failed, 12, 0, 1, 0, "it crashed")
    assert [each.status for each in of(out, Ended)] == ["failed"]


def test_cancelling_kills_all_attempts() -> None:
    bench = running()
    out = bench.tell(Cancelled, 10, 0)
    assert sorted(each.attempt for each in of(out, Kill)) == [1, 2, 3]
    assert [each.status for each in of(out, Ended)] == ["cancelled"]


def test_what_has_taken_too_long_in_all_is_killed_everywhere() -> None:
    bench = running(retry=Retry(within=100 * SECOND))
    out = bench.tell(Timer, 100)
    assert sorted(each.attempt for each in of(out, Kill)) == [1, 2, 3]
    assert [each.status for each in of(out, Ended)] == ["failed"]


def test_nothing_is_added_to_what_is_suspended() -> None:
    bench = running()
    bench.tell(Suspended, 5, 0)
    bench.tell(MachineLost, 10, 2, "taken back")
    bench.tell(Timer, 60)
    bench.tell(MachineReady, 61, 3)
    assert on(bench) == {0: 1, 1: 2}


def test_what_saves_its_progress_runs_once() -> None:
    bench = Bench([SPOT], "replicate", {"machines": 3})
    bench.submit(0, workflow(replace(task("t", 1000, needs=CORES), checkpoint=Checkpoint(MINUTE))))
    for machine in range(3):
        bench.tell(MachineReady, machine, machine)
    assert on(bench) == {0: 1}


@pytest.mark.parametrize("where", ["the same machine", "a full machine", "a machine that is booting"])
def test_a_copy_that_cannot_be_is_dropped(where: str) -> None:
    target = {"the same machine": 0, "a full machine": 1, "a machine that is booting": 2}[where]

    class Copying:
        def rank(self, unit: object) -> int:
            return 0

        def place(self, view: View) -> Iterator[Placing]:
            machines = [view.machine(number) for number in range(3)]
            for unit in list(view.pools()[0].eligible()):
                place = machines[unit.id % 2]
                if place is not None and place.has_room_for(unit):
                    yield Place(unit, place, "it has room")
            first, other = view.unit(0), machines[target]
            if first is not None and first.machine is not None and other is not None and view.now > 5 * SECOND:
                yield Copy(first, other, "to be sure")

    bench = Bench([SPOT], Policy("copying", build("fixed", {"machines": 3}).scaler, Copying()))
    needs = Requirement(amounts=amounts(cpus=4))
    bench.submit(0, workflow(task("a", 1000, needs=CORES), task("b", 1000, needs=needs)))
    bench.tell(Timer, 0)
    bench.tell(MachineReady, 1, 0)
    bench.tell(MachineReady, 2, 1)
    bench.tell(Timer, 60)
    assert on(bench) == {0: 1}
    assert any("a copy of unit 0" in each.what for each in of(bench.records, Dropped))


def test_a_stale_placement_does_not_become_a_copy() -> None:
    class Twice:
        def rank(self, unit: object) -> int:
            return 0

        def place(self, view: View) -> Iterator[Place]:
            for unit in list(view.pools()[0].eligible()):
                for number in range(2):
                    machine = view.machine(number)
                    if machine is not None:
                        yield Place(unit, machine, "it has room")

    bench = Bench([SPOT], Policy("twice", build("fixed", {"machines": 2}).scaler, Twice()))
    bench.tell(MachineReady, 0, 0)
    bench.submit(0, workflow(task("a", 1000)))
    bench.tell(Timer, 0)
    bench.tell(MachineReady, 1, 0)
    bench.tell(MachineReady, 1, 1)
    assert len(of(bench.records, Start)) == 1


def test_all_attempts_are_paid_for() -> None:
    bench = running()
    bench.tell(Finished, 10, 0, 2, 1)
    bench.tell(Closed, 11)
    assert audited(bench).cost == 3 * UNIT


def test_attempts_are_restored() -> None:
    state = State([SPOT], [Tenant("default")], MINUTE, 0, declared_time)
    core = Core(state, build("replicate", {"machines": 2}))
    was = UnitWas(0, task("t", 1000, needs=CORES), (), RUNNING, 4, running=((2, 0, SECOND), (4, 1, 2 * SECOND)))
    machines = [MachineWas(n, "spot", "default", True, 0, 0, MINUTE) for n in range(2)]
    runs = [RunWas(0, "w", "default", 0, 0, None, False, [was])]
    restore(core, 10 * SECOND, runs, machines, [], Next(1, 1, 2))
    unit = state.units[0]
    assert [(each.number, each.machine.id) for each in unit.attempts()] == [(2, 0), (4, 1)]
    assert {machine.free for machine in state.machines.values()} == {(3, 2)}
    core.handle(MachineLost(11 * SECOND, 1, 0, "gone"))
    assert (unit.attempt, unit.last, unit.state) == (4, 4, RUNNING)
    core.handle(MachineLost(12 * SECOND, 2, 1, "gone"))
    assert unit.state == UnitState.READY


def test_nothing_is_rented_in_the_instant_in_which_the_last_run_expires() -> None:
    bench = Bench([SPOT], "capacity", {"machines": 2})
    bench.submit(0, workflow(task("t", 1000, needs=CORES, retry=Retry(within=60 * SECOND))))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Closed, 1)
    bench.tell(Timer, 60)
    assert not bench.state.machines
