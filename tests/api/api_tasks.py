"""Tasks and workflows for the tests of the Python API, in a module that workers can import."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind import task, workflow


@dataclass(frozen=True)
class Point:
    """A value that JSON does not know."""

    x: int
    y: int


class OddError(Exception):
    """An exception with a class of its own."""


@task
def folder() -> str:
    return os.getcwd()  # noqa: PTH109


@task
def numbers(n: int) -> list[int]:
    return list(range(n))


@task
def square(x: int) -> int:
    return x * x


@task(cpus=1, memory="100MB", retries=1, timeout="1m", env={"FLAVOUR": "sour"})
def total(values: list[int], scale: int = 1) -> int:
    return scale * sum(values)


@task
def flavour() -> str:
    return os.environ["FLAVOUR"]


@task
def point(x: int, y: int = 0) -> Point:
    return Point(x, y)


@task
def across(points: list[Point]) -> int:
    return sum(each.x * each.y for each in points)


@task
def describe(value: Any) -> dict[str, Any]:
    return {"type": type(value).__name__, "text": repr(value)[:50], "items": [1, 2]}


@task
def large(size: int) -> bytes:
    return b"x" * size


@task
def length(data: bytes) -> int:
    return len(data)


@task
def write(text: str) -> Path:
    path = Path("note.txt")
    path.write_text(text)
    return path


@task
def read(path: Path) -> str:
    return path.read_text()


@dataclass(frozen=True)
class Notes:
    first: Path
    more: tuple[Path, ...]


@task
def write_all() -> dict[str, Any]:
    for name in ("a", "b", "c", "d", "e"):
        Path(name).write_text(name)
    return {
        "list": [Path("a")],
        "tuple": (Path("b"), 1),
        "deep": {"here": [{"and": Notes(Path("c"), (Path("d"), Path("e").absolute()))}]},
    }


@task(cache=True)
def read_all(found: dict[str, Any]) -> str:
    notes = found["deep"]["here"][0]["and"]
    paths = [*found["list"], found["tuple"][0], notes.first, *notes.more]
    assert all(path.is_absolute() for path in paths)
    return "".join(path.read_text() for path in paths)


@task
def fail(x: int) -> int:
    raise OddError(f"{x} is odd")


@task
async def later(x: int) -> int:
    await asyncio.sleep(0.001)
    return x + 1


@task
def mark(path: str) -> int:
    with Path("/", path).open("a") as file:
        file.write("x")
    return Path("/", path).stat().st_size


@workflow
def sum_of_squares(n: int) -> int:
    return total(square.map(numbers(n)), scale=2)


@workflow
def grid(n: int) -> int:
    xs = numbers(n)
    return across(point.map(xs, xs))


@workflow
def row(n: int) -> int:
    return total(square.map(numbers(n)))


@workflow
def nested(sizes: list[int]) -> list[int]:
    return row.map(sizes)


@workflow
def twice_nested(lists: list[list[int]]) -> list[list[int]]:
    return nested.map(lists)
