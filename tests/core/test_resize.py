"""Machines that change in size: what fits, what gives way, and how that is counted."""

from dataclasses import replace

import pytest
from worlds import Bench, of, task, workflow

from tradewind.core.transitions import UnitState
from tradewind.model.command import Dropped, Ended, Kill, Release
from tradewind.model.event import (
    Closed,
    Finished,
    MachineLost,
    MachineReady,
    MachineResized,
    MachineUnwanted,
    Timer,
)
from tradewind.model.machine import Billing, MachineType, Market
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.units import MINUTE, SECOND
from tradewind.model.workflow import ONCE, Checkpoint, Retry
from tradewind.policies.protocol import Policy
from tradewind.policies.registry import build

HARVEST = MachineType(
    "harvest",
    billing=Billing(MINUTE),
    slots=16,
    amounts=amounts(cpus=8, memory=80),
    market=Market.HARVEST,
    minimum=amounts(cpus=2),
)


def cores(cpus: int, memory: int = 0) -> Requirement:
    return Requirement(amounts=amounts(cpus=cpus, memory=memory))


def held(*needs: Requirement, policy: Policy | None = None, retry: Retry = ONCE) -> Bench:
    """A machine with 8 cores, on which tasks have been started a second apart."""
    bench = Bench([HARVEST], policy or "fixed", {"machines": 1})
    bench.submit(0, workflow(task("first", 1000, needs=needs[0], retry=retry)))
    bench.tell(Timer, 0)
    bench.tell(MachineReady, 0, 0)
    for place, need in enumerate(needs[1:], start=1):
        bench.submit(place, workflow(task(f"t{place}", 1000, needs=need, retry=retry)))
    return bench


def resize(bench: Bench, at: float, cpus: int, memory: int = 80) -> list[int]:
    """The units that give way."""
    return [each.unit for each in of(bench.tell(MachineResized, at, 0, amounts(cpus=cpus, memory=memory)), Kill)]


def test_what_was_started_last_gives_way_first() -> None:
    bench = held(cores(2), cores(2), cores(2))
    assert resize(bench, 10, 5) == [2]
    assert resize(bench, 11, 3) == [1]
    assert bench.state.machines[0].free[1] == 1
    assert [unit.preempted for unit in bench.state.units.values()] == [0, 1, 1]
    assert not any(unit.lost or unit.failures for unit in bench.state.units.values())


def test_slots_shrink_with_the_cores() -> None:
    """Tasks that take no cores by name still run on some; of 16 slots on 8 cores 6 are left on 3."""
    bench = held(*[Requirement()] * 8)
    assert resize(bench, 10, 3) == [7, 6]
    assert bench.state.machines[0].free[0] == 0
    assert resize(bench, 11, 8) == []
    assert len(bench.state.machines[0].running) == 8


def test_a_policy_may_want_the_oldest_to_give_way() -> None:
    fixed = build("fixed", {"machines": 1})
    bench = held(cores(2), cores(2), cores(2), policy=replace(fixed, kill="oldest"))
    assert resize(bench, 10, 5) == [0]


def test_what_takes_nothing_of_what_lacks_stays() -> None:
    bench = held(cores(4), cores(0, memory=50), cores(2))
    assert resize(bench, 10, 4) == [2]
    assert resize(bench, 11, 4, memory=20) == [1]


def test_a_shrink_that_leaves_room_hurts_nobody() -> None:
    bench = held(cores(2))
    assert resize(bench, 10, 2) == []
    assert bench.state.machines[0].free[1] == 0


def test_growth_lets_waiting_work_start() -> None:
    bench = held(cores(4), cores(4))
    resize(bench, 10, 4)
    assert bench.state.units[1].state == UnitState.READY
    started = [
        each.unit for each in bench.tell(MachineResized, 11, 0, HARVEST.amounts) if type(each).__name__ == "Start"
    ]
    assert started == [1]


def test_below_its_minimum_a_machine_is_gone() -> None:
    bench = held(cores(2), cores(2))
    bench.tell(MachineResized, 10, 0, amounts(cpus=1, memory=80))
    assert 0 not in bench.state.machines
    assert [unit.preempted for unit in bench.state.units.values()] == [1, 1]


def test_a_machine_that_could_be_taken_back_preempts_and_others_are_lost() -> None:
    bench = held(cores(2))
    bench.tell(MachineLost, 10, 0, "taken back")
    assert (bench.state.units[0].preempted, bench.state.units[0].lost) == (1, 0)


def test_too_many_preemptions_fail_a_unit() -> None:
    bench = held(cores(4), cores(4), retry=Retry(preempted=1))
    for at in (10, 12):
        resize(bench, at, 4)
        resize(bench, at + 1, 8)
    assert [each.status for each in of(bench.records, Ended)] == ["failed"]


def test_a_machine_may_be_resized_before_it_is_up() -> None:
    bench = Bench([HARVEST], "fixed", {"machines": 1})
    bench.submit(0, workflow(*[task(f"t{i}", needs=cores(2)) for i in range(4)]))
    bench.tell(MachineResized, 1, 0, amounts(cpus=4, memory=80))
    bench.tell(MachineReady, 1, 0)
    assert len(bench.starts) == 2
    assert not of(bench.records, Kill)


def test_a_drained_machine_that_loses_its_work_is_given_back() -> None:
    bench = held(cores(4))
    bench.tell(MachineUnwanted, 5, 0, "enough")
    out = bench.tell(MachineResized, 10, 0, amounts(cpus=2, memory=80))
    assert [type(each).__name__ for each in out if isinstance(each, Kill | Release)] == ["Kill", "Release"]


def test_a_late_report_of_what_gave_way_is_dropped() -> None:
    bench = held(cores(4), cores(4))
    resize(bench, 10, 4)
    assert of(bench.tell(Finished, 11, 1, 1, 0), Dropped)


def test_the_size_of_a_machine_that_is_gone_is_dropped() -> None:
    bench = held(cores(2))
    bench.tell(MachineLost, 1, 0, "gone")
    assert of(bench.tell(MachineResized, 2, 0, HARVEST.amounts), Dropped)


@pytest.mark.parametrize(("elapsed", "kept"), [(59, 0), (70, 60), (139, 60), (140, 120)])
def test_a_preempted_unit_keeps_what_its_checkpoints_saved(elapsed: int, kept: int) -> None:
    bench = Bench([HARVEST], "fixed", {"machines": 1})
    saving = replace(task("t", 300, needs=cores(4)), checkpoint=Checkpoint(60 * SECOND, 10 * SECOND))
    bench.submit(0, workflow(saving))
    bench.tell(MachineReady, 0, 0)
    state = bench.state
    assert state.estimate(state.units[0], state.kinds[0]) == (300 + 4 * 10) * SECOND
    resize(bench, elapsed, 2)
    assert state.units[0].kept == kept * SECOND
    left = 300 - kept
    assert state.estimate(state.units[0], state.kinds[0]) == (left + 10 * (-(-left // 60) - 1)) * SECOND


def test_changes_are_told_once_with_what_they_ended() -> None:
    seen = []

    class Watching:
        def rank(self, unit: object) -> int:
            return 0

        def place(self, view: object) -> object:
            seen.extend(view.changes())  # type: ignore[attr-defined]
            return iter(())

    fixed = build("fixed", {"machines": 1})
    bench = Bench([HARVEST], Policy("watching", fixed.scaler, Watching()))  # type: ignore[arg-type]
    bench.submit(0, workflow(task(needs=cores(2))))
    bench.tell(MachineReady, 1, 0)
    bench.tell(MachineResized, 5, 0, amounts(cpus=4, memory=80))
    bench.tell(MachineResized, 9, 0, amounts(cpus=6, memory=80))
    bench.tell(MachineLost, 20, 0, "taken back")
    bench.tell(Timer, 60)
    found = [(each.at // SECOND, each.since // SECOND, each.grew, each.grows) for each in seen]
    assert found == [(5, 1, True, False), (9, 5, False, True), (20, 9, True, False)]


def test_nothing_is_left_over_when_all_is_done() -> None:
    bench = held(cores(4), cores(4))
    resize(bench, 10, 4)
    bench.tell(Finished, 20, 0, 1, 0)
    bench.tell(Finished, 30, 1, 2, 0)
    bench.tell(Closed, 31)
    assert not bench.state.machines
    assert [each.status for each in of(bench.records, Ended)] == ["done", "done"]
