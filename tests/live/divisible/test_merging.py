"""From deliveries to a result: checkpoints stand for what came before them, and what is kept is not merged again."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.records import Delivery
from tradewind.live.divisible import merging
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.objects import LocalObjects
from tradewind.live.divisible.open import open_desk

DELIVERIES = (
    # job, partition, number, at, ranges, is_checkpoint, result
    Delivery(0, 0, 1, 0, ((0, 5),), False, '{"inline": 1}'),
    Delivery(0, 0, 2, 0, ((20, 25),), False, '{"inline": 2}'),
    Delivery(0, 1, 1, 0, ((5, 10),), False, '{"inline": 100}'),
    Delivery(0, 1, 2, 0, ((10, 15),), True, '{"inline": 30}'),
    Delivery(0, 1, 3, 0, ((15, 20),), False, '{"inline": 4}'),
    Delivery(0, 2, 1, 0, ((25, 30),), True, ""),
    Delivery(0, 2, 2, 0, ((30, 35),), True, '{"inline": 500}'),
    Delivery(1, 0, 1, 0, ((0, 5),), False, '{"inline": 9000}'),
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = open_desk(tmp_path / "store.db")
    for delivery in DELIVERIES:
        made.do(lambda turn, delivery=delivery: turn.book.put_delivery(delivery))  # type: ignore[misc]
    yield made
    made.close()


@pytest.mark.parametrize("page", [1, 2, 1_000])
def test_a_checkpoint_stands_for_all_that_its_partition_delivered_before(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(merging, "_PAGE", page)
    objects = LocalObjects(tmp_path / "objects", "s")
    assert merging.result(desk, objects, "one", 0, "sum") == b"537"
    assert merging.result(desk, objects, "two", 0, "concatenate") == b"[1,30,4,2,500]"
    with merging.pieces(desk, 0) as pieces:
        assert [[piece.first for piece in pieces] for _ in range(2)] == [[0, 10, 15, 20, 30]] * 2


def test_values_to_be_concatenated_are_not_all_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_PAGE", 5)
    monkeypatch.setattr(merging, "_SPOOLED", 50_000)
    desk = open_desk(tmp_path / "store.db")
    text = "x" * 20_000
    for number in range(200):
        delivery = Delivery(
            0, number, 1, 0, ((999 - number, 1000 - number),), False, f'{{"inline": "{number} {text}"}}'
        )
        desk.do(lambda turn, delivery=delivery: turn.book.put_delivery(delivery))  # type: ignore[misc]
    tracemalloc.start()
    try:
        objects = LocalObjects(tmp_path / "objects", "s")
        key = merging.settle(desk, objects, "j", 0, "concatenate")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        desk.close()
    assert peak < 1_500_000, "of 4 MB"
    assert [each.split()[0] for each in json.loads(objects.read(key))] == [str(number) for number in range(199, -1, -1)]


def test_a_result_is_merged_once_and_kept(desk: Desk, tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path / "objects", "s")
    key = merging.settle(desk, objects, "j", 0, "sum")
    desk.do(lambda turn: turn.book.put_delivery(Delivery(0, 3, 1, 0, ((35, 40),), False, '{"inline": 1000}')))
    assert merging.settle(desk, objects, "j", 0, "sum") == key
    assert objects.read(key) == b"537"


def test_results_that_do_not_fit_leave_nothing_behind(desk: Desk, tmp_path: Path) -> None:
    objects = LocalObjects(tmp_path / "objects", "s")
    desk.do(lambda turn: turn.book.put_delivery(Delivery(0, 3, 1, 0, ((35, 40),), False, '{"inline": "text"}')))
    with pytest.raises(Refused, match="different shapes"):
        merging.settle(desk, objects, "j", 0, "sum")
    assert [path for path in (tmp_path / "objects").rglob("*") if path.is_file()] == []
