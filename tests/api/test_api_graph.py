"""What the function of a workflow draws, and what it must not do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_tasks import Point, across, describe, nested, numbers, point, row, square, sum_of_squares, total
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind import task, workflow
from tradewind.api import GraphError
from tradewind.api.code import digest
from tradewind.api.values import INLINE, MARK, pack, unpack
from tradewind.core.chains.generator import Generator
from tradewind.core.chains.outline import outline
from tradewind.formats.load import load
from tradewind.formats.write_program import write_program
from tradewind.model.program import Program, Step
from tradewind.model.units import MINUTE


def steps_of(program: Program) -> dict[str, Step]:
    found: dict[str, Step] = {}
    waiting = list(program.steps)
    while waiting:
        step = waiting.pop()
        found[step.id] = step
        waiting += step.steps
    return found


def test_outside_a_workflow_tasks_and_workflows_are_plain_functions() -> None:
    assert square(3) == 9
    assert square.map([1, 2, 3]) == [1, 4, 9]
    assert sum_of_squares(4) == 28
    assert nested([1, 2, 3]) == [0, 1, 5]
    assert repr(square) == "<task square>"


def test_settings_become_those_of_the_step() -> None:
    step = steps_of(sum_of_squares.program(3))["total"]
    assert dict(step.requirement.amounts) == {"cpus": 1, "memory": 100_000_000}
    assert (step.retries.error.attempts, step.limits.run) == (2, MINUTE)
    assert (step.environment, step.cache) == ({"FLAVOUR": "sour"}, False)

    @workflow
    def other() -> int:
        return total.options(cpus=4, capabilities=["disk"], cache=True, name="sum up")([1])

    step = steps_of(other.program())["sum_up"]
    assert dict(step.requirement.amounts) == {"cpus": 4, "memory": 100_000_000}
    assert (step.requirement.capabilities, step.cache) == (frozenset({"disk"}), True)


def test_the_outline_has_what_follows_on_lists_that_are_not_known_yet() -> None:
    """As many calls as earlier runs had, else as many as are declared, else one."""

    @workflow
    def declared() -> int:
        return total(square.options(expect=3).map(numbers(9)))

    def names(program: Program, learned: int | None) -> list[str]:
        return [each.name for each in outline(program, {}, lambda _: learned).tasks]

    assert names(sum_of_squares.program(4), None) == ["numbers", "square", "total"]
    assert names(declared.program(), None) == ["numbers", *["square"] * 3, "total"]
    assert names(declared.program(), 2) == ["numbers", *["square"] * 2, "total"]
    with pytest.raises(ValueError, match="expect must be a non-negative integer"):
        square.options(expect=-1)


def test_a_task_can_wait_for_others_without_needing_their_values() -> None:
    @workflow
    def waits() -> int:
        first = square(2)
        return square.after(first)(3)

    assert steps_of(waits.program())["square-2"].needs == ("square",)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda: 1 if square(2) else 2, "not known yet; move the condition into a task"),
        (lambda: [each for each in numbers(3)], "use task.map"),  # noqa: C416 - iterates
        (lambda: square.map(describe(1)["items"]), "return it from a task of its own"),
        (square.map, "missing 1 required positional argument"),
        (lambda: {1: square(2)}, "must be text"),
        (lambda: workflow(lambda x: x, name="idle").map([1]), "calls no task"),
        (lambda: square.after(3)(1), "results of tasks"),
    ],
    ids=["decides", "iterates", "maps a part", "maps nothing", "odd keys", "empty body", "waits for a value"],
)
def test_what_cannot_be_drawn_is_refused_with_a_remedy(body: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        workflow(body, name="flow").program()


def test_what_a_mapped_workflow_makes_is_seen_through_what_it_returns_alone() -> None:
    leaked: list[Any] = []

    @workflow
    def inner(x: int) -> int:
        leaked.append(square(x))
        return square(x)

    @workflow
    def outer() -> Any:
        inner.map([1, 2])
        return square(leaked[0])

    with pytest.raises(GraphError, match="through the return value of the mapped workflow"):
        outer.program()
    with pytest.raises(GraphError, match="a result of one run cannot be used in another"):
        workflow(lambda: square(leaked[0]), name="another").program()


def test_the_graph_unfolds_as_the_calls_say() -> None:
    program = nested.program([2, 1])
    generator = Generator(program, {})
    chains = generator.begin()
    assert [chain.id for chain in chains] == ["numbers[0]", "numbers[1]"]
    made = [chain.id for chain in generator.finished("numbers[0]", {"numbers[0]": {"value": [0, 1]}})]
    assert made == ["square[0][0]", "square[0][1]"]
    assert generator.finished("numbers[1]", {"numbers[1]": {"value": [7]}})[0].calls[0].inputs["args"] == [7]
    for chain in ("square[0][0]", "square[0][1]", "square[1][0]"):
        for last in generator.finished(chain, {chain: {"value": 5}}):
            generator.finished(last.id, {last.id: {"value": 10}})
    assert generator.outputs() == {"result": [10, 10]}


def test_a_graph_can_be_written_down_for_a_server(tmp_path: Path) -> None:
    for program in (nested.program([2, 1]), row.program(3), sum_of_squares.program(2)):
        (tmp_path / "flow.yaml").write_text(write_program(program))
        again = load(tmp_path / "flow.yaml").content
        assert isinstance(again, Program)
        assert Generator(again, {}).begin()[0].calls[0].inputs == Generator(program, {}).begin()[0].calls[0].inputs


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
_VALUES = _PLAIN | st.binary() | st.tuples(_PLAIN, st.sets(st.integers())) | st.builds(Point, st.integers(), st.just(1))


@settings(max_examples=60)
@given(value=_VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    packed = pack(value, lambda _: "")
    assert unpack(packed) == value
    assert type(unpack(packed)) is type(value)


def test_text_that_looks_like_a_template_is_never_filled_in() -> None:
    @workflow
    def flow() -> Any:
        return describe(["{{ params.x }}", {MARK: "pickle", "of": ""}])

    (chain,) = Generator(flow.program(), {}).begin()
    assert unpack(chain.calls[0].inputs["args"]) == [["{{ params.x }}", {MARK: "pickle", "of": ""}]]


def test_large_values_go_into_files(tmp_path: Path) -> None:
    flow = workflow(lambda: across([point(1), Point(2, 3)]), name="flow").using(folder=tmp_path)
    assert "values" not in {path.name for path in tmp_path.iterdir()}
    flow.program()
    big = workflow(lambda: describe(b"x" * (INLINE + 1)), name="big").using(folder=tmp_path)
    step = steps_of(big.program())["describe"]
    assert Path(step.inputs["args"][0]["of"]).parent == tmp_path / "values"


def test_the_digest_of_a_function_follows_its_code_and_what_it_uses() -> None:
    def make(text: str, **names: Any) -> Any:
        space: dict[str, Any] = {"__name__": "made", **names}
        exec(text, space)  # noqa: S102 - a function in two versions
        return space["f"]

    one = digest(make("def f(x):\n    return x + 1"))
    assert digest(make("def f(x):\n\n    # why\n    return x + 1")) == one
    assert digest(make("def f(x):\n    return x + 2")) != one
    helped = "def g(x):\n    return x * {}\ndef f(x):\n    return g(x)"
    assert digest(make(helped.format(2))) != digest(make(helped.format(3)))
    used = "def f(x):\n    return x + y"
    assert digest(make(used, y=1)) != digest(make(used, y=2)) == digest(make(used, y=2))


def test_a_task_cannot_be_given_settings_that_do_not_exist() -> None:
    with pytest.raises(TypeError, match="cpu"):
        task(cpu=3)(lambda: 1)  # type: ignore[call-overload]
