"""What the store in memory does beyond the contract, to find defects of whoever uses it."""

import pytest
from store_samples import a_run, done, units_of

from tradewind.live.store.errors import StoreUnavailableError, UnknownRowError
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.open import open_store
from tradewind.live.store.port import Changes


def test_a_batch_with_one_thing_twice_is_a_defect() -> None:
    store = MemoryStore()
    (unit,) = units_of(0, 0, 1)
    with pytest.raises(UnknownRowError, match="one row twice"):
        store.save(Changes(new_runs=[a_run(0), a_run(0)]))
    with pytest.raises(UnknownRowError, match="one unit twice"):
        store.save(Changes(new_runs=[a_run(0)], new_units=[unit], units=[done(unit), done(unit)]))
    assert store.load().runs == []


def test_an_outage_can_be_played() -> None:
    store = MemoryStore()
    store.outage = "the disk is full"
    with pytest.raises(StoreUnavailableError, match="the disk is full"):
        store.save(Changes(notes={"a": 1}))
    store.outage = ""
    store.save(Changes(notes={"a": 1}))
    assert store.load().notes == {"a": 1}
    assert store.saves == 1


def test_it_is_opened_by_name() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)
