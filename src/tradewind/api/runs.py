"""Runs of Python workflows: start them, wait in synchronous or asynchronous code, and return their results."""

import asyncio
import logging
import pickle
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from tradewind.api.errors import RemoteTraceback, RunError, RunInterruptedError, TaskError
from tradewind.api.place import Place
from tradewind.api.values import unpack
from tradewind.api.worker import EXCEPTION
from tradewind.core.log import Record, Sink
from tradewind.core.state import State
from tradewind.live.port import Failure
from tradewind.live.session import Result, Session
from tradewind.model.command import Predicted
from tradewind.model.program import Program
from tradewind.model.units import show_duration

T = TypeVar("T")

_log = logging.getLogger("tradewind")
_busy: dict[Path, threading.Lock] = {}
"""One run at a time in each folder."""


class Way(Protocol):
    """How a run is carried out."""

    def wait(self) -> Any:
        """Return the result of the run when it has ended."""

    def cancel(self) -> None:
        """Cancel the run."""


class Run(Generic[T]):
    """A run in progress: call `result`, or await it."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._value: Any = None
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="tradewind run", daemon=True)
        self._thread.start()

    def result(self, timeout: float | None = None) -> T:
        """Return the result of the workflow when it is available; exceptions of tasks are raised again."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError("the run has not ended yet")
        if self._problem is not None:
            raise self._problem
        return self._value  # type: ignore[no-any-return]

    def done(self) -> bool:
        """Return whether it has ended, successfully or not."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Cancel the run."""
        self._way.cancel()

    def __await__(self) -> Generator[Any, None, T]:
        return self._awaited().__await__()

    async def _awaited(self) -> T:
        try:
            await asyncio.to_thread(self._thread.join)
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self.result()

    def _work(self) -> None:
        try:
            self._value = self._way.wait()
        except BaseException as problem:  # raised again in the waiting thread
            self._problem = problem


class Embedded:
    """A run on this host."""

    def __init__(self, program: Program, place: Place) -> None:
        self._program = program
        self._place = place
        self._session = Session(place.settings(), [_warning], _log.warning)

    def wait(self) -> Any:
        """Run it to its end."""
        settings = self._place.settings()
        with _busy.setdefault(settings.folder, threading.Lock()):
            result = self._session.run(self._program, {}, uses_cache=self._place.cache)
        if result.status == "done":
            return unpack(result.outputs["result"])
        raise problem_of(result)

    def cancel(self) -> None:
        """Stop it; it can be resumed."""
        self._session.interrupt()


def _warning(state: State) -> Sink:
    """Return a sink that warns of predicted deadline misses."""

    def sink(record: Record) -> None:
        if isinstance(record, Predicted) and record.slack is not None and record.slack < 0:
            late = show_duration(-record.slack)
            _log.warning("%s will miss its deadline by %s (%s)", state.runs[record.run].name, late, record.because)

    return sink


def problem_of(result: Result) -> BaseException:
    """Return the exception for a run that did not succeed: that of the task, if available."""
    if result.status == "interrupted":
        return RunInterruptedError(f"the run {result.id} was interrupted; `tradewind run --resume` continues it")
    if not result.failures:
        return RunError("; ".join(result.reasons) or f"the run {result.id} has {result.status}")
    failure = result.failures[0]
    return brought_back(failure, _left(failure))


def brought_back(failure: Failure, left: bytes | None) -> BaseException:
    """Return the exception of a task with its origin, or one that describes what is known."""
    report = failure.report
    where = f"in task {report.call or failure.chain}; its files are in {failure.folder}"
    problem: BaseException | None = None
    text = report.tail
    if left is not None:
        try:
            problem, text = pickle.loads(left)  # noqa: S301 - from our own worker
        except Exception as error:  # a class that is unknown here
            text = f"{text}\n(the exception could not be unpickled: {error})"
    if problem is None:
        problem = TaskError(f"{report.call or failure.chain}: {report.reason}")
    problem.__cause__ = RemoteTraceback(text)
    problem.add_note(where)
    return problem


def _left(failure: Failure) -> bytes | None:
    """Return the pickled exception of a failed task; in a chain, each call has its own folder."""
    folder = Path(failure.folder)
    found = [path for path in (folder / EXCEPTION, *sorted(folder.glob(f"*/{EXCEPTION}"))) if path.exists()]
    return found[0].read_bytes() if found else None
