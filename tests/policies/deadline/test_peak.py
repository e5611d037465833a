"""The peak of a load that changes is that of the load vector, whatever came and went."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.policies.deadline.load import LoadVector
from tradewind.policies.deadline.peak import Peak

UNTIL = 60
work = st.tuples(st.integers(0, 80), st.integers(0, 40), st.sampled_from((0.25, 0.5, 1.0)))


@given(st.lists(work, max_size=60), st.lists(work, max_size=60), st.integers(0, 12), st.integers(1, 2))
def test_work_is_taken_exactly_where_the_load_vector_has_room(
    before: list[tuple[int, int, float]], more: list[tuple[int, int, float]], machines: int, slots: int
) -> None:
    load, plain = LoadVector(), LoadVector()
    for begin, length, density in before:
        load.add(begin, begin + length, density)
        plain.add(begin, begin + length, density)
    peak = Peak(load, machines, slots, 0, UNTIL)
    for begin, length, density in more:
        was_short = plain.machines(0, UNTIL, slots) > machines
        plain.add(begin, begin + length, density)
        fits = not was_short and plain.machines(0, UNTIL, slots) <= machines
        if not fits:
            plain.remove(begin, begin + length, density)
        assert peak.is_short() == was_short
        assert peak.takes(begin, begin + length, density) == fits
    for begin, length, density in before:
        peak.remove(begin, begin + length, density)
        plain.remove(begin, begin + length, density)
        assert peak.is_short() == (plain.machines(0, UNTIL, slots) > machines)
    assert {at: by for at, by in load.changes.items() if by} == {at: by for at, by in plain.changes.items() if by}
