"""Deterministic simulation tests with the cache: whatever dies, whenever, each chain is done once, run or recalled."""

from collections import Counter

import pytest
from virtual import live_through

from tradewind.core.work import DONE
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.port import Store

CHUNK = 20


def outcomes(store: Store) -> Counter[str]:
    """How attempts ended, after a look at whether all is as it must be."""
    found: Counter[str] = Counter()
    for head in store.runs(limit=1000):
        assert head.status == "done", f"run {head.id} has {head.status}"
        detail = store.run(head.id)
        assert detail is not None
        assert all(unit.state == DONE for unit in detail.units)
        assert len({unit.chain for unit in detail.units}) == len(detail.units)
        ends = Counter(attempt.unit for attempt in detail.attempts if attempt.outcome in ("done", "cached"))
        assert ends == Counter(unit.number for unit in detail.units), "each unit has ended well exactly once"
        for attempt in detail.attempts:
            assert (attempt.machine < 0) == (attempt.outcome == "cached")
        found += Counter(attempt.outcome for attempt in detail.attempts)
    assert not store.load().machines
    return found


@pytest.mark.parametrize("chunk", range(3))
def test_every_story_ends_well_with_the_cache(chunk: int) -> None:
    together: Counter[str] = Counter()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        store = MemoryStore()
        try:
            live_through(seed, store, is_cached=True)
            together += outcomes(store)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
    assert together["cached"] > 5
    assert together["done"] > 20


def test_what_is_taken_from_the_cache_is_what_would_have_come() -> None:
    for seed in range(10):
        plain, cached = MemoryStore(), MemoryStore()
        live_through(seed, plain)
        live_through(seed, cached, is_cached=True)
        for one, other in zip(plain.runs(limit=1000), cached.runs(limit=1000), strict=True):
            assert _results(plain, one.id) == _results(cached, other.id)


def _results(store: Store, run: str) -> dict[str, object]:
    detail = store.run(run)
    assert detail is not None
    return {unit.chain: unit.results for unit in detail.units}
