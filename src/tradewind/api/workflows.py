"""Workflows: functions that call tasks; calling one records a graph, which then runs."""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from tradewind.api.graph import Graph, current
from tradewind.api.values import TooLargeError
from tradewind.model.program import Program

if TYPE_CHECKING:
    from tradewind.api.place import Place
    from tradewind.api.runs import Run

P = ParamSpec("P")
T = TypeVar("T")


class Workflow(Generic[P, T]):
    """A function that calls tasks and runs as a whole."""

    def __init__(self, function: Callable[P, T], name: str = "", place: "Place | None" = None) -> None:
        self.function = function
        self.name = name or function.__name__
        self._place = place
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function: inside another workflow it becomes part of that, elsewhere tasks are called directly."""
        return self.function(*args, **kwargs)

    def map(self, first: Iterable[Any], /, *more: Iterable[Any], **same: Any) -> list[T]:
        """Run the workflow for each item of a list, known or future, like `Task.map`."""
        graph = current.get()
        call = cast("Callable[..., T]", self.function)
        if graph is None:
            return [call(*row, **same) for row in zip(first, *more, strict=True)]
        return cast("list[T]", graph.loop(self.name, (first, *more), lambda items: call(*items, **same)))

    def using(self, **changes: Any) -> "Workflow[P, T]":
        """Return the same workflow with other settings for where and how it runs; see `Place`.

        With a `server` or a `profile`, `run` and `start` run it on that server.
        """
        if "folder" in changes:
            changes["folder"] = Path(changes["folder"])
        return Workflow(self.function, self.name, replace(self.place, **changes))

    @property
    def place(self) -> "Place":
        """Return where it runs."""
        if self._place is None:
            from tradewind.api.place import Place  # noqa: PLC0415 - slow

            self._place = Place()
        return self._place

    def run(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run it on this host, or on the selected server, and return its result."""
        if self.place.is_remote:
            return self.submit(*args, **kwargs).result()
        from tradewind.api.runs import Embedded, Run  # noqa: PLC0415 - slow

        way = Embedded(self.program(*args, **kwargs), self.place)
        if threading.current_thread() is threading.main_thread() and not _is_in_loop():
            return way.wait()  # type: ignore[no-any-return]
        return Run[T](way).result()

    def start(self, *args: P.args, **kwargs: P.kwargs) -> "Run[T]":
        """Start it like `run`, and return a run to await or to ask for its `result`."""
        if self.place.is_remote:
            return self.submit(*args, **kwargs)
        from tradewind.api.runs import Embedded, Run  # noqa: PLC0415 - slow

        return Run(Embedded(self.program(*args, **kwargs), self.place))

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> "Run[T]":
        """Submit it to a server; the run continues there if this process ends."""
        from tradewind.api.remote import Remote  # noqa: PLC0415 - slow
        from tradewind.api.runs import Run  # noqa: PLC0415

        graph = Graph(_refuse, is_remote=True, uses_cache=self.place.cache)
        return Run(Remote(self._drawn(graph, *args, **kwargs), self.place))

    def program(self, *args: P.args, **kwargs: P.kwargs) -> Program:
        """Return the program for a call, as it would run on this host."""
        folder = self.place.folder.resolve() / "values"
        return self._drawn(Graph(lambda data: _kept(folder, data)), *args, **kwargs)

    def _drawn(self, graph: Graph, *args: P.args, **kwargs: P.kwargs) -> Program:
        token = current.set(graph)
        try:
            program = graph.program(self.name, self.function(*args, **kwargs))
        finally:
            current.reset(token)
        return replace(program, priority=self.place.priority, deadline=self.place.due)

    def __repr__(self) -> str:
        return f"<workflow {self.name}>"


@overload
def workflow(function: Callable[P, T], /, *, name: str = ...) -> Workflow[P, T]: ...
@overload
def workflow(*, name: str = ...) -> Callable[[Callable[P, T]], Workflow[P, T]]: ...
def workflow(function: Callable[P, T] | None = None, /, *, name: str = "") -> Any:
    """Make a function that calls tasks a workflow: `@workflow`, or `@workflow(name=…)`."""
    if function is not None:
        return Workflow(function, name)
    return lambda given: Workflow(given, name)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _kept(folder: Path, data: bytes) -> str:
    """Store a large value in a file named after its contents."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.pkl"
    if not path.exists():
        part = path.with_suffix(f".{threading.get_ident()}")
        part.write_bytes(data)
        part.replace(path)
    return str(path)


def _refuse(data: bytes) -> str:
    size = len(data) // 1000
    raise TooLargeError(f"an argument of {size} kB is too large for a server; put it where its tasks can read it")
