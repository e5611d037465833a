"""Deterministic simulation tests: whatever dies, whenever, nothing is lost and nothing is recorded twice."""

import os
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from virtual import BUDGET, Club, Lasting, Near, Shaky, live_through

from tradewind.core import lineup
from tradewind.core.work import CANCELLED, DONE
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Store
from tradewind.model.units import SECOND

SEEDS = int(os.environ.get("SEEDS", "200"))
FIRST = int(os.environ.get("FIRST_SEED", "0"))
CHUNK = 20


def check(store: Store) -> None:
    """What must be true of a store after any story."""
    for head in store.runs(limit=1000):
        assert head.status == "done", f"run {head.id} has {head.status}"
        detail = store.run(head.id)
        assert detail is not None
        assert all(unit.state == DONE for unit in detail.units)
        done = Counter(attempt.unit for attempt in detail.attempts if attempt.outcome == "done")
        assert done == Counter(unit.number for unit in detail.units), "each unit is recorded done exactly once"
        attempts = Counter((attempt.unit, attempt.attempt) for attempt in detail.attempts)
        assert all(count == 1 for count in attempts.values())
        for attempt in detail.attempts:
            assert attempt.attempt >= 1
    saved = store.load(charges_since=0)
    assert not saved.machines, "no machine is leaked"
    charges = sorted((charge.at, charge.amount) for charge in saved.charges if not charge.refund)
    for index, (at, _) in enumerate(charges):
        window = sum(amount for when, amount in charges[: index + 1] if when > at - 30 * SECOND)
        assert window <= BUDGET, "no stretch of time costs more than the budget"


@pytest.mark.parametrize("chunk", range(-(-SEEDS // CHUNK)))
def test_every_story_ends_well(chunk: int) -> None:
    for seed in range(FIRST + chunk * CHUNK, FIRST + min(SEEDS, (chunk + 1) * CHUNK)):
        store = MemoryStore()
        try:
            live_through(seed, store)
            check(store)
        except BaseException as error:
            error.add_note(f"replay with FIRST_SEED={seed} SEEDS=1")
            raise


@pytest.mark.parametrize("chunk", range(-(-SEEDS // CHUNK)))
def test_every_story_ends_well_where_nothing_outlives_us(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineup, "PROOF", 2)
    for seed in range(FIRST + chunk * CHUNK, FIRST + min(SEEDS, (chunk + 1) * CHUNK)):
        store = MemoryStore()
        try:
            live_through(seed, store, engine_class=Near)
            check(store)
        except BaseException as error:
            error.add_note(f"replay with FIRST_SEED={seed} SEEDS=1")
            raise


@pytest.mark.parametrize("chunk", range(-(-SEEDS // CHUNK)))
def test_every_story_ends_well_where_work_outlives_us(chunk: int) -> None:
    for seed in range(FIRST + chunk * CHUNK, FIRST + min(SEEDS, (chunk + 1) * CHUNK)):
        store = MemoryStore()
        try:
            live_through(seed, store, engine_class=Lasting)
            check(store)
        except BaseException as error:
            error.add_note(f"replay with FIRST_SEED={seed} SEEDS=1")
            raise


@pytest.mark.parametrize("chunk", range(-(-SEEDS // CHUNK)))
def test_every_story_ends_well_where_each_life_has_another_policy_and_other_machines(chunk: int) -> None:
    for seed in range(FIRST + chunk * CHUNK, FIRST + min(SEEDS, (chunk + 1) * CHUNK)):
        store = MemoryStore()
        try:
            live_through(seed, store, engine_class=Lasting, is_restless=True)
            check(store)
        except BaseException as error:
            error.add_note(f"replay with FIRST_SEED={seed} SEEDS=1")
            raise


def check_elastic(store: Store) -> None:
    """Every run is done, and every iteration was delivered exactly once."""
    for head in store.runs(limit=1000):
        assert head.status == "done", f"run {head.id} has {head.status}"
        detail = store.run(head.id)
        assert detail is not None
        for unit in detail.units:
            assert unit.state in ((DONE, CANCELLED) if "#" in unit.chain else (DONE,)), unit
            if division := (unit.progress or {}).get("division"):
                rows = store.deliveries(head.number, unit.number, limit=10**6)
                ranges = sorted((begin, end) for row in rows for begin, end in row.ranges)
                assert ranges[0][0] == 0
                assert all(one[1] == other[0] for one, other in pairwise(ranges)), "nothing is missing or twice"
                assert ranges[-1][1] == division["ledger"][0]
                assert all(row.result == f'{{"inline": {next(map(list, row.ranges))}}}' for row in rows)
        attempts = Counter((attempt.unit, attempt.attempt) for attempt in detail.attempts)
        assert all(count == 1 for count in attempts.values())
    assert not store.load(charges_since=0).machines, "no machine is leaked"


@pytest.mark.parametrize("engine", [Shaky, Near, Lasting, Club])
@pytest.mark.parametrize("chunk", range(-(-SEEDS // CHUNK)))
def test_no_iteration_of_an_elastic_step_is_lost_or_counted_twice(chunk: int, engine: type[Shaky]) -> None:
    for seed in range(FIRST + chunk * CHUNK, FIRST + min(SEEDS, (chunk + 1) * CHUNK)):
        store = MemoryStore()
        try:
            live_through(seed, store, engine_class=engine, is_elastic=True)
            check_elastic(store)
        except BaseException as error:
            error.add_note(f"replay with FIRST_SEED={seed} SEEDS=1")
            raise


@pytest.mark.parametrize("chunk", range(-(-SEEDS // CHUNK)))
def test_every_story_ends_well_where_machines_join_and_leave(chunk: int) -> None:
    for seed in range(FIRST + chunk * CHUNK, FIRST + min(SEEDS, (chunk + 1) * CHUNK)):
        store = MemoryStore()
        try:
            live_through(seed, store, engine_class=Club)
            check(store)
        except BaseException as error:
            error.add_note(f"replay with FIRST_SEED={seed} SEEDS=1")
            raise


def test_stories_do_contain_shares_that_report_fall_silent_and_are_adopted() -> None:
    worlds = [live_through(seed, MemoryStore(), engine_class=Lasting, is_elastic=True) for seed in range(2 * CHUNK)]
    assert sum(world.reports for world in worlds) > 10 * len(worlds)
    assert sum(world.silences for world in worlds) > CHUNK
    assert sum(world.crashes for world in worlds) > CHUNK


def done_attempts(store: Store) -> Iterator[tuple[int, int]]:
    """Units and attempts that are recorded as done."""
    for head in store.runs(limit=1000):
        detail = store.run(head.id)
        assert detail is not None
        yield from ((each.unit, each.attempt) for each in detail.attempts if each.outcome == "done")


@pytest.mark.parametrize("seed", [3, 7, 11])
def test_a_real_database_tells_the_same_story(seed: int, tmp_path: Path) -> None:
    memory = MemoryStore()
    told = live_through(seed, memory)
    store = open_store(tmp_path / "store.db", durability="relaxed")
    assert live_through(seed, store) == told
    check(store)
    assert [head[:9] for head in store.runs(limit=1000)] == [head[:9] for head in memory.runs(limit=1000)]
    store.close()


def test_stories_do_contain_crashes() -> None:
    assert sum(live_through(seed, MemoryStore()).crashes for seed in range(20)) > 20


def test_stories_do_contain_work_that_is_lined_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the whole: any few stories may have none."""
    monkeypatch.setattr(lineup, "PROOF", 2)
    before = Near.lined_up
    for seed in range(2 * CHUNK):
        live_through(seed, MemoryStore(), engine_class=Near)
    assert Near.lined_up > before + CHUNK


def test_stories_do_contain_work_on_machines_that_joined_and_outlived_a_crash() -> None:
    on_guests = adopted = 0
    for seed in range(CHUNK):
        store = MemoryStore()
        told = live_through(seed, store, engine_class=Club)
        guests = {number for number, row in store._machines.items() if row[-1] is not None}
        for head in store.runs(limit=1000):
            detail = store.run(head.id)
            assert detail is not None
            done = [each for each in detail.attempts if each.outcome == "done" and each.machine in guests]
            on_guests += len(done)
            adopted += len({(each.unit, each.attempt) for each in done} & told.adopted)
    assert on_guests > CHUNK
    assert adopted > 0


def test_stories_do_contain_attempts_that_are_adopted_and_whose_ends_are_recorded() -> None:
    recorded = 0
    for seed in range(2 * CHUNK):
        store = MemoryStore()
        recorded += len(live_through(seed, store, engine_class=Lasting).adopted & set(done_attempts(store)))
    assert recorded > CHUNK
