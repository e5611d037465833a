"""Programs and the chains they become, as files to read; `REGENERATE=1 pytest` writes them anew."""

import os
from pathlib import Path

import pytest
from chain_replay import orders, read, told

FOLDER = Path(__file__).parent / "golden"
PROGRAMS = sorted(FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_becomes_the_chains_in_the_golden_file(path: Path) -> None:
    golden = path.with_suffix(".txt")
    text = told(*read(path))
    if os.environ.get("REGENERATE"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_chains_and_outputs_are_the_same_in_every_order_with_a_reload_at_every_step(path: Path) -> None:
    program, given = read(path)
    first, *others = [run.end for run in orders(program, given)]
    assert all(other == first for other in others)
