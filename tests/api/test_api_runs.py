"""Workflows in Python that run for real, on this host."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from api_tasks import (
    Notes,
    OddError,
    Point,
    across,
    describe,
    fail,
    flavour,
    grid,
    large,
    later,
    length,
    mark,
    nested,
    numbers,
    point,
    read,
    read_all,
    square,
    sum_of_squares,
    total,
    twice_nested,
    write,
    write_all,
)

from tradewind import RunError, Workflow, workflow
from tradewind.api import RemoteTraceback
from tradewind.api.values import INLINE
from tradewind.model.machine import MachineType
from tradewind.model.requirement import amounts_of

MACHINE = MachineType("here", slots=4, limit=1, amounts=amounts_of({"cpus": 4, "memory": 10**9}))


def here(flow: Workflow[Any, Any], folder: Path) -> Workflow[Any, Any]:
    return flow.using(folder=folder, machines=(MACHINE,))


def test_loops_over_lists_that_tasks_make(tmp_path: Path) -> None:
    assert here(sum_of_squares, tmp_path).run(4) == 28
    assert here(twice_nested, tmp_path).run([[3, 1], []]) == [[5, 0], []]
    assert here(grid, tmp_path).run(3) == 5


def test_paths_anywhere_in_a_result_are_found_by_other_tasks(tmp_path: Path) -> None:
    @workflow
    def notes() -> Any:
        found = write_all()
        return read_all(found), found

    text, found = here(notes, tmp_path).run()
    assert text == "abcde"
    assert found["list"][0].read_text() == "a"


def test_files_inside_arguments_count_for_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @workflow
    def notes(found: Any) -> Any:
        return read_all(found)

    monkeypatch.chdir(tmp_path)
    given = {"list": [Path("a")], "tuple": (Path("a"),), "deep": {"here": [{"and": Notes(Path("a"), ())}]}}
    for text in ("x", "y"):
        Path("a").write_text(text)
        os.utime("a", ns=(0, ord(text)))
        assert here(notes, tmp_path).run(given) == 3 * text


def test_values_of_all_kinds_travel(tmp_path: Path) -> None:
    @workflow
    def kinds(extra: int) -> Any:
        def local(x: int) -> int:
            return x + extra

        points = point.map([1, 2], y=3)
        described = describe((1, {"k": points[0]}))
        return {
            "points": points,
            "across": across([points[0], Point(1, 1)]),
            "part": described["items"][1],
            "text": described["text"],
            "size": length(large(INLINE + 10)),
            "large": large(INLINE + 10),
            "note": read(write("hello")),
            "later": later(1),
            "local": workflow_task(local)(1),
            "flavour": flavour.options(env={"FLAVOUR": "sweet"})(),
        }

    def workflow_task(function: Any) -> Any:
        from tradewind import task  # noqa: PLC0415

        return task(function)

    found = here(kinds, tmp_path).run(5)
    assert found.pop("text").startswith("(1, {'k': Point(x=1, y=3)})")
    assert found == {
        "points": [Point(1, 3), Point(2, 3)],
        "across": 4,
        "part": 2,
        "size": INLINE + 10,
        "large": b"x" * (INLINE + 10),
        "note": "hello",
        "later": 2,
        "local": 6,
        "flavour": "sweet",
    }


def test_what_a_task_raises_comes_back_with_its_traceback(tmp_path: Path) -> None:
    @workflow
    def odd() -> int:
        return total([fail(square(3))])

    with pytest.raises(OddError, match="9 is odd") as raised:
        here(odd, tmp_path).run()
    assert isinstance(raised.value.__cause__, RemoteTraceback)
    assert 'raise OddError(f"{x} is odd")' in str(raised.value.__cause__)
    assert "in task fail" in raised.value.__notes__[0]


def test_what_cannot_be_unfolded_or_placed_is_told(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a value of int cannot be mapped over"):
        here(workflow(lambda: square.map(cast("list[int]", square(2))), name="odd"), tmp_path).run()
    with pytest.raises(RunError, match="no machine type offers"):
        here(workflow(lambda: square.options(capabilities=["gpu"])(1), name="gpu"), tmp_path).run()


def test_runs_can_be_awaited_side_by_side(tmp_path: Path) -> None:
    async def both() -> list[int]:
        one, other = (here(sum_of_squares, tmp_path).start(n) for n in (3, 4))
        return [await one, await other]

    assert asyncio.run(both()) == [10, 28]


def test_run_works_inside_a_running_loop_and_start_gives_a_handle(tmp_path: Path) -> None:
    async def inside() -> Any:
        return here(sum_of_squares, tmp_path).run(3)

    assert asyncio.run(inside()) == 10
    run = here(nested, tmp_path).start([2])
    assert run.result(timeout=60) == [1]
    assert run.done()


def test_a_cancelled_run_ends(tmp_path: Path) -> None:
    @workflow
    def slow() -> Any:
        import time  # noqa: PLC0415

        from tradewind import task  # noqa: PLC0415

        return task(time.sleep)(60)

    run = here(slow, tmp_path).start()
    with pytest.raises(TimeoutError):
        run.result(timeout=0.2)
    run.cancel()
    with pytest.raises(RunError, match="was interrupted"):
        run.result(timeout=60)


def test_only_tasks_that_want_it_are_cached(tmp_path: Path) -> None:
    file = str(tmp_path / "marks")[1:]  # not a path, whose content would be part of the key

    @workflow
    def marks(cache: bool) -> int:
        return mark.options(cache=cache)(file)

    flow = here(marks, tmp_path / "runs")
    assert [flow.run(False) for _ in range(2)] == [1, 2]
    (tmp_path / "marks").write_text("")
    assert [flow.run(True) for _ in range(2)] == [1, 1]

    @workflow
    def sizes() -> int:
        return length.options(cache=True)(large.options(cache=True)(INLINE + 1))

    other = here(sizes, tmp_path)
    assert [other.run() for _ in range(2)] == [INLINE + 1] * 2


SCRIPT = """
from tradewind import task, workflow

@task
def double(x: int) -> int:
    return 2 * helped(x)

def helped(x):
    return x

@task(cache=True)
def listed(n: int) -> list[int]:
    return list(range(n))

@workflow
def flow(n: int) -> list[int]:
    return double.map(listed(n))

if __name__ == "__main__":
    print(flow.run(3))
"""


def test_functions_of_a_script_run_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stdout) == (0, "[0, 2, 4]\n"), done.stderr


def test_importing_the_package_loads_next_to_nothing() -> None:
    code = "import sys, tradewind; print(sum(name.startswith('tradewind') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"


def test_numbers_of_none_is_an_empty_list(tmp_path: Path) -> None:
    assert here(workflow(lambda: square.map(numbers(0)), name="none"), tmp_path).run() == []
