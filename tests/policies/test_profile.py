"""Resource profiles: equations 10 to 12 and 18 of the PFA paper, and inflation, on small numbers."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.policies.budget.profile import inflate, most_machines, scale_down, supply

MANY = [99, 99, 99]


def test_supply_spends_the_budget_in_proportion() -> None:
    assert supply(60, [1, 5], [0.5, 0.5], MANY[:2]) == [10, 10]
    assert supply(100, [1, 5], [0.75, 0.25], MANY[:2]) == [37, 12]  # 37.5 and 12.5: 97 of 100 are spent


def test_supply_respects_limits() -> None:
    assert supply(60, [1, 5], [0.5, 0.5], [4, 99]) == [4, 10]


def test_the_dearest_types_are_left_out_of_a_budget_too_small_for_one_of_each() -> None:
    assert supply(5, [1, 5], [0.5, 0.5], MANY[:2]) == [5, 0]
    assert supply(6, [1, 5], [0.5, 0.5], MANY[:2]) == [1, 1]
    assert supply(5, [3, 1, 2], [1 / 3] * 3, MANY) == [0, 1, 1]
    assert supply(0, [1, 5], [0.5, 0.5], MANY[:2]) == [0, 0]


def test_what_costs_nothing_is_taken_to_its_limit() -> None:
    assert supply(0, [0, 5], [0.5, 0.5], [7, 9]) == [7, 0]
    assert supply(10, [0, 5], [0.5, 0.5], [7, 9]) == [7, 2]


BUDGETS = st.integers(0, 10**9)
PRICES = st.lists(st.integers(1, 10**7), min_size=1, max_size=5)


@given(BUDGETS, PRICES)
def test_supply_never_costs_more_than_the_budget_nor_leaves_out_what_fits(budget: int, prices: list[int]) -> None:
    ratios = [1 / len(prices)] * len(prices)
    profile = supply(budget, prices, ratios, [10**6] * len(prices))
    assert sum(number * price for number, price in zip(profile, prices, strict=True)) <= budget
    assert any(profile) or min(prices) > budget


def test_scaling_down_keeps_the_proportion_and_rounds_up() -> None:
    assert scale_down([10, 10], 4) == [2, 2]
    assert scale_down([10, 10], 5) == [3, 3]
    assert scale_down([9, 3], 5) == [4, 2]  # 3.75 and 1.25
    assert scale_down([9, 3], 12) == [9, 3]
    assert scale_down([9, 3], 50) == [9, 3]
    assert scale_down([9, 0], 0) == [0, 0]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=4), st.integers(0, 100))
def test_scaling_down_never_grows_nor_falls_short(profile: list[int], demand: int) -> None:
    scaled = scale_down(profile, demand)
    assert all(new <= old for new, old in zip(scaled, profile, strict=True))
    assert sum(scaled) >= min(demand, sum(profile))
    assert sum(scaled) < demand + len(profile) or scaled == profile


def test_what_is_left_is_spent_on_all_but_the_dearest() -> None:
    assert inflate([10, 10], 23, 63, [1, 5], MANY[:2]) == [13, 10]
    assert inflate([10, 10], 22, 63, [1, 5], MANY[:2]) == [12, 10]
    assert inflate([0, 3], 4, 12, [5, 3], MANY[:2]) == [0, 4], "the dearest comes first in the list here"


def test_dear_machines_are_exchanged_for_cheap_ones() -> None:
    # Nothing is left of 60; one at 5 gives way to five at 1, as often as it takes.
    assert inflate([10, 10], 24, 60, [1, 5], MANY[:2]) == [15, 9]
    assert inflate([10, 10], 27, 60, [1, 5], MANY[:2]) == [19, 8]  # no more than asked for
    assert inflate([10, 10], 99, 60, [1, 5], MANY[:2]) == [60, 0]


def test_an_exchange_uses_what_is_left_as_well() -> None:
    assert inflate([0, 1], 2, 7, [4, 6], MANY[:2]) == [0, 1], "one for one gains nothing"
    assert inflate([0, 1], 2, 8, [4, 6], [99, 99]) == [2, 0]


def test_an_exchange_goes_to_the_next_cheaper_type() -> None:
    # 1, 2 and 4 with 7: the machine at 2 becomes two at 1, then that at 4 becomes two at 2.
    assert inflate([1, 1, 1], 5, 7, [1, 2, 4], MANY) == [3, 2, 0]


def test_limits_stop_additions_and_exchanges() -> None:
    assert inflate([2, 10], 20, 70, [1, 5], [4, 99]) == [4, 10]
    assert inflate([10, 10], 99, 60, [1, 5], [13, 99]) == [13, 9]


def test_free_machines_meet_any_demand() -> None:
    assert inflate([0, 2], 9, 10, [0, 5], [99, 99]) == [7, 2]
    assert inflate([5], 9, 10, [2], [99]) == [5], "a single type was given all the budget pays for"


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 12)), min_size=1, max_size=4),
    st.integers(0, 60),
    st.integers(0, 40),
)
def test_inflation_stays_within_budget_limits_and_demand(
    types: list[tuple[int, int]], budget: int, demand: int
) -> None:
    prices, limits = [price for price, _ in types], [limit for _, limit in types]
    profile = supply(budget, prices, [1 / len(types)] * len(types), limits)
    numbers = inflate(profile, demand, budget, prices, limits)
    assert sum(number * price for number, price in zip(numbers, prices, strict=True)) <= budget
    assert all(0 <= number <= limit for number, limit in zip(numbers, limits, strict=True))
    assert sum(profile) <= sum(numbers) <= max(demand, sum(profile))


@given(
    st.integers(0, 200),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9), st.floats(0.01, 1)), min_size=1, max_size=4),
    st.integers(0, 1000),
)
def test_a_demand_beyond_what_can_be_had_changes_nothing(
    budget: int, kinds: list[tuple[int, int, float]], more: int
) -> None:
    prices, limits = [price for price, _, _ in kinds], [limit for _, limit, _ in kinds]
    profile = supply(budget, prices, [ratio for _, _, ratio in kinds], limits)
    most = most_machines(budget, prices, limits)
    assert sum(profile) < most, "so that a demand as large is met by inflating"
    assert inflate(profile, most, budget, prices, limits) == inflate(profile, most + more, budget, prices, limits)
