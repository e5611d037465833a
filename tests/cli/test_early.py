"""What a run begins before it has read its options is taken if the guess was right, and ended if it was not."""

from pathlib import Path

import pytest

from tradewind.cli.early import Early

FLOW = "steps: {hello: {run: echo hello}}\n"


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    path = tmp_path / "flow.yaml"
    path.write_text(FLOW)
    return path


def begun(early: Early) -> tuple[bool, bool]:
    """Whether a file is being loaded, and whether a keeper is starting."""
    return early._ahead is not None, early._keeper is not None


def test_both_begin_with_the_words_of_a_run(flow: Path) -> None:
    early = Early(["run", str(flow), "-p", "x=1"])
    guessed = early._ahead
    assert begun(early) == (True, True)
    assert early.ahead(flow) is guessed
    early.close()
    assert begun(early) == (False, False)


@pytest.mark.parametrize("words", [[], ["validate", "FLOW"], ["run", "FLOW", "--dry-run"], ["run", "-h"]], ids=" ".join)
def test_nothing_begins_for_what_runs_nothing(flow: Path, words: list[str]) -> None:
    assert begun(Early([str(flow) if word == "FLOW" else word for word in words])) == (False, False)


@pytest.mark.parametrize("words", [["--machines", "m.yaml"], ["--params-file", "p.yaml"]], ids=lambda words: words[0])
def test_a_file_is_not_guessed_among_several(flow: Path, words: list[str]) -> None:
    early = Early(["run", str(flow), *words])
    assert begun(early) == (False, True)
    early.close()


def test_a_wrong_guess_makes_way(flow: Path, tmp_path: Path) -> None:
    early = Early(["run", str(flow)])
    guessed = early._ahead
    assert early.ahead(tmp_path / "nothing.yaml") is None
    other = tmp_path / "other.yaml"
    other.write_text(FLOW)
    assert early.ahead(other) not in (None, guessed)
    early.close()
