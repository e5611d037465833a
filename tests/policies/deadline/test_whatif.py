"""Plans that are tried out: which, on which tracks, and that nothing is passed over that would fit or cost less."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from tradewind.core.machines import Kind
from tradewind.model.machine import Billing, BootLag, MachineType
from tradewind.model.units import HOUR, MINUTE
from tradewind.policies.deadline.demand import JOBS, WINDOW, Recent
from tradewind.policies.deadline.plans import cheapest_alone, subsets, timings
from tradewind.policies.deadline.row import BLOCK, SHORT, Row
from tradewind.policies.deadline.shape import Shape
from tradewind.policies.deadline.track import Track
from tradewind.policies.deadline.trial import NEW, Option, Trial
from tradewind.policies.deadline.whatif import Asked, first_cheapest

PRICES = (1.0, 4.0)
SLOT = (1,)
PAIR = Shape(((30 * MINUTE, 10 * MINUTE), (60 * MINUTE, 16 * MINUTE)), ((), (0,)))


def track(*, held: bool = True, slots: int = 1) -> Track:
    kind = Kind(0, MachineType("small", 1, billing=Billing(HOUR), boot=BootLag(6), slots=slots), ())
    found = Track(kind, 0)
    if held:
        found.machine = 1
        found.measure(found.opens)
    return found


def test_windows_are_made_for_all_types_and_for_fewer() -> None:
    assert subsets((1.0, 4.0, 2.0)) == ((0, 1, 2), (0, 2), (0,), (2,), (1,), (1, 2), (0, 1))
    roomy = timings(PAIR, PRICES, 3 * HOUR)
    assert roomy == ((30 * MINUTE, 60 * MINUTE), (10 * MINUTE, 16 * MINUTE))
    assert timings(PAIR, PRICES, HOUR) == ((30 * MINUTE, 16 * MINUTE), (10 * MINUTE, 16 * MINUTE)), "small is too slow"
    assert timings(PAIR, PRICES, 20 * MINUTE) == ()


def test_types_are_tried_alone_where_a_job_costs_least() -> None:
    many = Shape((tuple(range(6, 0, -1)),), ((),))
    assert cheapest_alone(many, (1.0,) * 6) == ((2,), (3,), (4,), (5,))


reservations = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=8)


@given(reservations, st.integers(0, 60), st.integers(1, 25), st.integers(0, 90), st.booleans(), st.integers(1, 2))
def test_a_track_without_gap_and_with_a_late_tail_has_no_room(
    asked: list[tuple[int, int]], ready: int, time: int, due: int, held: bool, slots: int
) -> None:
    found = track(held=held, slots=slots)
    for unit, (at, takes) in enumerate(asked):
        begin = found.fit(at, takes, SLOT) if held else found.fit_before(at, takes, SLOT)
        found.reserve(begin, takes, unit, SLOT)
    fits = found.fit(ready, time, SLOT) if held else found.fit_before(ready, time, SLOT)
    latest = due - time
    is_passed_over = found.tail > latest and found.gap + (0 if held else max(0, found.opens - ready)) < time
    assert not (is_passed_over and fits <= latest)


@given(
    st.lists(st.tuples(reservations, st.booleans(), st.integers(1, 2)), max_size=5),
    st.sampled_from((0, SHORT - 1, SHORT + BLOCK)),
    st.integers(0, 60),
    st.integers(1, 25),
    st.integers(0, 90),
    st.sampled_from((0.0, 0.5, 3.0)),
    st.sampled_from((inf, 4.0, 7.0)),
)
def test_the_search_finds_what_looking_at_every_track_finds(
    boards: list[tuple[list[tuple[int, int]], bool, int]],
    others: int,
    ready: int,
    time: int,
    latest: int,
    whole: float,
    limit: float,
) -> None:
    tracks = [track() for _ in range(others)]
    for each in tracks:
        each.reserve(6, 100, 0, SLOT)
    for asked, held, slots in boards:
        tracks.append(track(held=held, slots=slots))
        for unit, (at, takes) in enumerate(asked):
            begin = tracks[-1].fit(at, takes, SLOT) if held else tracks[-1].fit_before(at, takes, SLOT)
            tracks[-1].reserve(begin, takes, unit, SLOT)
    new, plain = 8, 2.0
    options = []
    for place, each in enumerate(tracks):
        begin = each.fit(ready, time, SLOT) if each.machine else each.fit_before(max(ready, new), time, SLOT)
        score = plain + whole * each.more_periods(begin, begin + time)
        if begin <= latest and score < limit:
            options.append((score, place, begin))
    row = Row(tracks[:others], new)
    list(row.roomy(time, latest))
    for each in tracks[others:]:
        row.add(each)
    for tried in (row, Row(tracks, new)):
        assert first_cheapest(tried, Asked(ready, time, latest, SLOT), new, plain, whole, limit) == min(
            options, default=None
        )


def test_what_is_known_of_a_step_holds_for_earlier_dues_as_long_as_it_is_in_time() -> None:
    begun = Trial()
    step = begun.learn((0, 1), 100, Option(1.0, 1, NEW, begin=50, end=70))
    assert begun.known((0, 1), 80) is step
    assert begun.known((1,), 70) is step
    assert begun.known((0,), 80) is None, "it was chosen on another type"
    assert begun.known((0, 1), 60) is None, "it would be late"
    assert begun.known((0, 1), 101) is None, "more may be chosen from"
    nothing = begun.learn((0,), 30, None)
    assert begun.known((0,), 20) is nothing


def places(row: Row, time: int, latest: int) -> list[int]:
    return [first + place for first, tracks in row.roomy(time, latest) for place in range(len(tracks))]


def test_of_very_many_tracks_blocks_without_room_are_passed_over_until_something_is_written() -> None:
    tracks = [track() for _ in range(40 * BLOCK + 1)]
    for each in tracks[: 30 * BLOCK]:
        each.reserve(6, 100, 1, SLOT)
    row = Row(tracks, 8)
    free = list(range(30 * BLOCK, 40 * BLOCK + 1))
    assert places(row, 10, 50) == free
    assert places(row, 10, 106) == list(range(len(tracks)))
    tried = tracks[BLOCK].reserve(120, 10, 2, SLOT)  # and so a gap of 14 before it
    row.changed(BLOCK)
    assert places(row, 14, 50) == [*range(BLOCK, 2 * BLOCK), *free]
    tracks[BLOCK].undo(tried)
    row.changed(BLOCK)
    assert places(row, 14, 50) == free
    for _ in range(BLOCK):
        row.add(track(held=False))
    assert places(row, 10, 50) == [*free, *range(len(tracks), len(tracks) + BLOCK)]
    for _ in range(BLOCK):
        row.remove_last()
    assert places(row, 10, 50) == free


def state(each: Track) -> tuple[object, ...]:
    scalars = (each.opens, each.acquire, each.paid_until, each.last, each.tail, each.gap)
    fits = [each.fit(at, time, SLOT) for at in range(0, 100, 3) for time in (0, 1, 4, 15)]
    return *scalars, list(each.reserved), fits


@given(reservations, reservations, st.booleans(), st.integers(1, 3))
def test_what_is_tried_out_on_a_track_can_be_undone(
    there: list[tuple[int, int]], tried: list[tuple[int, int]], held: bool, slots: int
) -> None:
    found = track(held=held, slots=slots)
    states, undone = [], []
    for unit, (at, takes) in enumerate((*there, *tried)):
        states.append(state(found))
        begin = found.fit(at, takes, SLOT) if held else found.fit_before(at, takes, SLOT)
        undone.append(found.reserve(begin, takes, unit, SLOT))
    while len(undone) > len(there):
        found.undo(undone.pop())
        assert state(found) == states.pop()


def test_of_a_thousand_machines_the_oldest_that_is_in_time_is_taken() -> None:
    tracks = [track() for _ in range(1000)]
    for age, each in enumerate(tracks):
        each.reserve(6, 1000 - age, 1, SLOT)  # the younger, the sooner free
    assert first_cheapest(Row(tracks, 8), Asked(0, 10, 500, SLOT), 8, 2.0, 0.0, inf) == (2.0, 506, 500)


def test_load_is_what_came_of_late_and_the_later_the_more_comes() -> None:
    recent = Recent(1)
    for job in range(JOBS):
        recent.add(job * MINUTE, (MINUTE,))
    assert recent.loads(JOBS * MINUTE) == [1.0]
    for job in range(JOBS):
        recent.add((JOBS + job) * MINUTE, (3 * MINUTE,))
    assert recent.loads(2 * JOBS * MINUTE)[0] > 2.9, "the first fifty no longer count"
    assert recent.loads(2 * JOBS * MINUTE + WINDOW) == [0.0]
