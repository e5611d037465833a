"""What every store promises about the cache, over all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from store_places import EVERYWHERE, Place, ended_server, place  # noqa: F401

from tradewind.live.store.port import Changes, Store
from tradewind.live.store.rows import CacheRow, DigestRow


@pytest.fixture(name="store", params=EVERYWHERE)
def _store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with place(request.param, tmp_path) as made:
        yield made.open()


def a_row(key: str, *, tenant: str = "ada", step: str = "reads/align", used: int = 5, uses: int = 0) -> CacheRow:
    parts = {"command": ["d1", "bwa {{ _1 }}"], "inputs.é": ["d2", '"quoted" \\ text']}
    results = {"bam": "/runs/1/out.bam", "n": [1, 2.5, None]}
    return CacheRow(tenant, key, step, parts, "1-0", "align[2]", results, [["/runs/1/out.bam", 3, 4]], 7, 5, used, uses)


def test_what_was_remembered_is_recalled_by_its_own_tenant(store: Store) -> None:
    rows = [a_row(f"k{at}") for at in range(150)]
    store.save(Changes(cache=[*rows, a_row("k0", tenant="bob", step="other/x")]))
    keys = [row.key for row in rows]
    assert store.recall("ada", [*keys, "unknown"]) == {row.key: row for row in rows}
    assert store.recall("bob", keys) == {"k0": a_row("k0", tenant="bob", step="other/x")}
    assert store.recall("eve", keys) == store.recall("ada", []) == {}


def test_a_row_saved_again_replaces_the_older_one(store: Store) -> None:
    store.save(Changes(cache=[a_row("k")]))
    store.save(Changes(cache=[a_row("k", used=9, uses=1)]))
    assert store.cached() == [a_row("k", used=9, uses=1)]


def test_lists_go_by_tenant_and_the_beginning_of_a_step_the_latest_first(store: Store) -> None:
    rows = [
        a_row("a", used=1),
        a_row("b", used=3, step="reads/sort"),
        a_row("c", used=2, step="Reads/align"),
        a_row("d", used=4, tenant="bob"),
    ]
    store.save(Changes(cache=rows))
    assert [row.key for row in store.cached()] == ["d", "b", "c", "a"]
    assert [row.key for row in store.cached(tenant="ada", step="reads/")] == ["b", "a"]
    assert [row.key for row in store.cached(limit=1)] == ["d"]
    assert store.cached(step="reads/%") == []


def test_pruning_forgets_what_nobody_used_since(store: Store) -> None:
    store.save(Changes(cache=[a_row("a", used=1), a_row("b", used=5), a_row("c", used=1, tenant="bob")]))
    assert store.prune_cache(tenant="ada", unused_since=5) == 1
    assert store.prune_cache(step="nothing") == 0
    assert [row.key for row in store.cached()] == ["b", "c"]
    assert store.prune_cache() == 2
    assert store.cached() == []


def test_notes_are_found_by_name(store: Store) -> None:
    assert store.note("a/b") is None
    store.save(Changes(notes={"a/b": {"x": [1, None]}, "c": "text"}))
    store.save(Changes(notes={"c": "other"}))
    assert (store.note("a/b"), store.note("c")) == ({"x": [1, None]}, "other")


def test_digests_are_kept_by_path(store: Store) -> None:
    assert store.digest("/a b") is None
    store.save(Changes(digests=[DigestRow("/a b", 5, 1 << 60, "x"), DigestRow("/c", 1, 2, "y")]))
    store.save(Changes(digests=[DigestRow("/a b", 6, 1 << 61, "z")]))
    assert store.digest("/a b") == DigestRow("/a b", 6, 1 << 61, "z")
