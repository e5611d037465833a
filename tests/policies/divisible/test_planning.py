"""Slots that jobs must have now, so that all can end in time."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.experiments.tascaas.feasible import _Network
from tradewind.policies.divisible.planning import Claim, least_now


def flow(claims: Sequence[Claim], slots: int) -> float:
    """The most work that can be done in time."""
    stretches = list(pairwise([0.0, *sorted({claim.left for claim in claims})]))
    source = len(claims) + len(stretches)
    network = _Network(source + 2)
    for place, (begin, end) in enumerate(stretches, len(claims)):
        network.add(place, source + 1, slots * (end - begin))
        for number, claim in enumerate(claims):
            if end <= claim.left:
                network.add(number, place, claim.most * (end - begin))
    for number, claim in enumerate(claims):
        network.add(source, number, claim.work)
    return network.flow(source, source + 1)


CLAIMS = st.lists(st.builds(Claim, st.integers(1, 60), st.integers(1, 12), st.integers(1, 4)), min_size=1, max_size=5)


@settings(max_examples=300)
@given(CLAIMS, st.integers(1, 6))
def test_it_is_enough_whenever_all_can_end_in_time_and_as_little_as_can_be(claims: list[Claim], slots: int) -> None:
    total = sum(claim.work for claim in claims)
    needs = least_now(claims, slots)
    is_enough = sum(needs) <= slots + 1e-6
    fits = all(need <= claim.most + 1e-6 for need, claim in zip(needs, claims, strict=True))
    assert (is_enough and fits) == (flow(claims, slots) >= total - 0.02)
    first = min(claim.left for claim in claims)
    later = [claim._replace(left=claim.left - first) for claim in claims if claim.left > first]
    if is_enough and fits:
        assert sum(needs) * first == pytest.approx(total - (flow(later, slots) if later else 0), abs=0.05)


def test_one_that_may_have_few_slots_cannot_wait_for_one_that_is_due_earlier() -> None:
    wide, narrow = Claim(2, 2, 2), Claim(3, 3, 1)
    assert least_now([wide, narrow], 2) == pytest.approx([1, 1])


def test_one_that_can_wait_needs_nothing_until_the_first_is_due() -> None:
    """On four slots the second one can do all of its 8 between 5 and 10; one of 24 has to begin with 4 of it."""
    first = Claim(10, 5, 4)
    assert least_now([first, Claim(8, 10, 4)], 4) == pytest.approx([2, 0])
    assert least_now([first, Claim(24, 10, 4)], 4) == pytest.approx([2, 0.8])


def test_nobody_claims_anything() -> None:
    assert least_now([], 4) == []
