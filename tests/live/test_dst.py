"""Deterministic simulation tests: whatever dies, whenever, nothing is lost and nothing is recorded twice."""

import os
from collections import Counter
from pathlib import Path

import pytest
from virtual import BUDGET, Near, live_through

from tradewind.core import lineup
from tradewind.core.work import DONE
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
    lined_up = Near.lined_up
    for seed in range(FIRST + chunk * CHUNK, FIRST + min(SEEDS, (chunk + 1) * CHUNK)):
        store = MemoryStore()
        try:
            live_through(seed, store, engine_class=Near)
            check(store)
        except BaseException as error:
            error.add_note(f"replay with FIRST_SEED={seed} SEEDS=1")
            raise
    assert CHUNK > SEEDS or Near.lined_up > lined_up, "some work was lined up"


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
