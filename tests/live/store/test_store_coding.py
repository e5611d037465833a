"""Values survive their way into a store and back."""

from hypothesis import example, given
from hypothesis import strategies as st

from tradewind.live.store.coding import clean, from_text, pack, to_text, unpack
from tradewind.live.store.rows import run_id

anything = st.text(st.characters(exclude_categories=()), max_size=20)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=8,
)


@given(json)
@example([float("inf"), 2**70])
def test_json_comes_back_as_it_was(value: object) -> None:
    assert from_text(to_text(value)) == _storable(value)


@given(st.lists(st.dictionaries(anything, json, max_size=2), max_size=2))
def test_records_come_back_as_they_were(records: list[dict[str, object]]) -> None:
    assert unpack(pack(records)) == _storable(records)


@given(anything)
def test_clean_text_is_unicode_without_zero_bytes(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert clean(cleaned) == cleaned


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.integers(0, 10**6))
def test_ids_sort_by_the_second_of_submission(one: int, other: int, number: int) -> None:
    first, second = sorted((one, other))
    assert run_id(first, number) <= run_id(second, number)


def test_ids_are_short_and_legible() -> None:
    assert run_id(1_763_190_000_000_000, 42) == "1mhg97g-42"


def _storable(value: object) -> object:
    """JSON has no infinite numbers: they become null."""
    match value:
        case float() if value in (float("inf"), float("-inf")):
            return None
        case list():
            return [_storable(item) for item in value]
        case dict():
            return {key: _storable(item) for key, item in value.items()}
    return value
