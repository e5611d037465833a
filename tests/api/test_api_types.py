"""What a type checker sees of tasks and workflows; mypy checks this file."""

from typing import TYPE_CHECKING, Any, assert_type

from api_tasks import numbers, square, sum_of_squares, total

from tradewind import Future

if TYPE_CHECKING:
    from tradewind.api.runs import Run


def test_a_task_is_seen_as_the_function_that_it_was() -> None:
    assert_type(square(3), int)
    assert_type(square.map([1, 2]), list[int])
    assert_type(total(square.map(numbers(2)), scale=2), int)
    assert square(3) == 9


def checked_only() -> None:
    """Never called: what would need a run, and what must be refused."""
    assert_type(square.future(3), Future[int])
    assert_type(sum_of_squares.run(3), int)
    run: Run[int] = sum_of_squares.start(3)
    assert_type(run.result(), int)
    square("text")  # type: ignore[arg-type]
    square()  # type: ignore[call-arg]
    sum_of_squares.submit(3, more=1)  # type: ignore[call-arg]
    square.options(cpus=2)(3)


def test_options_are_those_of_the_decorator() -> None:
    settings: dict[str, Any] = {"cpus": 2, "capabilities": ["x"]}
    assert square.options(**settings).settings.requirement.capabilities == {"x"}
