"""From the deliveries of a job to its result: `concatenate`, in the order of iterations, or `sum`.

A checkpoint stands for all that its partition delivered up to then. Results that were uploaded as objects are read
back: as JSON to be summed, as they are to be concatenated. One object is in memory at a time, and the deliveries of one
partition; what is to be concatenated waits in a file for its turn. So the size of a result is bounded by where objects
lie.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple

import orjson

from tradewind.core.divisible.errors import Refused
from tradewind.core.divisible.turn import Turn
from tradewind.live.divisible import statements as sql
from tradewind.live.divisible.book import SqlBook
from tradewind.live.divisible.desk import Desk
from tradewind.live.divisible.objects import Objects

REDUCERS = ("concatenate", "sum")
_PAGE = 1_000
_SPOOLED = 1 << 20
"""Bytes of results that wait for their turn in memory; more do so in a file."""


def merged_key(job: str) -> str:
    """The object that holds the result of a job."""
    return f"merged/{job}"


class Piece(NamedTuple):
    """A result, and the first iteration that it is for."""

    first: int
    result: dict[str, Any]


class Pieces:
    """Results in the order of iterations: where each lies in a file is in memory, and one of them at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: list[tuple[int, int, int]] = []
        """The first iteration of each, where it begins, and how long it is."""

    def add(self, pieces: Iterable[Piece]) -> None:
        """Write them down, in whatever order they come."""
        end = self._file.seek(0, os.SEEK_END)
        for piece in pieces:
            size = self._file.write(orjson.dumps(piece.result))
            self._places.append((piece.first, end, size))
            end += size
        self._places.sort()

    def __iter__(self) -> Iterator[Piece]:
        for first, begin, size in self._places:
            self._file.seek(begin)
            yield Piece(first, orjson.loads(self._file.read(size)))


@contextmanager
def pieces(desk: Desk, job: int) -> Iterator[Pieces]:
    """What counts of the deliveries of a job, by iterations, as long as it is needed."""
    with SpooledTemporaryFile(_SPOOLED) as file:
        found = Pieces(file)
        found.add(standing(desk, job))
        yield found


def standing(desk: Desk, job: int) -> Iterator[Piece]:
    """What counts of the deliveries of a job, one partition after the other; no more than one is held in memory."""
    for _, rows in groupby(_deliveries(desk, job), key=lambda row: row[0]):
        kept: list[Piece] = []
        for _, ranges, is_checkpoint, result in rows:
            if is_checkpoint:
                kept.clear()
            if result:
                kept.append(Piece(orjson.loads(ranges)[0][0], orjson.loads(result)))
        yield from kept


def _deliveries(desk: Desk, job: int) -> Iterator[tuple[int, str, bool, str]]:
    """All deliveries of a job, a page at a time."""
    after = (-1, 0)
    while True:
        page = desk.do(lambda turn, after=after: _page(turn, job, after))  # type: ignore[misc]
        for partition, number, ranges, is_checkpoint, result in page:
            after = (partition, number)
            yield partition, ranges, bool(is_checkpoint), result
        if len(page) < _PAGE:
            return


def _page(turn: Turn, job: int, after: tuple[int, int]) -> list[Any]:
    assert isinstance(turn.book, SqlBook)  # noqa: S101  a desk has no other
    rows = turn.book.session.fetch(sql.DELIVERIES_OF, job=job, partition=after[0], number=after[1], limit=_PAGE)
    return list(rows)


def result(desk: Desk, objects: Objects, id: str, number: int, reducer: str) -> bytes:
    """The result of a job that is done."""
    return objects.read(settle(desk, objects, id, number, reducer))


def settle(desk: Desk, objects: Objects, id: str, number: int, reducer: str) -> str:
    """See to it that the result of a job that is done is there: as a site has reduced it, or merged now; its name."""
    key = merged_key(id)
    if not objects.has(key):
        objects.write(key, merged(desk, number, reducer, objects))
    return key


def merged(desk: Desk, job: int, reducer: str, objects: Objects) -> Iterator[bytes]:
    """The result of a job, a piece at a time."""
    if reducer == "sum":
        yield from summed(standing(desk, job), objects)
        return
    with pieces(desk, job) as found:
        yield from concatenated(found, objects)


def summed(found: Iterable[Piece], objects: Objects) -> Iterator[bytes]:
    """The sum of results."""
    total: Any = None
    for piece in found:
        value = _value(piece, objects)
        total = value if total is None else added(total, value)
    yield orjson.dumps(total)


def concatenated(found: Iterable[Piece], objects: Objects) -> Iterator[bytes]:
    """Results one after the other, which are gone through twice: as they are if some were uploaded, else as a list."""
    if any("object" in piece.result for piece in found):
        yield from (_bytes(piece, objects) for piece in found)
        return
    mark = b"["
    for piece in found:
        value = piece.result["inline"]
        for each in value if isinstance(value, list) else [value]:
            yield mark + orjson.dumps(each)
            mark = b","
    yield b"[]" if mark == b"[" else b"]"


def added(one: Any, other: Any) -> Any:
    """Two values of the same shape, number by number."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return {key: added(value, other[key]) for key, value in one.items()}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [added(left, right) for left, right in zip(one, other, strict=True)]
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one + other
    raise Refused("conflict", "results of different shapes cannot be summed; let every delivery have the same shape")


def _value(piece: Piece, objects: Objects) -> Any:
    if "object" not in piece.result:
        return piece.result["inline"]
    try:
        return orjson.loads(objects.read(piece.result["object"]))
    except orjson.JSONDecodeError as error:
        raise Refused("conflict", f"a result that is to be summed is not JSON ({error})") from error


def _bytes(piece: Piece, objects: Objects) -> bytes:
    return objects.read(piece.result["object"]) if "object" in piece.result else orjson.dumps(piece.result["inline"])
