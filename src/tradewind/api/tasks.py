"""Tasks: functions that run as steps, on machines that meet their requirements."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from tradewind.api.graph import Future, GraphError, current
from tradewind.model.action import NO_LIMITS, Action, Limits, Output
from tradewind.model.program import NO_RETRIES, Retries, Step
from tradewind.model.requirement import ANYTHING, Requirement, amounts_of
from tradewind.model.units import Duration, parse_duration, parse_size
from tradewind.model.workflow import Retry

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """The requirements and settings of a task."""

    requirement: Requirement = ANYTHING
    retries: Retries = NO_RETRIES
    limits: Limits = NO_LIMITS
    runtime: Duration | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    cache: bool = False
    alone: bool = False
    checkpoint: bool = False
    expect: int | None = None
    """How many items its `map` is expected to have."""

    def step(
        self,
        identity: str,
        name: str,
        action: Action,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Output],
        needs: tuple[str, ...],
    ) -> Step:
        """Return the step for a call of the task."""
        return Step(
            identity,
            name,
            action,
            needs=needs,
            inputs=inputs,
            outputs=outputs,
            requirement=self.requirement,
            runtime=self.runtime,
            retries=self.retries,
            limits=self.limits,
            environment=self.environment,
            checkpoint=self.checkpoint,
            alone=self.alone,
            cache=self.cache,
        )


class Task(Generic[P, T]):
    """A function that runs as a step of a workflow; outside a workflow it is a plain function."""

    def __init__(
        self,
        function: Callable[P, T],
        name: str = "",
        settings: Settings = Settings(),  # noqa: B008 - frozen
        afters: tuple[Future[Any], ...] = (),
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        self.settings = settings
        self.afters = afters
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function; in a workflow, return a placeholder for its result."""
        graph = current.get()
        if graph is None:
            return self.function(*args, **kwargs)
        return cast("T", graph.call(self, args, kwargs))

    def future(self, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the same call typed as a future."""
        graph = current.get()
        if graph is None:
            raise GraphError("futures exist only in workflows")
        return cast("Future[T]", graph.call(self, args, kwargs))

    def map(self, first: Iterable[Any], /, *more: Iterable[Any], **same: Any) -> list[T]:
        """Call it for each item of a list, known or future; with several lists, for their items in parallel.

        Keyword arguments are the same for all calls.
        """
        graph = current.get()
        call = cast("Callable[..., T]", self)
        if graph is None:
            return [call(*row, **same) for row in zip(first, *more, strict=True)]
        each = self.settings.expect
        return cast("list[T]", graph.loop(self.name, (first, *more), lambda items: call(*items, **same), expected=each))

    def after(self, *others: Any) -> "Task[P, T]":
        """Return the same task, to be called only after other calls have ended, whose values it does not use."""
        if not all(isinstance(other, Future) for other in others):
            raise GraphError("a task can only wait for results of tasks in the same workflow")
        return Task(self.function, self.name, self.settings, (*self.afters, *others))

    def options(self, **changes: Any) -> "Task[P, T]":
        """Return the same task with other settings, named as in `@task`."""
        name = changes.pop("name", self.name)
        return Task(self.function, name, settings_of(self.settings, **changes), self.afters)

    def __reduce__(self) -> Any:
        return Task, (self.function, self.name)

    def __repr__(self) -> str:
        return f"<task {self.name}>"


def settings_of(
    base: Settings,
    *,
    cpus: int | None = None,
    memory: str | int | None = None,
    gpus: int | None = None,
    amounts: Mapping[str, int] | None = None,
    capabilities: Iterable[str] | None = None,
    retries: int | None = None,
    retry_delay: str | float | None = None,
    timeout: str | float | None = None,
    silence: str | float | None = None,
    runtime: str | float | None = None,
    env: Mapping[str, str] | None = None,
    cache: bool | None = None,
    alone: bool | None = None,
    checkpoint: bool | None = None,
    expect: int | None = None,
) -> Settings:
    """Return settings with some of them changed; a `ValueError` names an invalid one."""
    counts = dict(base.requirement.amounts)
    for name, count in (dict(amounts or {}) | {"cpus": cpus, "gpus": gpus}).items():
        counts |= {} if count is None else {name: _count(name, count)}
    if memory is not None:
        counts["memory"] = _parsed("memory", parse_size, memory)
    words = base.requirement.capabilities if capabilities is None else _words(capabilities)
    found = Requirement(words, amounts_of(counts))
    changes: dict[str, Any] = {"requirement": ANYTHING if found == ANYTHING else found}
    if retries is not None or retry_delay is not None:
        changes["retries"] = _retries(base.retries.error, retries, retry_delay)
    limits = {"run": ("timeout", timeout), "silence": ("silence", silence)}
    changes["limits"] = replace(
        base.limits, **{kind: _positive(*given) for kind, given in limits.items() if given[1] is not None}
    )
    if runtime is not None:
        changes["runtime"] = _parsed("runtime", parse_duration, runtime)
    if env is not None:
        changes["environment"] = {name: _text(name, value) for name, value in env.items()}
    flags = {"cache": cache, "alone": alone, "checkpoint": checkpoint}
    changes |= {name: _flag(name, value) for name, value in flags.items() if value is not None}
    if expect is not None:
        changes["expect"] = _count("expect", expect)
    return replace(base, **changes)


def _count(name: str, count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"{name} must be a non-negative integer, not {count!r}")
    return count


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}")  # noqa: TRY004
    return value


def _parsed(name: str, parse: Callable[[Any], int], given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError(f"{name}: {given!r} is neither a number nor text with a unit")  # noqa: TRY004
    try:
        return parse(given)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _positive(name: str, given: Any) -> Duration:
    length = _parsed(name, parse_duration, given)
    if length <= 0:
        raise ValueError(f"{name} must be greater than zero, not {given!r}")
    return length


def _words(capabilities: Iterable[str]) -> frozenset[str]:
    if isinstance(capabilities, str):
        raise ValueError(f"capabilities must be a list of words, such as [{capabilities!r}]")  # noqa: TRY004
    return frozenset(capabilities)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"env: {name} must be text, not {value!r}")  # noqa: TRY004
    return value


def _retries(base: Retry, retries: Any, delay: Any) -> Retries:
    attempts = base.attempts if retries is None else _count("retries", retries) + 1
    if attempts == 1 and delay is not None:
        raise ValueError("retry_delay has no effect without retries; set retries, too")
    length = base.delay if delay is None else _parsed("retry_delay", parse_duration, delay)
    retry = Retry(attempts, delay=length)
    return Retries(retry, retry, retry, growth=2.0)


@overload
def task(function: Callable[P, T], /) -> Task[P, T]: ...
@overload
def task(
    *,
    name: str = ...,
    cpus: int | None = ...,
    memory: str | int | None = ...,
    gpus: int | None = ...,
    amounts: Mapping[str, int] | None = ...,
    capabilities: Iterable[str] | None = ...,
    retries: int | None = ...,
    retry_delay: str | float | None = ...,
    timeout: str | float | None = ...,
    silence: str | float | None = ...,
    runtime: str | float | None = ...,
    env: Mapping[str, str] | None = ...,
    cache: bool | None = ...,
    alone: bool | None = ...,
    checkpoint: bool | None = ...,
    expect: int | None = ...,
) -> Callable[[Callable[P, T]], Task[P, T]]: ...
def task(function: Callable[P, T] | None = None, /, *, name: str = "", **settings: Any) -> Any:
    """Make a function a task: `@task`, or `@task(cpus=2, memory="1GB", retries=3)`."""
    found = settings_of(Settings(), **settings)
    if function is not None:
        return Task(function, name, found)
    return lambda given: Task(given, name, found)
