"""The language of search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.live.search import Query, QueryError, Span, Term, parse
from tradewind.live.store import words
from tradewind.model.units import DAY, HOUR, SECOND

NOW = 1_800_000_000 * SECOND
DAY_31 = 1_769_817_600 * SECOND
"""2026-01-31, at midnight UTC."""


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", Query()),
        ("Align  gpu", Query((Term("w", "align"), Term("w", "gpu")))),
        ('"align reads"', Query((Term("w", "align"), Term("w", "reads")))),
        ("mDiff_7*", Query((Term("w", "mdiff"), Term("w", "7", is_prefix=True)))),
        ("-test", Query((Term("w", "test", is_absent=True),))),
        ('name:align error:"time out"', Query((Term("n", "align"), Term("e", "time"), Term("e", "out")))),
        ("capability:gpu -name:x*", Query((Term("c", "gpu"), Term("n", "x", is_prefix=True, is_absent=True)))),
        (
            "is:task status:failed is:cancelled",
            Query(kinds=frozenset({"task"}), statuses=frozenset({"failed", "cancelled"})),
        ),
        ("is:run is:task", Query()),
        ("tenant:ada run:1kq-7", Query(tenants=frozenset({"ada"}), runs=frozenset({"1kq-7"}))),
        ("start:>=2026-01-31", Query(start=Span(DAY_31, None))),
        ("start:2026-01-31", Query(start=Span(DAY_31, DAY_31 + DAY))),
        ("start:>2026-01-31 start:<2026-02-02", Query(start=Span(DAY_31 + DAY, DAY_31 + 2 * DAY))),
        ("end:<=2026-01-31T12:00:00Z", Query(end=Span(None, DAY_31 + 12 * HOUR + SECOND))),
        ("start:>=-2h", Query(start=Span(NOW - 2 * HOUR, None))),
        ("STATUS:Done", Query(statuses=frozenset({"done"}))),
        ('"status:done"', Query((Term("w", "status"), Term("w", "done")))),
    ],
)
def test_queries(text: str, query: Query) -> None:
    assert parse(text, NOW) == query


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("colour:red", "column 1: there is no field 'colour'; known are is, status"),
        ("a status:gone", "column 3: there is no status 'gone'; known are active"),
        ("start:>=yesterday", "column 1: 'yesterday' is not a time"),
        ("start:>=-soon", "column 1: 'soon' is not a duration"),
        ('a "b', "column 2: a quotation mark is not closed"),
        ("-status:done", "column 1: 'status' cannot be denied"),
        ("x " * 600, "at most 1000 characters"),
        ("x " * 60, "at most 50 words"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_column(text: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        parse(text, NOW)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_column(text: str) -> None:
    try:
        query = parse(text, NOW)
    except QueryError as error:
        column = error.column
    else:
        column = 1
        assert all(term.word.isalnum() for term in query.terms)
    assert 1 <= column <= len(text) + 1


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), max_size=8))
def test_words_are_found_by_themselves_whatever_their_case(given_words: list[str]) -> None:
    entry = set(words.entry(1, "ada", " ".join(given_words)))
    query = parse(" ".join(f'"{word.upper()}"' for word in given_words), NOW)
    known = {f"{term.letter}:{term.word}" for term in query.terms}
    upper = set(words.entry(1, "ada", " ".join(word.upper() for word in given_words)))
    assert known <= upper
    if all(word.upper().casefold() == word.casefold() for word in given_words):
        assert known <= entry


@given(st.text(max_size=500), st.text(max_size=50))
def test_an_entry_has_each_word_once_and_none_that_a_database_could_misread(text: str, tenant: str) -> None:
    entry = words.entry(3, tenant, text, error=text, capabilities=[text], status="failed", more=text)
    assert len(set(entry)) == len(entry) <= 302
    assert all(letter.isalnum() or letter == ":" for word in entry for letter in word)
