"""Fleets: which machine has room, found without looking at all of them."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.fleet import Fleet
from tradewind.core.machines import BOOTING, IDLE, RELEASED, Kind, Machine
from tradewind.core.pool import Pool
from tradewind.model.machine import MachineType
from tradewind.model.requirement import amounts
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND
from tradewind.model.vector import covers, minus, plus


def fleet(slots: int = 1, dimensions: Sequence[str] = (), **offered: int) -> Fleet:
    kind = Kind(0, MachineType("m", slots=slots, amounts=amounts(**offered)), dimensions)
    return Pool(0, Tenant("t"), [kind], {}).fleets[0]


def machine(fleet: Fleet, number: int) -> Machine:
    """A machine that is up."""
    made = Machine(number, fleet, 0, 0)
    fleet.join(made, 0)
    made.state = IDLE
    fleet.offer(made)
    return made


def number(found: Machine | None) -> int | None:
    return None if found is None else found.id


def test_vectors() -> None:
    assert covers((2,), (2,))
    assert not covers((1,), (2,))
    assert covers((2, 5, 0), (1, 5, 0))
    assert not covers((2, 4, 9), (1, 5, 0))
    assert minus((3, 5), (1, 2)) == (2, 3)
    assert minus((3,), (1,)) == (2,)
    assert plus((2, 3), (1, 2)) == (3, 5)
    assert plus((2,), (1,)) == (3,)


def test_a_kind_offers_nothing_of_what_it_does_not_name() -> None:
    kind = Kind(0, MachineType("m", slots=2, amounts=amounts(memory=8)), ("gpus", "memory"))
    assert kind.capacity == (2, 0, 8)


def test_the_machine_with_the_smallest_number_is_found_first() -> None:
    held = fleet()
    for each in (5, 3, 4):
        machine(held, each)
    assert number(held.first_with((1,))) == 3
    held.occupy(held.machines[3], (1,))
    assert number(held.first_with((1,))) == 4
    held.occupy(held.machines[4], (1,))
    held.occupy(held.machines[5], (1,))
    assert held.first_with((1,)) is None
    held.machines[4].free = (1,)
    held.offer(held.machines[4])
    assert number(held.first_with((1,))) == 4


def test_every_dimension_must_have_room() -> None:
    held = fleet(slots=3, dimensions=("cpus", "memory"), cpus=4, memory=8)
    small, large = machine(held, 0), machine(held, 1)
    held.occupy(small, (1, 3, 1))
    assert small.free == (2, 1, 7)
    assert number(held.first_with((1, 1, 7))) == 0
    assert number(held.first_with((1, 2, 1))) == 1
    held.occupy(large, (1, 0, 8))
    assert held.first_with((1, 2, 1)) is None
    assert number(held.first_with((1, 4, 0))) == 1


def test_what_boots_or_is_gone_has_no_room() -> None:
    held = fleet()
    booting, gone = machine(held, 0), machine(held, 1)
    booting.state = BOOTING
    gone.state = RELEASED
    assert held.first_with((1,)) is None


def test_a_demand_that_found_no_room_is_not_looked_for_until_room_grows() -> None:
    held = fleet()
    only = machine(held, 0)
    held.occupy(only, (1,))
    assert held.first_with((1,)) is None
    assert (1,) in held._full
    only.free = (1,)
    held.offer(only)
    assert not held._full
    assert held.first_with((1,)) is only


def test_entries_that_no_longer_hold_do_not_pile_up() -> None:
    held = fleet(slots=2)
    only = machine(held, 0)
    for _ in range(1_000):  # what a placer leaves behind that never asks for room
        only.free = (1,)
        held.offer(only)
        only.free = (2,)
        held.offer(only)
    assert sum(map(len, held.groups.values())) < 60


def test_time_held_is_added_up_over_all_machines() -> None:
    held = fleet()
    first, second = Machine(0, held, 0, 0), Machine(1, held, 0, 0)
    held.join(first, 10 * SECOND)
    held.join(second, 15 * SECOND)
    assert held.machine_time(20 * SECOND) == 15 * SECOND
    held.leave(first, 20 * SECOND)
    assert held.machine_time(30 * SECOND) == 25 * SECOND
    assert held.kind.held == 1


ACTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 3), st.booleans()), max_size=60)


@settings(max_examples=200)
@given(ACTS)
def test_the_index_finds_what_a_search_through_all_machines_finds(acts: list[tuple[int, int, int, bool]]) -> None:
    held = fleet(slots=3, dimensions=("memory",), memory=6)
    running: dict[int, list[tuple[int, ...]]] = {}
    for who, _, memory, is_start in acts:
        if who not in held.machines:
            machine(held, who)
            running[who] = []
            continue
        each = held.machines[who]
        if is_start and covers(each.free, (1, memory)):
            held.occupy(each, (1, memory))
            running[who].append((1, memory))
        elif running[who]:
            each.free = plus(each.free, running[who].pop())
            held.offer(each)
        else:
            held.leave(each, 0)
            each.state = RELEASED
        for demand in ((1, 0), (1, 2), (1, 6)):
            able = [m.id for m in held.machines.values() if covers(m.free, demand)]
            assert number(held.first_with(demand)) == min(able, default=None)
        assert held.pool.openings == len(held.groups)
