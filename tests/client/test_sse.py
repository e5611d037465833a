"""Server-sent events, line by line."""

from hypothesis import given
from hypothesis import strategies as st

from tradewind.client.backend import Event
from tradewind.client.sse import parse

WORDS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20)


@given(st.lists(st.tuples(WORDS, WORDS, st.lists(WORDS, min_size=1, max_size=3))))
def test_what_is_written_is_read(events: list[tuple[str, str, list[str]]]) -> None:
    lines: list[str] = []
    for id, name, data in events:
        lines += [": beat", f"id: {id}", f"event: {name}", *(f"data: {each}" for each in data), "", ""]
    found = list(parse(lines))
    assert [(event.id, event.name) for event in found] == [(id, name) for id, name, _ in events]


def test_data_is_json_or_text_and_an_unfinished_event_is_left_out() -> None:
    lines = ['data: {"a":', "data: 1}", "", "data:plain", "", "retry: 10", "", "id: 5", "data: lost"]
    assert list(parse(lines)) == [Event("", "message", {"a": 1}), Event("", "message", "plain")]
