"""Room on machines, against machines looked at one by one."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.vector import Vector, covers, minus
from tradewind.policies.parts.room import Room

vectors = st.tuples(st.integers(0, 4), st.integers(0, 8), st.integers(0, 3))
demands = st.tuples(st.just(1), st.integers(0, 5), st.integers(0, 2))


@given(st.lists(vectors, max_size=8), st.lists(st.tuples(demands, st.integers(0, 12)), max_size=5))
def test_units_get_room_as_if_they_were_put_on_the_fullest_machines_one_by_one(
    machines: list[Vector], asked: list[tuple[Vector, int]]
) -> None:
    room = Room()
    for free in machines:
        room.add(free)
    left = sorted(free for free in machines if free[0])
    for demand, most in asked:
        assert room.has(demand) == any(covers(free, demand) for free in left)
        taken = 0
        for place in range(len(left)):
            while taken < most and covers(left[place], demand):
                left[place] = minus(left[place], demand)
                taken += 1
        assert room.take(demand, most) == taken
        left = sorted(free for free in left if free[0])
    assert bool(room) == bool(left)
    assert all(room.remove(free) for free in left)
    assert not room
