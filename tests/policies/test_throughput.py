"""Throughput history: equations 5 to 9 and 13 to 17 of the PFA paper on small numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.units import MINUTE
from tradewind.policies.budget.throughput import (
    History,
    Outlook,
    close_interval,
    equal_share,
    exponential_average,
    moving_average,
)

HALF = (0.5, 0.5)


def test_throughput_is_tasks_completed_per_machine_held_on_average() -> None:
    history = History(2)
    assert close_interval(history, 0, [(0, 0), (0, 0)]) == (0.0, 0.0)
    # In the first minute two machines of the first type complete 6 tasks; one of the second, held half the time, 1.
    assert close_interval(history, MINUTE, [(6, 2 * MINUTE), (1, MINUTE // 2)]) == (3.0, 2.0)
    # In the second nothing changes on the first type, and the second is no longer held.
    assert close_interval(history, 2 * MINUTE, [(6, 4 * MINUTE), (1, MINUTE // 2)]) == (0.0, 0.0)
    assert close_interval(history, 3 * MINUTE, [(7, 5 * MINUTE), (3, 3 * MINUTE // 2)]) == (1.0, 2.0)


def test_the_first_call_and_one_in_the_same_instant_know_nothing() -> None:
    history = History(1)
    assert close_interval(history, 5, [(3, 10)]) == (0.0,)
    assert close_interval(history, 5, [(4, 10)]) == (0.0,)


def test_the_moving_average_takes_the_mean_of_the_ratios() -> None:
    history = History(2)
    assert moving_average(history, (1.0, 3.0), 1) == Outlook((0.25, 0.75), 2, 2.0)
    # Ratios 1/4 and 3/4, then 1/2 and 1/2; throughputs 1, 3, 2, 2.
    assert moving_average(history, (2.0, 2.0), 1) == Outlook((0.375, 0.625), 2, 2.0)
    # The first interval is forgotten: 1/2 and 1/2, then 4/5 and 1/5.
    outlook = moving_average(history, (4.0, 1.0), 1)
    assert outlook.ratios == pytest.approx((0.65, 0.35))
    assert outlook.throughput == 9 / 4
    assert outlook.depth == 3


def test_the_moving_average_leaves_out_intervals_in_which_nothing_was_completed() -> None:
    history = History(2)
    moving_average(history, (1.0, 3.0), 2)
    assert moving_average(history, (0.0, 0.0), 2) == Outlook((0.25, 0.75), 2, 2.0)
    moving_average(history, (0.0, 0.0), 2)
    assert moving_average(history, (0.0, 0.0), 2) == Outlook(HALF, None, 0.0), "nothing fruitful is in sight any more"


def test_all_types_get_an_equal_share_until_each_has_been_tried() -> None:
    history = History(2)
    assert moving_average(history, (4.0, 0.0), 3).ratios == HALF
    assert moving_average(history, (0.0, 2.0), 3).ratios == HALF  # now each has: 1 and 0, then 0 and 1
    outlook = moving_average(history, (3.0, 1.0), 3)
    assert outlook.ratios == pytest.approx((1.75 / 3, 1.25 / 3))
    assert outlook.throughput == pytest.approx((4 + 2 + 3 + 1) / 6)


def test_looking_back_no_interval_takes_the_last_one_alone() -> None:
    history = History(2)
    moving_average(history, (1.0, 3.0), 0)
    assert moving_average(history, (3.0, 1.0), 0) == Outlook((0.75, 0.25), 2, 2.0)
    assert len(history.throughputs) == 1


def test_the_exponential_average_starts_from_equal_shares() -> None:
    history = History(2)
    outlook = exponential_average(history, (1.0, 3.0), 0.5)
    assert outlook == Outlook((0.375, 0.625), 2, 2.0)
    outlook = exponential_average(history, (3.0, 1.0), 0.5)
    assert outlook.ratios == pytest.approx((0.5625, 0.4375))


def test_the_exponential_average_falls_back_to_equal_shares_where_a_type_completed_nothing() -> None:
    history = History(2)
    exponential_average(history, (1.0, 3.0), 0.5)
    assert exponential_average(history, (2.0, 0.0), 0.5) == Outlook(HALF, 2, 1.0)
    assert exponential_average(history, (1.0, 3.0), 0.5).ratios == (0.375, 0.625)


def test_depth_is_smoothed_from_its_first_finite_value_on() -> None:
    history = History(2)
    assert exponential_average(history, (0.0, 0.0), 0.5) == Outlook(HALF, None, 0.0)
    assert exponential_average(history, (5.0, 4.0), 0.5).depth == 5  # 4.5, taken as it is and rounded up
    assert exponential_average(history, (1.0, 1.0), 0.5).depth == 3  # half of 5 and half of 1
    assert exponential_average(history, (0.0, 0.0), 0.5).depth is None
    assert exponential_average(history, (0.5, 0.5), 0.5).depth == 1  # never averaged with no limit


def test_without_smoothing_the_last_interval_decides() -> None:
    history = History(2)
    exponential_average(history, (1.0, 3.0), 0.0)
    assert exponential_average(history, (3.0, 1.0), 0.0) == Outlook((0.75, 0.25), 2, 2.0)


FIGURES = st.lists(st.tuples(*[st.integers(0, 20).map(float)] * 3), min_size=1, max_size=12)


@given(FIGURES, st.integers(0, 5), st.sampled_from([0.0, 0.3, 0.9]))
def test_ratios_always_add_up_to_one(rows: list[tuple[float, ...]], past: int, alpha: float) -> None:
    averaged, smoothed = History(3), History(3)
    for row in rows:
        for outlook in (moving_average(averaged, row, past), exponential_average(smoothed, row, alpha)):
            assert sum(outlook.ratios) == pytest.approx(1)
            assert all(ratio > 0 for ratio in outlook.ratios)
            assert outlook.depth is None or outlook.depth >= 1
            assert (outlook.depth is None) == (outlook.throughput == 0)


def test_equal_shares() -> None:
    assert equal_share(4) == (0.25,) * 4
