"""From deliveries to a result: the order of iterations, checkpoints, sums, and results larger than memory."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pytest

from tradewind.agent.reduce import Piece, Pieces, ReduceError, added, concatenated, reduced, standing, summed

ROWS = (
    ("a", 0, False, 1),
    ("a", 20, False, 2),
    ("b", 5, False, 100),
    ("b", 10, True, 30),
    ("b", 15, False, 4),
    ("c", 25, True, 200),
    ("c", 30, True, 500),
)


def rows() -> Iterator[dict[str, Any]]:
    for share, first, checkpoint, value in ROWS:
        yield {"share": share, "first": first, "checkpoint": checkpoint, "inline": value}


def nothing(address: str) -> bytes:
    raise AssertionError(address)


def test_a_checkpoint_replaces_what_its_attempt_delivered_before() -> None:
    assert [(piece.first, piece.result["inline"]) for piece in standing(rows())] == [
        (0, 1),
        (20, 2),
        (10, 30),
        (15, 4),
        (30, 500),
    ]


def test_results_are_combined_in_the_order_of_iterations() -> None:
    assert b"".join(reduced("sum", "", (), standing(rows()), nothing)) == b"537"
    assert json.loads(b"".join(reduced("concatenate", "", (), standing(rows()), nothing))) == [1, 30, 4, 2, 500]
    assert b"".join(reduced("concatenate", "", (), iter(()), nothing)) == b"[]"
    assert b"".join(summed((), nothing)) == b"null"


def test_uploaded_results_are_strung_together_as_they_are() -> None:
    pieces = iter([Piece(1, {"url": "two"}), Piece(0, {"url": "one"}), Piece(2, {"inline": 3})])
    content = {"one": b"first,", "two": b"second,"}
    assert b"".join(reduced("concatenate", "", (), pieces, content.__getitem__)) == b"first,second,3"


def test_sums_need_one_shape() -> None:
    assert added({"a": [1, 2.5]}, {"a": [3, 4]}) == {"a": [4, 6.5]}
    for one, other in ((1, "x"), ([1], [1, 2]), ({"a": 1}, {"b": 1})):
        with pytest.raises(ReduceError, match="different shapes"):
            added(one, other)


def test_commands_and_functions_get_all_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = "while read name; do cat $name; echo; done | sort -n | tail -n 1"
    assert b"".join(reduced("run", command, (), standing(rows()), nothing)).strip() == b"500"
    assert b"".join(reduced("python", "builtins:max", (), standing(rows()), nothing)) == b"500"
    with pytest.raises(ReduceError, match="ended with code 5: full"):
        b"".join(reduced("run", "echo full >&2; exit 5", (), standing(rows()), nothing))


def test_results_to_be_concatenated_are_not_all_held_in_memory() -> None:
    text = "x" * 20_000
    tracemalloc.start()
    try:
        with TemporaryFile() as file:
            pieces = Pieces(file)
            pieces.add(Piece(-number, {"inline": f"{number} {text}"}) for number in range(200))
            tracemalloc.reset_peak()
            first = [each[:12] for each in concatenated(pieces, nothing)]
            _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_500_000, "of 4 MB"
    assert first[0].startswith(b'["199 ')
