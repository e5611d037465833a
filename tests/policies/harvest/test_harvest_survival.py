"""The survival function against brute force and against distributions that are known."""

import random
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.model.units import DAY, HOUR, MINUTE
from tradewind.policies.harvest.bigrams import Bigrams
from tradewind.policies.harvest.sorting import Sorted
from tradewind.policies.harvest.survival import Survival

TIMES = st.lists(st.integers(1, 50), max_size=40)


def kaplan_meier(ended: list[int], censored: list[int], time: int) -> float:
    """By the book."""
    level = 1.0
    for each in sorted({end for end in ended if end <= time}):
        at_risk = sum(end >= each for end in ended) + sum(end >= each for end in censored)
        level *= 1 - ended.count(each) / at_risk
    return level


@settings(max_examples=150)
@given(ended=TIMES.filter(bool), censored=TIMES, waiting=TIMES, time=st.integers(0, 49))
def test_the_curve_is_the_book_s(ended: list[int], censored: list[int], waiting: list[int], time: int) -> None:
    survival = Survival(refresh=0)
    for each in ended:
        survival.observe(0, each)
    for each in censored:
        survival.observe(0, each, is_censored=True)
    survival.refresh(0, waiting)
    if time < max(ended):
        assert survival.beyond(time) == pytest.approx(kaplan_meier(ended, censored + waiting, time))
    else:
        assert 0 < survival.beyond(time + 1000) <= survival.beyond(time) <= 1


@settings(max_examples=80)
@given(ended=TIMES.filter(bool), elapsed=st.integers(0, 30), time=st.integers(1, 19))
def test_naive_counts_what_has_ended_and_nothing_else(ended: list[int], elapsed: int, time: int) -> None:
    survival = Survival(is_naive=True, refresh=0)
    for each in ended:
        survival.observe(0, each)
    survival.observe(0, 1000, is_censored=True)
    survival.refresh(0, [500] * 50)
    if elapsed + time >= max(ended):
        return
    alive = [end for end in ended if end > elapsed]
    soon = [end for end in alive if end <= elapsed + time]
    assert survival.within(elapsed, time) == pytest.approx(len(soon) / len(alive))
    if soon:
        assert survival.until(elapsed, time) == pytest.approx(sum(soon) / len(soon) - elapsed)


def test_the_exponential_has_no_memory() -> None:
    rng = random.Random(1)
    survival = Survival(refresh=0)
    for _ in range(20_000):
        survival.observe(0, round(rng.expovariate(1 / HOUR)))
    survival.refresh(0, ())
    for elapsed in (0, HOUR // 2, 2 * HOUR):
        assert survival.within(elapsed, HOUR // 2) == pytest.approx(1 - exp(-0.5), abs=0.03)
    assert survival.within(30 * HOUR, HOUR) == pytest.approx(1 - exp(-1), abs=0.1)  # beyond all that was seen


def test_pareto_the_longer_stable_the_more_stable() -> None:
    rng = random.Random(2)
    survival = Survival(refresh=0)
    for _ in range(20_000):
        survival.observe(0, round(rng.paretovariate(1.2) * MINUTE))
    survival.refresh(0, ())
    chances = [survival.within(elapsed * MINUTE, 30 * MINUTE) for elapsed in (1, 10, 60, 240)]
    assert chances == sorted(chances, reverse=True)
    assert chances[2] == pytest.approx(1 - (60 / 90) ** 1.2, abs=0.05)


def test_ignoring_who_still_waits_makes_everything_look_less_stable() -> None:
    censored, naive = Survival(refresh=0), Survival(is_naive=True, refresh=0)
    for survival in (censored, naive):
        for each in (1, 2, 3, 4):
            survival.observe(0, each * MINUTE)
        survival.refresh(0, [HOUR] * 4)
    assert censored.beyond(3 * MINUTE) > naive.beyond(3 * MINUTE)


def test_what_is_older_than_the_window_is_forgotten() -> None:
    survival = Survival(DAY, refresh=0)
    survival.observe(0, MINUTE)
    survival.observe(DAY - 1, HOUR)
    assert len(survival) == 2
    survival.observe(DAY, HOUR)
    assert len(survival) == 2
    survival.refresh(DAY, ())
    assert survival.beyond(2 * MINUTE) == 1


def test_nothing_known_is_not_nothing_possible() -> None:
    survival = Survival(prior=HOUR)
    assert survival.within(0, HOUR) == pytest.approx(1 - exp(-1))
    assert survival.within(100 * HOUR, HOUR) == pytest.approx(1 - exp(-1))
    assert 0 < survival.until(5 * HOUR, HOUR) < HOUR


def test_what_was_observed_survives_saving() -> None:
    one, other = Survival(refresh=0), Survival(refresh=0)
    for at in range(50):
        one.observe(at, (at * 37 % 11 + 1) * MINUTE, is_censored=at % 5 == 0)
    other.load(one.save())
    for survival in (one, other):
        survival.refresh(60, [MINUTE])
    assert [one.beyond(each * MINUTE) for each in range(15)] == [other.beyond(each * MINUTE) for each in range(15)]


@settings(max_examples=60)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=3_000))
def test_sorted_is_a_sorted_list(steps: list[tuple[bool, int]]) -> None:
    numbers = Sorted()
    plain: list[int] = []
    for is_removal, value in steps:
        if is_removal and value in plain:
            numbers.remove(value)
            plain.remove(value)
        else:
            numbers.add(value)
            plain.append(value)
    assert list(numbers) == sorted(plain)
    assert len(numbers) == len(plain)


def test_many_numbers_stay_sorted() -> None:
    rng = random.Random(3)
    values = [rng.randrange(10**6) for _ in range(5_000)]
    numbers = Sorted()
    for each in values:
        numbers.add(each)
    for each in values[::2]:
        numbers.remove(each)
    assert list(numbers) == sorted(values[1::2])


def test_directions_are_counted_by_what_came_before() -> None:
    bigrams = Bigrams(DAY)
    for at, grew, grows in ((0, True, False), (1, True, False), (2, True, True), (3, False, True)):
        bigrams.observe(at, grew=grew, grows=grows)
    assert bigrams.shrinks(True) == pytest.approx(3 / 5)
    assert bigrams.shrinks(False) == pytest.approx(1 / 3)
    bigrams.observe(DAY + 1, grew=False, grows=False)
    assert bigrams.shrinks(True) == pytest.approx(1 / 3)  # two of three are too old
    other = Bigrams(DAY)
    other.load(bigrams.save())
    assert other.shrinks(False) == bigrams.shrinks(False)
