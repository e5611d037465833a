"""Profiles and gaps, against a count of what is free at every instant."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.vector import Vector
from tradewind.policies.deadline.gaps import Gaps
from tradewind.policies.deadline.profile import Profile
from tradewind.policies.deadline.shape import NEVER

CAPACITY = (4, 8, 2)
demands = st.tuples(st.just(1), st.integers(0, 8), st.integers(0, 2))
asked = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), demands, st.booleans()), max_size=20)


class Instants:
    """What is free at each instant, one by one."""

    def __init__(self, capacity: Vector) -> None:
        self.free = [list(capacity) for _ in range(500)]

    def fit(self, begin: int, time: int, demand: Vector) -> int:
        while not all(
            have >= want for at in range(begin, begin + time) for have, want in zip(self.free[at], demand, strict=True)
        ):
            begin += 1
        return begin

    def take(self, begin: int, end: int, demand: Vector) -> None:
        for at in range(begin, end):
            self.free[at] = [have - want for have, want in zip(self.free[at], demand, strict=True)]


@given(asked, st.integers(0, 60))
def test_a_demand_begins_at_the_first_instant_from_which_all_of_it_is_free_for_long_enough(
    units: list[tuple[int, int, Vector, bool]], latest: int
) -> None:
    profile, instants = Profile(CAPACITY), Instants(CAPACITY)
    for ready, time, demand, is_taken in units:
        right = instants.fit(ready, time, demand)
        bounded = profile.fit(ready, time, demand, latest)
        assert bounded == right if right <= latest else bounded > latest
        assert profile.fit(ready, time, demand) == right
        if is_taken:
            profile.take(right, right + time, demand)
            instants.take(right, right + time, demand)


def test_a_demand_beyond_the_capacity_never_fits() -> None:
    assert Profile((4, 8)).fit(0, 1, (1, 9)) == NEVER


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.booleans()), max_size=20), st.integers(0, 60))
def test_a_gap_is_the_first_that_is_long_enough(units: list[tuple[int, int, bool]], latest: int) -> None:
    gaps, instants = Gaps(), Instants((1,))
    busy: list[tuple[int, int]] = []
    for ready, time, is_taken in units:
        right = instants.fit(ready, time, (1,))
        bounded = gaps.fit(ready, time, latest)
        assert bounded == right if right <= latest else bounded > latest
        assert gaps.fit(ready, time) == right == Gaps(sorted(busy)).fit(ready, time)
        if is_taken:
            gaps.take(right, right + time)
            busy.append((right, right + time))
            instants.take(right, right + time, (1,))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=12), st.integers(0, 12), st.integers(-3, 3))
def test_gaps_can_be_found_again_from_what_has_changed_at_the_front(
    tasks: list[tuple[int, int]], count: int, shift: int
) -> None:
    busy: list[tuple[int, int]] = []
    for pause, time in tasks:
        begin = (busy[-1][1] if busy else 10) + pause
        busy.append((begin, begin + time))
    gaps = Gaps(busy)
    following = busy[count] if count < len(busy) else None
    limit = following[0] if following is not None else 1_000
    first = [(begin + shift, end + shift) for begin, end in busy[:count] if end + shift <= limit]
    gaps.replace_first(first, following)
    fresh = Gaps([*first, *busy[count:]])
    assert [gaps.fit(at, time) for at in range(80) for time in (1, 3, 6)] == [
        fresh.fit(at, time) for at in range(80) for time in (1, 3, 6)
    ]
