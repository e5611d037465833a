"""The warm interpreter: a process that calls Python functions, one after the other, for as long as its worker lives.

It runs consecutive functions of a chain without coming back in between. A module that was imported once is not read
again, even if its file changes: a new machine, or a crash, gives a new interpreter.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH102

import importlib
import os
import resource
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from tradewind.live.worker import outputs, processes
from tradewind.live.worker.capture import Capture
from tradewind.live.worker.failure import Failure, unwritable
from tradewind.live.worker.inputs import resolve
from tradewind.live.worker.wire import Link, PackedCall, frame


class Visit(NamedTuple):
    """Functions to be called, one after the other."""

    calls: list[PackedCall]
    folders: list[str]
    fresh: bool
    """Whether the folders have been made."""
    variables: dict[str, str]
    results: dict[str, dict[str, Any]]
    """Outputs of the calls before these."""


class Reply(NamedTuple):
    """How a visit ended."""

    results: dict[str, dict[str, Any]]
    """Outputs of the calls that ended well."""
    cause: str
    """Of the failure of the next one; empty: there was none."""
    reason: str
    cpu: float
    memory: int
    children: bool
    """Whether a function has left processes behind."""


class Interpreter:
    """Calls functions for a worker."""

    def __init__(self, spools: tuple[int, int]) -> None:
        self._capture = Capture(spools)
        self._functions: dict[str, Callable[..., Any]] = {}
        self._exported: dict[str, str] = {}
        self._before: dict[str, str | None] = {}
        self._statm = os.open("/proc/self/statm", os.O_RDONLY) if processes.LINUX else None

    def visit(self, visit: Visit) -> Reply:
        """Call functions until one fails."""
        cpu, most = _usage()
        known = dict(visit.results)
        new: dict[str, dict[str, Any]] = {}
        cause = reason = ""
        for values, folder in zip(visit.calls, visit.folders, strict=True):
            call = PackedCall(*values)
            try:
                if not visit.fresh:
                    _make(folder)
                self._export({**visit.variables, "TRADEWIND_TASK_ID": call.id, **call.environment})
                known[call.id] = new[call.id] = self._call(call, folder, known)
            except Failure as failure:
                cause, reason = failure.cause, failure.reason
                break
        cpu_after, peak = _usage()
        memory = peak if peak > most else self._resident() or peak
        return Reply(new, cause, reason, cpu_after - cpu, memory, _has_children())

    def _call(self, call: PackedCall, folder: str, known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        try:
            os.chdir(folder)
        except OSError as problem:
            raise unwritable(folder, problem) from None
        self._capture.begin(folder)
        try:
            values = resolve(call.inputs, known) if call.inputs else {}
            returned = self._function(call.target)(**values)
        except Failure:
            raise
        except SystemExit as end:
            if end.code:
                raise Failure("error", f"exit code {end.code}") from None
            returned = None
        except BaseException as problem:
            raise _told(problem) from None
        finally:
            self._capture.end()
        try:
            return outputs.collect(call, folder, returned) if call.outputs else {}
        except Failure:
            raise
        except Exception as problem:  # what was returned may be of any kind
            raise _told(problem) from None

    def _resident(self) -> int:
        """Bytes in use now, where the system tells."""
        return 0 if self._statm is None else int(os.pread(self._statm, 256, 0).split()[1]) * processes.PAGE

    def _function(self, target: str) -> Callable[..., Any]:
        found = self._functions.get(target)
        if found is None:
            module, _, name = target.partition(":")
            try:
                here: Any = importlib.import_module(module)
                for part in name.split("."):
                    here = getattr(here, part)
            except (ImportError, AttributeError, ValueError) as problem:
                _print(problem)
                raise Failure("start", f"cannot load {target!r}: {problem}") from None
            found = self._functions[target] = here
        return found

    def _export(self, wanted: dict[str, str]) -> None:
        """Set the variables of a call, and undo those of the call before."""
        exported = self._exported
        if wanted == exported:
            return
        for name in exported.keys() - wanted.keys():
            before = self._before.pop(name)
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before
        for name, value in wanted.items():
            if exported.get(name) != value:
                self._before.setdefault(name, os.environ.get(name))
                os.environ[name] = value
        self._exported = wanted


def serve(sock: socket.socket, spools: tuple[int, int]) -> None:
    """Answer until the worker is gone."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    interpreter = Interpreter(spools)
    link = Link(sock)
    sock.setblocking(True)  # noqa: FBT003
    while (messages := link.read()) is not None:
        for message in messages:
            data = frame(tuple(interpreter.visit(Visit(*message))))
            while not link.write(data):
                data = b""


def _make(folder: str) -> None:
    try:
        os.mkdir(folder)
    except OSError as problem:
        raise unwritable(folder, problem) from None


def _told(problem: BaseException) -> Failure:
    _print(problem)
    cause = "memory" if isinstance(problem, MemoryError) else "error"
    shown = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
    return Failure(cause, shown.splitlines()[0][:500])


def _print(problem: BaseException) -> None:
    import traceback  # noqa: PLC0415 - seldom needed

    below = problem.__traceback__.tb_next if problem.__traceback__ else None
    with suppress(Exception):  # a disk may be full, or what is printed broken
        traceback.print_exception(type(problem), problem, below, file=sys.stderr)


def _usage() -> tuple[float, int]:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return cpu, max(own.ru_maxrss, children.ru_maxrss) * processes.UNIT


def _has_children() -> bool:
    if not hasattr(os, "waitid"):  # before Python 3.13 macOS has none
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
