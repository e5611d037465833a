import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.core.series import Curves
from tradewind.model.units import DAY, HOUR, MINUTE, SECOND
from tradewind.pictures.scale import BINS, MANY, Stairs, averages, held_and_busy, stairs, time_scale


@pytest.mark.parametrize(
    ("span", "name", "step"),
    [
        (SECOND, "seconds", 1),
        (MINUTE, "seconds", 10),
        (40 * MINUTE, "minutes", 5),
        (5 * HOUR, "hours", 1),
        (3 * DAY, "days", 1),
        (2 * DAY, "hours", 6),
        (400 * DAY, "days", 40),
    ],
)
def test_the_unit_of_time_suits_the_span(span: int, name: str, step: int) -> None:
    scale = time_scale(span)
    assert (scale.name, scale.step) == (name, step)


@given(st.integers(1, 10_000 * DAY))
def test_there_are_never_more_than_a_dozen_marks(span: int) -> None:
    scale = time_scale(span)
    assert scale.step >= 1
    assert scale(span) / scale.step <= 12


def test_a_curve_is_zero_before_its_first_step_and_ends_at_the_end() -> None:
    assert stairs([5, 8, 20], [2, 3, 9], 0, 10) == Stairs([0, 5, 8, 10], [0.0, 2, 3])


def test_a_curve_that_began_earlier_has_its_present_value() -> None:
    assert stairs([1, 2, 8], [7, 4, 5], 5, 10) == Stairs([5, 8, 10], [4, 5])


def test_an_empty_curve_is_flat() -> None:
    assert stairs([], [], 0, 10) == Stairs([0, 10], [0.0])


def test_averages_weigh_by_time() -> None:
    assert averages(Stairs([0, 2, 10], [5.0, 0.0]), [0, 4, 10]) == [2.5, 0.0]


@settings(max_examples=10, deadline=None)
@given(st.builds(random.Random, st.integers(0, 999)), st.integers(MANY + 1, 3 * MANY))
def test_thinning_keeps_the_area_under_a_curve(rng: random.Random, count: int) -> None:
    steps = [(rng.randint(1, 50), rng.randint(0, 9)) for _ in range(count)]
    edges = [0]
    for width, _ in steps:
        edges.append(edges[-1] + width)
    curve = Stairs(edges, [float(value) for _, value in steps])
    thin = curve.thinned()
    assert len(thin.values) == BINS
    assert _area(thin) == pytest.approx(_area(curve))


def test_few_steps_are_left_alone() -> None:
    curve = Stairs([0, 1, 2], [1.0, 2.0])
    assert curve.thinned() is curve


def test_tenants_machines_are_added_up() -> None:
    first = Curves([0, 4], [0, 0], [(1, 1), (0, 0)], [(1, 0), (0, 0)])
    second = Curves([2], [0], [(3, 0)], [(2, 0)])
    held, busy = held_and_busy([first, second], 6)
    assert held == Stairs([0, 2, 4, 6], [2, 5, 3])
    assert busy == Stairs([0, 2, 4, 6], [1, 3, 2])


def _area(curve: Stairs) -> float:
    return sum(value * (curve.edges[i + 1] - curve.edges[i]) for i, value in enumerate(curve.values))
