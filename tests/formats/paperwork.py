"""What the tests of formats share: where the data lie, how files are written, and workflows drawn at random."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tradewind.formats.names import kind_of
from tradewind.model.requirement import ANYTHING, Requirement, amounts_of
from tradewind.model.workflow import ONCE, Checkpoint, File, Retry, Task, Workflow, arrange

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")

Write = Callable[[str, str | bytes], Path]

names = st.one_of(
    st.from_regex(r"[a-zA-Z][a-zA-Z0-9_.-]{0,8}", fullmatch=True),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=8),
    st.sampled_from(
        [
            "null",
            "true",
            "no",
            "1",
            "1.5",
            "~",
            "- a",
            "a: b",
            "#x",
            "&a",
            "*a",
            "!t",
            "<<",
            "@",
            "'",
            '"',
            "=",
            "a b",
            "🙂",
        ]
    ),
)
commands = st.one_of(
    st.just(""),
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=30
    ),
    st.lists(
        st.sampled_from(["echo a", "  indented", "", "\tb", "c ", "# d", "e: f", "'", '"x"', "\\n"]), max_size=5
    ).map("\n".join),
)
durations = st.one_of(
    st.integers(0, 10**13),
    st.integers(0, 10**6).map(lambda n: n * 1_000_000),
    st.integers(0, 1000).map(lambda n: n * 60_000_000),
)
sizes = st.one_of(st.integers(0, 10**15), st.integers(0, 1000).map(lambda n: n * 1024**2))
files = st.lists(st.builds(File, names, sizes), max_size=3).map(tuple)
requirements = st.one_of(
    st.just(ANYTHING),
    st.builds(
        Requirement,
        st.frozensets(names, max_size=2),
        st.dictionaries(st.one_of(st.sampled_from(["cpus", "memory", "gpus"]), names), sizes, max_size=3).map(
            amounts_of
        ),
    ),
)
retries = st.one_of(
    st.just(ONCE),
    st.builds(Retry, st.integers(1, 9)),
    st.builds(
        Retry,
        attempts=st.integers(1, 9),
        by_cause=st.dictionaries(names, st.integers(1, 9), max_size=2),
        lost=st.integers(0, 9),
        preempted=st.integers(0, 9),
        memory_growth=st.floats(1, 1000),
        delay=durations,
        factor=st.floats(1, 1000),
        max_delay=durations,
    ),
)


@st.composite
def tasks(draw: st.DrawFn, identity: str) -> Task:
    """A task with anything a native file can say."""
    return Task(
        id=identity,
        name=draw(st.one_of(names, st.just(kind_of(identity)))),
        requirement=draw(requirements),
        runtime=draw(st.none() | durations),
        runtimes=draw(st.dictionaries(names, durations, max_size=2)),
        inputs=draw(files),
        outputs=draw(files),
        retry=draw(retries),
        timeout=draw(st.none() | durations.map(lambda time: time + 1)),
        command=draw(commands),
        checkpoint=draw(st.none() | st.builds(Checkpoint, durations.map(lambda time: time + 1), durations)),
    )


@st.composite
def workflows(draw: st.DrawFn, task: Callable[[str], st.SearchStrategy[Task]] = tasks) -> Workflow:
    """Any workflow."""
    ids = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    parents = [draw(st.lists(st.integers(0, at - 1), max_size=3)) if at else [] for at in range(len(ids))]
    return arrange(
        draw(names),
        [draw(task(identity)) for identity in ids],
        parents,
        priority=draw(st.integers(-5, 5)),
        deadline=draw(st.none() | durations.map(lambda time: time + 1)),
    )
