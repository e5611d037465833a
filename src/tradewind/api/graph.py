"""The graph that a workflow function builds when it is called: each task call becomes a step."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from tradewind.api.code import digest, reference
from tradewind.api.values import MARK, pack
from tradewind.model.action import Function, Output
from tradewind.model.program import Loop, Program, Step
from tradewind.model.scope import TAKEN

if TYPE_CHECKING:
    from tradewind.api.tasks import Task

T = TypeVar("T")

CALL = "tradewind.api.worker:call"
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")


class GraphError(TypeError):
    """A workflow function that cannot be recorded as a graph, such as one that branches on a future."""


class Spot(NamedTuple):
    """Where a value will be found."""

    graph: "Graph"
    expression: str
    scope: tuple[str, ...]
    """The loops inside which it is visible."""
    step: str = ""
    """The step that produces it; empty: it is an item of a loop."""
    node: "Node | None" = None
    keys: tuple[Any, ...] = ()
    """Path to the part that is meant."""


class Future(Generic[T]):
    """A placeholder for the result of a step; pass it to other tasks, or return it."""

    __slots__ = ("spot",)

    def __init__(self, spot: Spot) -> None:
        self.spot = spot

    def __getitem__(self, key: Any) -> "Future[Any]":
        """Return a part of the value: an item of a list, an entry of a mapping."""
        return Future(self.spot._replace(keys=(*self.spot.keys, key)))

    def __iter__(self) -> NoReturn:
        raise GraphError("the number of items is not known yet; use task.map(values), or values[0]")

    def __bool__(self) -> NoReturn:
        raise GraphError("the value is not known yet; move the condition into a task")

    def __repr__(self) -> str:
        return f"Future({self.spot.expression})"


class Node:
    """The state of a step while the graph is built."""

    __slots__ = ("split",)

    def __init__(self) -> None:
        self.split = False
        """Whether its result is mapped over."""


class Graph:
    """The steps recorded so far."""

    def __init__(self, spill: Callable[[bytes], str], *, is_remote: bool = False, uses_cache: bool = True) -> None:
        self._spill = spill
        self._uses_cache = uses_cache
        self._is_remote = is_remote
        self._ids: set[str] = set(TAKEN)
        self._scope: tuple[str, ...] = ()
        self._body: list[tuple[Step, Node | None]] = []
        self._functions: dict[int, tuple[Any, str]] = {}

    def call(self, task: "Task[Any, Any]", args: Sequence[Any], kwargs: Mapping[str, Any]) -> Future[Any]:
        """Add a step that calls a task."""
        identity = self._fresh(task.name)
        function, version = self._function(task)
        inputs = {
            "function": function,
            "args": [self.packed(value) for value in args],
            "kwargs": {name: self.packed(value) for name, value in kwargs.items()},
        }
        outputs = {"value": Output(value="return")}
        settings = task.settings if self._uses_cache else replace(task.settings, cache=False)
        if settings.cache:
            outputs["files"] = Output("value-*.pkl", many=True, optional=True)
        node = Node()
        needs = tuple(dict.fromkeys(self._step_of(future) for future in task.afters))
        step = settings.step(identity, task.name, Function(CALL, version), inputs, outputs, needs)
        self._body.append((step, node))
        return Future(Spot(self, f"steps[{json.dumps(identity)}].value", self._scope, identity, node))

    def loop(
        self,
        name: str,
        lists: Sequence[Iterable[Any]],
        body: Callable[[list[Any]], Any],
        *,
        expected: int | None = None,
    ) -> Future[Any]:
        """Add a loop over the items of a list, or of several lists of the same length in parallel.

        `expected`: the expected number of items, for policies that look ahead.
        """
        over = self._over(lists)
        identity, variable = self._fresh(f"each_{name}"), self._fresh("item", "_")
        around, scope = self._body, self._scope
        self._body, self._scope = [], (*scope, identity)
        try:
            marks = [variable] if len(lists) == 1 else [f"{variable}[{at}]" for at in range(len(lists))]
            given = self.packed(body([Future(Spot(self, mark, self._scope)) for mark in marks]))
            inside = self._steps()
        finally:
            self._body, self._scope = around, scope
        if not inside:
            raise GraphError(f"{name} calls no task, so there is nothing to do for each item")
        step = Step(identity, name, steps=inside, gives={"value": given}, loop=Loop(over, variable, expected=expected))
        self._body.append((step, None))
        return Future(Spot(self, f"steps[{json.dumps(identity)}].value", scope, identity))

    def program(self, name: str, result: Any) -> Program:
        """Return the recorded program with its outputs."""
        steps = self._steps()
        return Program(_UNFIT.sub("_", name), steps, outputs={"result": self.packed(result)})

    def packed(self, value: Any) -> Any:
        """Return a value as JSON, with futures anywhere in lists, tuples and mappings."""
        if isinstance(value, Future):
            return self._looked_up(value)
        kind = type(value)
        if kind in (list, tuple) and _holds_futures(value):
            items = [self.packed(item) for item in value]
            return items if kind is list else {MARK: "tuple", "of": items}
        if kind is dict and _holds_futures(list(value.values())):
            if not all(type(key) is str for key in value):
                raise GraphError("keys of a mapping with results of tasks must be text")
            return {key: self.packed(item) for key, item in value.items()}
        return pack(value, self._spill)

    def _steps(self) -> tuple[Step, ...]:
        """Return the final steps of the current body."""
        found = []
        for step, node in self._body:
            if node is not None and node.split:
                found.append(replace(step, inputs={**step.inputs, "split": True}))
            else:
                found.append(step)
        return tuple(found)

    def _looked_up(self, future: Future[Any]) -> Any:
        self._check(future)
        value = f"{{{{ {future.spot.expression} }}}}"
        if not future.spot.keys:
            return value
        return {MARK: "part", "of": value, "path": [pack(key, self._spill) for key in future.spot.keys]}

    def _check(self, future: Future[Any]) -> None:
        if future.spot.graph is not self:
            raise GraphError("a result of one run cannot be used in another; return it, and pass its value")
        if future.spot.scope != self._scope[: len(future.spot.scope)]:
            raise GraphError(
                "results of tasks inside a map are only visible through the return value of the mapped workflow"
            )

    def _over(self, lists: Sequence[Iterable[Any]]) -> Any:
        if not lists:
            raise GraphError("map needs at least one list")
        if len(lists) == 1 and not isinstance(lists[0], Future):
            return [self.packed(item) for item in lists[0]]
        if any(isinstance(each, Future) for each in lists):
            sides = [self._side(each) for each in lists]
            both = sides[0] if len(sides) == 1 else f"zip({', '.join(sides)})"
            return f"{{{{ {both} }}}}"
        rows = list(zip(*lists, strict=True))
        return [[self.packed(item) for item in row] for row in rows]

    def _side(self, given: Iterable[Any]) -> str:
        """Return an expression for a list to be mapped over."""
        if not isinstance(given, Future):
            return json.dumps([self.packed(item) for item in given])
        if given.spot.keys:
            raise GraphError("a part of a result cannot be mapped over; return it from a task of its own")
        self._check(given)
        if given.spot.node is not None:
            given.spot.node.split = True
        return given.spot.expression

    def _step_of(self, future: Future[Any]) -> str:
        self._check(future)
        if not future.spot.step:
            raise GraphError("an item of a list already exists; wait for the result of a task")
        return future.spot.step

    def _function(self, task: "Task[Any, Any]") -> tuple[Any, str]:
        found = self._functions.get(id(task.function))
        if found is None:
            function = reference(task.function, None if self._is_remote else self._spill)
            found = self._functions[id(task.function)] = (function, digest(task.function))
        return found

    def _fresh(self, wanted: str, between: str = "-") -> str:
        name = _UNFIT.sub("_", wanted)[:80]
        name = name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"
        identity, number = name, 1
        while identity in self._ids:
            number += 1
            identity = f"{name}{between}{number}"
        self._ids.add(identity)
        return identity


current: ContextVar[Graph | None] = ContextVar("current", default=None)
"""The graph being built; None: tasks are called as plain functions."""


def _holds_futures(values: Iterable[Any]) -> bool:
    return any(
        isinstance(value, Future)
        or (type(value) in (list, tuple) and _holds_futures(value))
        or (type(value) is dict and _holds_futures(value.values()))
        for value in values
    )
