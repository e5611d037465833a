"""Bundling and the sequences of siblings, by hand."""

from tradewind.policies.deadline.bundle import bundled, bundles_of, preferred, siblings
from tradewind.policies.deadline.shape import NEVER, Shape

CHEAP, FAST = 1.0, 4.0
PRICES = (CHEAP, FAST)
LIKES_CHEAP = (30, 10)
"""30 on the cheap type cost less than 10 at four times the price."""
LIKES_FAST = (50, 10)


def test_a_task_prefers_the_type_where_time_times_price_is_least() -> None:
    assert preferred(LIKES_CHEAP, PRICES) == 0
    assert preferred(LIKES_FAST, PRICES) == 1
    assert preferred((40, 10), PRICES) == 1, "of equals the faster"
    assert preferred((NEVER, 10), PRICES) == 1


def test_neighbours_that_prefer_the_same_type_become_one() -> None:
    shape = Shape((LIKES_FAST, LIKES_FAST, LIKES_CHEAP, LIKES_CHEAP), ((), (0,), (1,), (2,)))
    bundles = bundles_of(shape, PRICES)
    assert bundles == ((0, 1), (2, 3))
    whole = bundled(shape, bundles)
    assert whole.times == ((100, 20), (60, 20))
    assert whole.parents == ((), (0,))


def test_only_one_to_one_dependencies_are_bundled() -> None:
    fan = Shape((LIKES_FAST,) * 4, ((), (0,), (0,), (1, 2)))
    assert bundles_of(fan, PRICES) == ((0,), (1,), (2,), (3,))


def test_an_opened_bundle_stays_open() -> None:
    chain = Shape((LIKES_FAST,) * 3, ((), (0,), (1,)))
    assert bundles_of(chain, PRICES) == ((0, 1, 2),)
    assert bundles_of(chain, PRICES, opened={1}) == ((0,), (1,), (2,))


def test_siblings_share_parents_children_and_type() -> None:
    shape = Shape((LIKES_FAST,) * 6, ((), (0,), (0,), (0,), (1, 2, 3), (4,)))
    assert siblings(shape, [1, 1, 1, 0, 1, 1]) == [[1, 2]]
    assert siblings(shape, [1] * 6) == [[1, 2, 3]]


def test_a_time_that_is_never_stays_so_in_a_bundle() -> None:
    shape = Shape(((NEVER, 10), (50, 10)), ((), (0,)))
    assert bundled(shape, ((0, 1),)).times == ((NEVER, 20),)
