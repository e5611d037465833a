"""The made-up clusters beside what is published, and step functions."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.units import DAY, HOUR, MINUTE
from tradewind.sim.traces.clusters import BOTTOM, CLUSTERS, CORES, PUBLISHED, SIZES, STABILITY
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.statistics import figures, intervals, stable_for
from tradewind.sim.traces.steps import Steps, steps_from

EXTENTS = {"C1": (128, 5), "C2": (160, 12), "C3": (160, 14), "C4": (160, 20), "C5": (160, 25), "C6": (200, 30)}
QUIET = (200, 50)


@pytest.mark.parametrize("name", list(CLUSTERS))
def test_a_cluster_changes_as_published(name: str) -> None:
    """What is drawn from is exactly as published; what a few servers show in a few days comes near."""
    assert CLUSTERS[name].mean == pytest.approx(PUBLISHED[name].gap, rel=0.001)
    count, days = EXTENTS.get(name, QUIET)
    servers = make_servers(CLUSTERS[name], count, (days + (5 if name == "C1" else 32)) * DAY, "held back")
    ours, known = figures(servers, DAY, (days + 1) * DAY), PUBLISHED[name]
    assert ours.within[0] == pytest.approx(known.within_hour, rel=0.05)
    assert ours.gap == pytest.approx(known.gap, rel=0.25)  # intervals may last a month, so few servers vary
    assert ours.gap_p95 == pytest.approx(known.gap_p95, rel=0.2)
    assert SIZES[0] <= ours.size <= SIZES[1]
    if known.within_minute is not None and known.within_10_minutes is not None:
        assert ours.within[1] == pytest.approx(known.within_10_minutes, rel=0.1)
        assert ours.within[2] == pytest.approx(known.within_minute, rel=0.1)
        assert ours.stability == pytest.approx(STABILITY, rel=0.15)
        assert all(our == pytest.approx(their, rel=0.15) for our, their in zip(ours.cores, CORES, strict=True))
        assert all(our <= their for our, their in zip(ours.bottom, BOTTOM, strict=True))
        assert ours.per_hour[0] <= 1
        assert max(ours.evictions) < 1


@pytest.mark.parametrize("name", list(CLUSTERS))
def test_the_longer_a_server_has_been_stable_the_longer_it_stays_so(name: str) -> None:
    """In the distribution itself: chances to last another half hour, after a quarter of one, one and five."""
    gaps = _drawn(name)
    chances = [_lasting(gaps, after + HOUR // 2) / _lasting(gaps, after) for after in (HOUR // 4, HOUR, 5 * HOUR)]
    assert chances == sorted(chances)


def _drawn(name: str) -> list[int]:
    independent = replace(CLUSTERS[name], mood=0.0)
    return intervals(make_servers(independent, 40, 30 * DAY, 9), 0, 30 * DAY)


def _lasting(gaps: list[int], time: int) -> int:
    return sum(gap > time for gap in gaps)


def test_how_long_a_machine_must_have_been_stable() -> None:
    gaps = [MINUTE] * 50 + [HOUR] * 50
    assert stable_for(gaps, 30 * MINUTE, 0.9) == MINUTE
    assert stable_for(gaps, 2 * HOUR, 0.9) is None


def test_the_same_seed_gives_the_same_servers_however_many() -> None:
    few, many = (make_servers(CLUSTERS["C2"], count, DAY, 3) for count in (4, 9))
    assert few == many[:4]
    assert few != make_servers(CLUSTERS["C2"], 4, DAY, 4)


def test_free_cores_stay_within_the_server() -> None:
    for steps in make_servers(replace(CLUSTERS["C1"], rush=0.5), 20, 2 * DAY, 5):
        assert all(0 <= value <= 64 for value in steps.values)
        assert all(before < after for before, after in zip(steps.times, steps.times[1:], strict=False))
        assert all(before != after for before, after in zip(steps.values[1:], steps.values[2:], strict=False))


POINTS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), min_size=1).map(sorted)


@given(points=POINTS, begin=st.integers(0, 22), length=st.integers(1, 10))
def test_steps_are_what_a_plain_look_says(points: list[tuple[int, int]], begin: int, length: int) -> None:
    steps = steps_from(points)
    plain = [next((v for t, v in reversed(points) if t <= at), steps.values[0]) for at in range(40)]
    assert [steps.at(at) for at in range(40)] == plain
    assert steps.least(begin, begin + length) == min(plain[begin : begin + length])
    assert steps.mean(begin, begin + length) == pytest.approx(sum(plain[begin : begin + length]) / length)
    change = steps.next_change(begin)
    assert change == next((at for at in range(begin + 1, 40) if plain[at] != plain[at - 1]), None)
    assert sum(time for _, time, _ in steps.spells(begin, begin + length)) == length


def test_figures_of_a_server_that_is_known() -> None:
    steps = steps_from((i * 30 * MINUTE, 10 + 5 * (i % 2)) for i in range(100))
    ours = figures([steps, steps, steps], HOUR, 40 * HOUR)
    assert [ours.size, ours.gap, ours.gap_p95] == [5, 30, 0.5]
    assert list(ours.within) == [1, 0, 0]
    assert list(ours.per_hour) == [2, 2]
    assert ours.cores[0] == pytest.approx(12.5)
    assert list(ours.evictions) == [0, 0, 0]


def test_steps_need_something() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Steps([], [])
