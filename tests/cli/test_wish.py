"""Words that are read without typer mean what they mean to it, and whatever leaves a doubt is left to it."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tradewind.cli import application
from tradewind.cli import wish as module
from tradewind.cli.early import Early
from tradewind.cli.run import run
from tradewind.cli.wish import Wish, read, wished

OPTIONS = [*module._TEXTS, *module._PATHS, "--speed"]


@pytest.fixture(scope="module")
def typed() -> Callable[[list[str]], Wish | None]:
    """What typer makes of words; None: it complains."""
    app = application("run")
    runner = CliRunner()

    def understand(words: list[str]) -> Wish | None:
        taken: list[Wish] = []

        def take(wish: Wish, _: Early) -> int:
            taken.append(wish)
            return 0

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tradewind.cli.run.fulfil", take)
            runner.invoke(app, words)
        return taken[0] if taken else None

    return understand


def plain(wish: Wish | None) -> tuple[object, ...] | None:
    return None if wish is None else tuple(tuple(each) if isinstance(each, list) else each for each in wish)


@pytest.mark.parametrize(
    "words",
    [
        "flow.yaml",
        "--resume",
        "--resume --folder elsewhere --store postgresql://host/runs",
        "flow.yaml -p a=1 -p b=2 --params-file p.yaml --keep-going --json",
        "--machines=m.yaml --policy pfa -P step=2 --budget 2 --interval 1m flow.yaml --events log.jsonl",
        "flow.yaml --services a.yaml b.yaml c.yaml --no-cache",
        "trace.json --replay --speed 100 --burn --deadline 2h",
        "flow.yaml --dry-run --speed=1",
    ],
)
def test_plain_words_are_understood_as_typer_does(typed: Callable[[list[str]], Wish | None], words: str) -> None:
    understood = read(["run", *words.split()])
    assert understood is not None
    assert plain(understood) == plain(typed(["run", *words.split()]))


@pytest.mark.parametrize(
    "words",
    [
        ["flow.yaml", "--help"],
        ["flow.yaml", "-h"],
        ["flow.yaml", "--nothing"],
        ["flow.yaml", "-pa=1"],
        ["flow.yaml", "-p=1"],
        ["flow.yaml", "--budget"],
        ["flow.yaml", "--budget", "-1"],
        ["flow.yaml", "--budget="],
        ["flow.yaml", "--budget", "1", "--budget", "2"],
        ["flow.yaml", "--json=yes"],
        ["flow.yaml", "--replay", "--speed", "nan"],
        ["flow.yaml", "--replay", "--speed", "0"],
        ["flow.yaml", "--speed", "2"],
        ["flow.yaml", "--resume"],
        ["flow.yaml", "other.yaml"],
        ["--", "flow.yaml"],
        ["", "flow.yaml"],
        [],
    ],
    ids=" ".join,
)
def test_what_leaves_a_doubt_is_left_to_typer(words: list[str]) -> None:
    assert read(["run", *words]) is None


def test_other_commands_and_completion_are_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(["validate", "flow.yaml"]) is None
    assert read([]) is None
    monkeypatch.setenv("_TRADEWIND_COMPLETE", "complete_bash")
    assert read(["run", "flow.yaml"]) is None


WORD = st.sampled_from(["flow.yaml", "a=1", "2", "0.5", "1e3", "1_0", "", "-1", "--", "x=y=z", " ", "é"])
PIECE = st.one_of(
    st.sampled_from([*module._FLAGS]).map(lambda flag: [flag]),
    st.tuples(st.sampled_from(OPTIONS), WORD).map(list),
    st.tuples(st.sampled_from(OPTIONS), WORD).map(lambda pair: [f"{pair[0]}={pair[1]}"]),
    WORD.map(lambda word: [word]),
)


@given(pieces=st.lists(PIECE, max_size=5))
@settings(max_examples=150, deadline=None)
def test_any_words_that_are_understood_mean_the_same(
    typed: Callable[[list[str]], Wish | None], pieces: list[list[str]]
) -> None:
    words = ["run", "flow.yaml", *(word for piece in pieces for word in piece)]
    understood = read(words)
    if understood is not None:
        assert plain(understood) == plain(typed(words))


def test_every_option_of_the_command_is_known() -> None:
    options = set(inspect.signature(run).parameters) - {"context"}
    assert options == set(inspect.signature(wished).parameters)
    named = {*module._FLAGS.values(), *module._TEXTS.values(), *module._PATHS.values(), "speed", "file", "more"}
    assert options == named


def test_what_is_wished_for_is_kept_in_the_usual_folder() -> None:
    assert wished(file=Path("flow.yaml")) == Wish(file=Path("flow.yaml"))
