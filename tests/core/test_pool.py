"""Pools: which ready unit starts next."""

from collections.abc import Iterator

import pytest
from worlds import Bench, minutely, task, workflow

from tradewind.core.pool import Pool
from tradewind.model.event import Finished, MachineLost, MachineReady, Reprioritised
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Requirement, amounts
from tradewind.policies.protocol import Place, Policy, Rent, Scaling, Unit, View

GPU = Requirement(frozenset({"gpu"}))


class Nothing:
    """Rents what a test asks for on each arrival, and starts nothing."""

    on_arrival = True

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)

    def scale(self, view: View) -> Iterator[Scaling]:
        numbers, self.numbers = self.numbers, []
        for kind, number in zip(view.kinds, numbers, strict=False):
            yield Rent(view.pools()[0], kind, number, "a test wants it")

    def rank(self, unit: Unit) -> int:
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        return iter(())


def bench(*machines: MachineType, rent: tuple[int, ...] = (1,)) -> Bench:
    nothing = Nothing(*rent)
    return Bench(machines or [minutely()], Policy("nothing", nothing, nothing))


def pool(world: Bench) -> Pool:
    return world.state.all_pools[0]


def match(world: Bench) -> tuple[int, int] | None:
    found = pool(world).best_match()
    return None if found is None else (found[0].id, found[1].id)


def place(world: Bench) -> tuple[int, int] | None:
    """Start the best match."""
    found = pool(world).best_match()
    if found is None:
        return None
    world.core.admission.place(Place(*found, "a test wants it"))
    return found[0].id, found[1].id


def test_higher_priorities_come_first_then_older_units() -> None:
    world = bench(minutely(slots=9))
    world.submit(0, workflow(task(), task(), priority=0))
    world.submit(0, workflow(task(), priority=5))
    world.submit(0, workflow(task(), priority=-1))
    world.submit(0, workflow(task(), priority=5))
    world.tell(MachineReady, 0, 0)
    assert [place(world) for _ in range(6)] == [(2, 0), (4, 0), (0, 0), (1, 0), (3, 0), None]


def test_needs_without_room_are_passed_over() -> None:
    world = bench(minutely(), MachineType("gpu", capabilities=frozenset({"gpu"})), rent=(1, 0))
    world.submit(0, workflow(task(needs=GPU), priority=9))
    world.submit(0, workflow(task()))
    world.tell(MachineReady, 0, 0)
    assert match(world) == (1, 0)


def test_a_large_unit_does_not_hold_up_a_small_one() -> None:
    world = bench(minutely(slots=4, amounts=amounts(memory=8)))
    world.submit(0, workflow(*[task(needs=Requirement(amounts=amounts(memory=m))) for m in (6, 6, 2)]))
    world.tell(MachineReady, 0, 0)
    assert [place(world) for _ in range(3)] == [(0, 0), (2, 0), None]


def test_machines_are_taken_by_kind_then_by_number() -> None:
    world = bench(minutely("a"), minutely("b"), rent=(1, 2))
    world.submit(0, workflow(*[task() for _ in range(3)]))
    for machine in (2, 1, 0):
        world.tell(MachineReady, 0, machine)
    assert [place(world) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]


def test_a_lost_unit_regains_its_place() -> None:
    world = bench(minutely(slots=2), rent=(2,))
    world.submit(0, workflow(task(), task(), task()))
    world.tell(MachineReady, 0, 0)
    assert [place(world), place(world), place(world)] == [(0, 0), (1, 0), None]
    world.tell(MachineLost, 1, 0, "gone")
    world.tell(MachineReady, 1, 1)
    assert [place(world), place(world)] == [(0, 1), (1, 1)]


def test_another_priority_counts_from_then_on() -> None:
    world = bench(minutely(slots=9))
    world.submit(0, workflow(task(), priority=1))
    world.submit(0, workflow(task(), priority=2))
    world.tell(Reprioritised, 0, 0, 3)
    world.tell(MachineReady, 0, 0)
    assert [place(world), place(world), place(world)] == [(0, 0), (1, 0), None]


def test_eligible_units_are_those_that_wait_for_a_machine_alone() -> None:
    world = bench(minutely(slots=1))
    world.submit(0, workflow(task(), task(), task(), parents=[[], [], [0]]))
    assert sorted(unit.id for unit in pool(world).eligible()) == [0, 1]
    world.tell(MachineReady, 0, 0)
    place(world)
    assert sorted(unit.id for unit in pool(world).eligible()) == [1]
    assert sorted(unit.id for unit in pool(world).active()) == [0, 1]
    world.tell(Finished, 1, 0, 1, 0)
    assert sorted(unit.id for unit in pool(world).eligible()) == [1, 2]


def test_a_unit_is_eligible_once_however_often_its_priority_changes() -> None:
    world = bench()
    world.submit(0, workflow(task(), task(), priority=1))
    for priority in (2, 1, 2, 1, 1):
        world.tell(Reprioritised, 0, 0, priority)
    assert sorted(unit.id for unit in pool(world).eligible()) == [0, 1]


def test_entries_that_no_longer_hold_are_cleared_away() -> None:
    world = bench()
    world.submit(0, workflow(*[task() for _ in range(3)]))
    for priority in range(100):
        world.tell(Reprioritised, 0, 0, priority)
    assert len(list(pool(world).eligible())) == 3
    assert sum(map(len, pool(world).queues.values())) == 3
    world.tell(MachineReady, 0, 0)
    assert match(world) == (0, 0)


def test_nothing_matches_without_machines_or_work() -> None:
    world = bench(rent=(0,))
    world.submit(0, workflow(task()))
    assert match(world) is None
    other = bench()
    other.submit(0, workflow())
    assert match(other) is None


@pytest.mark.parametrize("size", [10, 1_000])
def test_matching_looks_at_few_units_however_long_the_queue(size: int) -> None:
    world = bench(minutely(slots=1))
    world.submit(0, workflow(*[task() for _ in range(size)]))
    world.tell(MachineReady, 0, 0)
    looked_at = 0

    class Counting(dict):  # type: ignore[type-arg]
        def get(self, key: int, default: object = None) -> object:
            nonlocal looked_at
            looked_at += 1
            return super().get(key, default)

    pool(world)._units = Counting(pool(world)._units)
    for unit in range(5):
        assert place(world) == (unit, 0)
        looked_before = looked_at
        world.tell(Finished, 1, unit, 1, 0)
        assert looked_at - looked_before <= 2
    assert looked_at <= 20
