"""Tasks: functions that run as steps, on machines that offer what they ask for."""

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
    """What a task asks for, and how it is run."""

    requirement: Requirement = ANYTHING
    retries: Retries = NO_RETRIES
    limits: Limits = NO_LIMITS
    runtime: Duration | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    cache: bool = False
    alone: bool = False
    checkpoint: bool = False

    def step(
        self,
        identity: str,
        name: str,
        action: Action,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Output],
        needs: tuple[str, ...],
    ) -> Step:
        """The step of a call of the task."""
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
    """A function that runs as a step of a workflow; anywhere else it is called as what it is."""

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
        """Call the function; in a workflow, what comes back stands for the value that will be there."""
        graph = current.get()
        if graph is None:
            return self.function(*args, **kwargs)
        return cast("T", graph.call(self, args, kwargs))

    def future(self, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The same, for those who want to see in the types that the value is not there yet."""
        graph = current.get()
        if graph is None:
            raise GraphError("there are futures only in workflows")
        return cast("Future[T]", graph.call(self, args, kwargs))

    def map(self, first: Iterable[Any], /, *more: Iterable[Any], **same: Any) -> list[T]:
        """Call it for each item of a list, known or not yet known; of several lists, for the items side by side.

        What is given by name is the same for all calls.
        """
        graph = current.get()
        call = cast("Callable[..., T]", self)
        if graph is None:
            return [call(*row, **same) for row in zip(first, *more, strict=True)]
        return cast("list[T]", graph.loop(self.name, (first, *more), lambda items: call(*items, **same)))

    def after(self, *others: Any) -> "Task[P, T]":
        """The same task, to be called only after other calls have ended, whose values it does not need."""
        if not all(isinstance(other, Future) for other in others):
            raise GraphError("a task can wait for results of tasks of the same workflow only")
        return Task(self.function, self.name, self.settings, (*self.afters, *others))

    def options(self, **changes: Any) -> "Task[P, T]":
        """The same task with other settings, named as in `@task`."""
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
) -> Settings:
    """Settings with some of them changed."""
    counts = dict(base.requirement.amounts) | dict(amounts or {})
    for name, count in (("cpus", cpus), ("gpus", gpus)):
        counts |= {} if count is None else {name: count}
    if memory is not None:
        counts["memory"] = parse_size(memory)
    words = base.requirement.capabilities if capabilities is None else frozenset(capabilities)
    found = Requirement(words, amounts_of(counts))
    changes: dict[str, Any] = {"requirement": ANYTHING if found == ANYTHING else found}
    if retries is not None:
        retry = Retry(retries + 1, delay=parse_duration(retry_delay or 0))
        changes["retries"] = Retries(retry, retry, retry, growth=2.0)
    if timeout is not None or silence is not None:
        changes["limits"] = Limits(*(None if each is None else parse_duration(each) for each in (timeout, silence)))
    if runtime is not None:
        changes["runtime"] = parse_duration(runtime)
    if env is not None:
        changes["environment"] = dict(env)
    flags = {"cache": cache, "alone": alone, "checkpoint": checkpoint}
    changes |= {name: value for name, value in flags.items() if value is not None}
    return replace(base, **changes)


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
) -> Callable[[Callable[P, T]], Task[P, T]]: ...
def task(function: Callable[P, T] | None = None, /, *, name: str = "", **settings: Any) -> Any:
    """Make a task of a function: `@task`, or `@task(cpus=2, memory="1GB", retries=3)`."""
    found = settings_of(Settings(), **settings)
    if function is not None:
        return Task(function, name, found)
    return lambda given: Task(given, name, found)
