"""Brief work is lined up on machines that are full, and nothing else is."""

from dataclasses import replace

from worlds import task, workflow

from tradewind.core import lineup
from tradewind.core.handle import Core
from tradewind.core.lineup import BRIEF, Lineup
from tradewind.core.state import State
from tradewind.core.work import READY, RUNNING, declared_time
from tradewind.model.command import Start
from tradewind.model.event import Event, Failed, Finished, MachineLost, MachineReady, Reprioritised, Submitted
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.model.workflow import Retry, Task
from tradewind.policies.registry import build

DEPTH = 3
CORES = Requirement(amounts=amounts(cpus=2))


class World:
    """A core with some machines of two slots, all of them up, that keep a line."""

    def __init__(self, *tasks: Task, machines: int = 1) -> None:
        kind = MachineType("m", slots=2, amounts=amounts(cpus=4), limit=machines)
        self.state = State((kind,), (Tenant("default"),), SECOND, 0, declared_time)
        self.state.lineup = Lineup(DEPTH)
        self.core = Core(self.state, build("fixed", {"machines": machines}))
        self.now = 0
        self.tell(Submitted, "default", workflow(*tasks))
        for number in range(machines):
            self.tell(MachineReady, number)

    def tell(self, kind: type[Event], *values: object) -> list[int]:
        """The units that an event has started."""
        commands = self.core.handle(kind(self.now, 0, *values))  # type: ignore[arg-type]
        return [command.unit for command in commands if isinstance(command, Start)]

    def finish(self, unit: int, after: int = BRIEF) -> list[int]:
        self.now += after
        found = self.state.units[unit]
        assert found.machine is not None
        return self.tell(Finished, unit, found.attempt, found.machine.id)

    def running(self, machine: int = 0) -> list[int]:
        return list(self.state.machines[machine].running)


def proven(*tasks: Task, machines: int = 1) -> World:
    """A world in which tasks named `t` are known to be brief."""
    world = World(*tasks, machines=machines)
    unit = next(unit for unit in world.state.units.values() if unit.task.name == "t")
    for _ in range(lineup.PROOF):
        world.state.lineup.note(unit, BRIEF)  # type: ignore[union-attr]
    return world


def same(count: int, name: str = "t") -> list[Task]:
    return [task(name) for _ in range(count)]


def test_nothing_is_lined_up_before_it_has_proven_to_be_brief() -> None:
    world = World(*same(40))
    assert world.running() == [0, 1]
    for unit in range(lineup.PROOF - 1):
        assert world.finish(unit, 1) == [unit + 2]
    started = world.finish(lineup.PROOF - 1, 1)
    assert len(started) == 1 + DEPTH
    assert len(world.running()) == 2 + DEPTH


def test_a_line_is_kept_as_long_as_there_is_work() -> None:
    world = proven(*same(8))
    assert world.finish(0) == [2, 3, 4, 5]
    assert world.state.machines[0].free[0] == -DEPTH
    assert world.finish(1, 0) == [6]
    assert world.finish(2, 0) == [7]
    for unit in (3, 4, 5, 6):
        assert world.finish(unit, 0) == []
    assert world.state.machines[0].free == (1, 4)
    world.finish(7, 0)
    assert not world.state.runs


def test_what_takes_long_is_lined_up_no_more() -> None:
    world = proven(*same(20))
    assert world.finish(0, BRIEF + 1) == [2]
    assert world.finish(1, 0) == [3]


def test_a_free_machine_comes_before_a_line() -> None:
    world = proven(*same(4), machines=2)
    assert (world.running(0), world.running(1)) == ([0, 1], [2, 3])
    world.finish(0)
    assert len(world.running(0)) == 1


def test_who_comes_first_is_not_overtaken() -> None:
    world = proven(*same(2), task("long"), *same(9))
    assert world.finish(0) == [2], "there is room for one that is not brief"
    assert world.finish(1, 0) == [3], "nothing waits behind one that is not brief"
    assert world.running() == [2, 3]


def test_only_equal_needs_stand_in_one_line() -> None:
    world = proven(task("t"), task("t", needs=CORES), *same(8))
    assert world.running() == [0, 1]
    assert world.finish(0) == [2], "the other takes two cores, and one end might not make room"
    assert len(world.finish(1, 0)) == 1 + DEPTH


def test_what_is_given_back_runs_elsewhere_and_its_kind_is_no_longer_trusted() -> None:
    world = proven(*same(12))
    world.finish(0)
    assert world.running() == [1, 2, 3, 4, 5]
    world.tell(Failed, 5, 1, 0, "its turn did not come", "returned")
    unit = world.state.units[5]
    assert (unit.state, unit.lost, unit.preempted, unit.failures) == (READY, 0, 0, {})
    assert world.finish(1, 0) == []
    assert world.running() == [2, 3, 4]
    assert world.finish(2, 0) == []
    assert world.finish(3, 0) == [5], "there is room again"
    assert world.state.units[5].attempt == 2


def test_what_was_given_back_has_not_given_way() -> None:
    world = proven(*(replace(each, retry=Retry(lost=0, preempted=0)) for each in same(12)))
    world.finish(0)
    world.tell(Failed, 5, 1, 0, "its turn did not come", "returned")
    assert world.state.units[5].state == READY, "it may never be preempted, and was not"


def test_a_line_is_lost_with_its_machine() -> None:
    world = proven(*same(12))
    world.finish(0)
    world.tell(MachineLost, 0, "gone")
    assert all(unit.state != RUNNING for unit in world.state.units.values())
    assert not world.state.machines


def test_priorities_decide_who_is_lined_up() -> None:
    world = proven(*same(6))
    world.tell(Submitted, "default", workflow(*same(2), priority=0))
    world.tell(Reprioritised, 1, 9)
    assert world.finish(0) == [6, 7, 2, 3]
