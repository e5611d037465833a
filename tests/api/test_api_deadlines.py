"""Deadlines of workflows in Python."""

import logging
from pathlib import Path

import pytest

from tradewind import task, workflow
from tradewind.formats.write_program import program_document
from tradewind.model.machine import MachineType
from tradewind.model.units import HOUR, MINUTE, SECOND

MACHINE = MachineType("here", slots=4, limit=1)


@task(runtime="30m")
def slow(text: str) -> str:
    """Takes less time than it says."""
    return text.upper()


@workflow
def shout(text: str) -> str:
    """A single task."""
    return slow(text)


@pytest.mark.parametrize(("given", "length"), [("2h", 2 * HOUR), (90, 90 * SECOND), (0.5, SECOND // 2), (None, None)])
def test_a_deadline_becomes_part_of_the_program(given: str | float | None, length: int | None, tmp_path: Path) -> None:
    assert shout.using(deadline=given, folder=tmp_path).program("a").deadline == length


def test_a_deadline_is_told_to_a_server(tmp_path: Path) -> None:
    document = program_document(shout.using(deadline="30m", folder=tmp_path).program("a"))
    assert document["deadline"] in ("30m", "30m00s", 30 * MINUTE / SECOND, f"{30 * 60}s")


@pytest.mark.parametrize("given", ["0s", -3, "soon"])
def test_a_deadline_that_makes_no_sense_is_refused(given: str | float) -> None:
    with pytest.raises(ValueError, match=r"."):
        shout.using(deadline=given).program("a")


def test_a_miss_that_is_foreseen_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "tradewind")
    here = shout.using(folder=tmp_path, machines=(MACHINE,), policy="scs+", interval="100ms")
    assert here.using(deadline="1h").run("a") == "A"
    assert "deadline" not in caplog.text
    assert here.using(deadline="1m", cache=False).run("b") == "B"
    assert "shout will miss its deadline by 29m" in caplog.text
