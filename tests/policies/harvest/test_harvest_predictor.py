"""Completion probabilities and expected completion times, against the equations solved the long way."""

import random
from math import exp
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tradewind.model.units import DAY, HOUR, MINUTE
from tradewind.policies.harvest.predictor import FARTHEST, LEAST, Predictor, rounded, unrounded
from tradewind.policies.protocol import Change, Machine


def machine(number: int = 0, changed: int = 0) -> Machine:
    return cast("Machine", SimpleNamespace(id=number, changed=changed, is_up=True))


def taught(seed: int = 0, **options: Any) -> Predictor:
    """A predictor that has watched machines whose intervals are of mixed lengths."""
    rng = random.Random(seed)
    predictor = Predictor(refresh=0, **options)
    for number in range(40):
        at, grew = 0, True
        while at < 20 * HOUR:
            since, at = at, at + round(rng.paretovariate(1.1) * 5 * MINUTE)
            grows = rng.random() < (0.3 if grew else 0.6)
            predictor.observe(Change(machine(number), at, since, grew, grows, 4, 0 if grows else 1))
            grew = grows
    predictor.refresh(20 * HOUR, [])
    return predictor


def test_equation_1() -> None:
    predictor = taught(form="first")
    for elapsed, length in ((0, HOUR), (30 * MINUTE, 10 * MINUTE), (3 * HOUR, 2 * HOUR)):
        alive = predictor.changes.beyond(elapsed + length) / predictor.changes.beyond(elapsed)
        for grew in (True, False):
            wanted = 1 - predictor.directions.shrinks(grew) * (1 - alive)
            assert predictor.completes(grew, elapsed, length) == pytest.approx(wanted)


def test_equation_3_knows_no_direction() -> None:
    predictor = taught(form="shrink")
    alive = predictor.shrinks.beyond(2 * HOUR) / predictor.shrinks.beyond(HOUR)
    assert predictor.completes(True, HOUR, HOUR) == predictor.completes(False, HOUR, HOUR) == pytest.approx(alive)


def test_shrink_times_count_from_every_change_since_the_last_shrink() -> None:
    predictor = Predictor(form="shrink", refresh=0)
    for at, since, grew, grows in ((10, 0, True, True), (30, 10, True, True), (100, 30, True, False)):
        predictor.observe(Change(machine(), at, since, grew, grows))
    assert sorted(lasted for _, lasted, _ in predictor.shrinks._seen) == [70, 90, 100]
    predictor.observe(Change(machine(), 130, 100, False, None))
    assert [(lasted, censored) for _, lasted, censored in predictor.shrinks._seen][-1] == (30, True)


def test_equation_2_in_closed_form_is_what_it_converges_to() -> None:
    predictor = taught(form="first")
    length, elapsed = HOUR, 20 * MINUTE
    p0, w0 = predictor._outlook(True, 0, length)
    restart = 0.0
    for _ in range(2_000):
        restart = p0 * length + (1 - p0) * (w0 + restart)
    p, w = predictor._outlook(True, elapsed, length)
    assert predictor.expect(True, elapsed, length).time == pytest.approx(p * length + (1 - p) * (w + restart))


def test_several_changes_are_more_dangerous_than_one() -> None:
    first, several = taught(form="first"), taught(form="several")
    for length in (HOUR, 4 * HOUR, 12 * HOUR):
        assert several.completes(True, 0, length) <= first.completes(True, 0, length)
    assert first.completes(True, 0, 100 * HOUR) >= 1 - first.directions.shrinks(True)
    assert several.completes(True, 0, 100 * HOUR) < 0.1


def test_a_hopeless_task_is_capped_and_said_to_be() -> None:
    predictor = Predictor(form="shrink", refresh=0)
    for number in range(200):
        predictor.observe(Change(machine(number), MINUTE, 0, True, False))
    predictor.refresh(MINUTE, [])
    score = predictor.expect(True, 0, 500 * HOUR)
    assert score.is_capped
    assert score.probability < LEAST
    assert score.time < 1e3 * 500 * HOUR


def test_kills_that_are_rare_make_machines_safer() -> None:
    paper, ours = taught(), taught(learns_kills=True)
    assert ours.expect(True, 0, HOUR).probability > paper.expect(True, 0, HOUR).probability
    assert ours.expect(True, 0, HOUR).time < paper.expect(True, 0, HOUR).time


def test_scores_of_rounded_times_are_near_the_exact_ones() -> None:
    predictor = taught()
    for minutes in (1, 7, 33, 150, 900):
        step = rounded(minutes * MINUTE)
        assert unrounded(step) <= minutes * MINUTE < unrounded(step + 1)
        exact = predictor.expect(True, minutes * MINUTE, HOUR).time
        assert predictor.score(True, step, rounded(HOUR)).time == pytest.approx(exact, rel=0.15)


def test_long_tasks_make_it_look_back_farther() -> None:
    predictor = Predictor(refresh=0)
    predictor.cover(HOUR)
    assert predictor.changes.window == DAY
    predictor.cover(20 * HOUR)
    for day in range(4):
        predictor.observe(Change(machine(0), day * DAY + HOUR, day * DAY, True, True))
    assert [len(predictor.changes), predictor.directions.shrinks(True)] == [3, 1 / 5]
    other = Predictor()
    other.load(predictor.save())
    assert other.shrinks.window == 60 * HOUR
    predictor.cover(10**4 * DAY)
    assert predictor.changes.window == FARTHEST


def test_what_was_learnt_survives_saving() -> None:
    one = taught(learns_kills=True)
    other = Predictor(refresh=0, learns_kills=True)
    saved = one.save()
    assert one.save() is saved
    other.load(saved)
    other.refresh(20 * HOUR, [])
    assert other.expect(False, HOUR, HOUR) == one.expect(False, HOUR, HOUR)
    one.observe(Change(machine(0), 21 * HOUR, 20 * HOUR, True, True))
    assert one.save() is not saved


def rarely_killed(killed: int) -> Predictor:
    """One that has seen shrinks at random, of which so many of 100 tasks on the machine were ended each time."""
    rng = random.Random(5)
    predictor = Predictor(refresh=0, form="shrink", learns_kills=True)
    at = 0
    for _ in range(3_000):
        since, at = at, at + 1 + round(rng.expovariate(1 / HOUR) / 200)
        predictor.observe(Change(machine(at), at, at - 200 * (at - since), True, False, 100, killed))
    predictor.refresh(at, [])
    return predictor


@pytest.mark.parametrize("killed", [5, 20, 50, 100])
@pytest.mark.parametrize("hours", [0.5, 2, 8])
def test_every_shrink_counts_where_each_ends_a_share(killed: int, hours: float) -> None:
    """Shrinks that come at random once an hour, of which a share is deadly: exponential, too."""
    found = rarely_killed(killed).expect(grew=False, elapsed=HOUR, length=round(hours * HOUR))
    assert found.probability == pytest.approx(exp(-hours * killed / 100), abs=0.06)


def test_a_long_task_fears_restless_machines_even_if_few_shrinks_are_deadly() -> None:
    predictor = Predictor(refresh=0, form="shrink", learns_kills=True)
    rng = random.Random(6)
    for number in range(400):
        lasted = round(rng.paretovariate(0.6) * 5 * MINUTE)
        predictor.observe(Change(machine(number), 20 * HOUR, 20 * HOUR - lasted, True, False, 10, 1))
    predictor.refresh(20 * HOUR, [])
    stable, fresh = (predictor.expect(grew=False, elapsed=elapsed, length=16 * HOUR) for elapsed in (40 * HOUR, 0))
    assert stable.probability > fresh.probability
    assert stable.time < fresh.time
