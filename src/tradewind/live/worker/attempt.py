"""An attempt on its way: its calls one after the other, its limits, and its end with all its processes.

Layout on disk: with one call, its files lie in the attempt's folder; with several, each call has a folder in there,
`1-trim`, `2-align.0`, … A command leaves `command.sh`, `out`, `err` and `exitcode`; a function `out` and `err` if it
wrote anything. Of a function that was called alone, returns nothing and leaves no file, no folder remains.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH102, PTH103, PTH112

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from resource import struct_rusage
from typing import TYPE_CHECKING, Any, TypeVar, cast

from tradewind.live.worker import command, containers, outputs, processes, streams
from tradewind.live.worker.failure import Failure, unwritable
from tradewind.live.worker.inputs import resolve
from tradewind.live.worker.interpreter import Reply, Visit
from tradewind.live.worker.strays import MARK
from tradewind.live.worker.watch import Watch
from tradewind.live.worker.wire import PackedCall, PackedOrder

if TYPE_CHECKING:
    from tradewind.live.worker.worker import Worker

_KILLED = 128 + signal.SIGKILL
_PAUSE = 1.0
"""Seconds between two looks whether there is room on a full disk."""


Method = TypeVar("Method", bound=Callable[..., None])


def guarded(method: Method) -> Method:
    """Let what nobody thought of break one attempt, and not the worker."""

    def attempted(self: "Attempt", *values: Any) -> None:
        try:
            method(self, *values)
        except Exception as problem:
            sys.excepthook(*sys.exc_info())
            self.break_off(Failure("error", f"the worker could not cope: {problem!r}"))

    return cast("Method", wraps(method)(attempted))


class Attempt:
    """Runs an order; reports to its worker once nothing of it is left."""

    def __init__(self, worker: "Worker", order: PackedOrder) -> None:
        self.order = order
        self.key = f"{worker.name}.{order.unit}.{order.attempt}"
        self.quiet = False
        """Whether nobody wants to know how it ends."""
        self.serial = 0
        """Changes when a wake-up that was asked for has lost its meaning."""
        self.stopped: Failure | None = None
        """Why it is being stopped."""
        self._worker = worker
        self._results: dict[str, dict[str, Any]] = {}
        self._made = False
        """Whether its folder is there."""
        self._ready: tuple[str, dict[str, Any]] | None = None
        """Its next command, if it is prepared, and the values of its inputs."""
        self._at = 0
        self._lead = 0
        self._leads: list[int] = []
        self._folders: list[str] = []
        self._failure: Failure | None = None
        self._ended = False
        self._settling = False
        self._until = 0.0
        self._cpu = 0.0
        self._memory = 0
        self._tool = ""
        self._again: Callable[[], None] | None = None
        """What is to be tried again once there is room on the disk."""
        self._full_since = 0.0

    def prepare(self) -> None:
        """Do before its turn what a lone command needs; whatever is in the way will be met again when it begins."""
        calls = self.order.calls
        if len(calls) == 1 and calls[0].kind != "function":
            with suppress(Exception):
                self._make_folder()
                self._ready = self._prepare(calls[0], self.order.folder)

    def forsake(self) -> None:
        """Take back what was prepared."""
        if self._made:
            import shutil  # noqa: PLC0415 - seldom needed

            shutil.rmtree(self.order.folder, ignore_errors=True)

    @guarded
    def begin(self) -> None:
        """Make its folder and begin its first call."""
        self._worker.strays.alive.add(self.key)
        try:
            self._make_folder()
        except OSError as problem:
            self._fail_or_wait(unwritable(self.order.folder, problem), self.begin)
        else:
            self._go_on()

    def stop(self, why: Failure, *, at_once: bool = False) -> None:
        """Ask its processes to end; after the grace, or at once, they are made to."""
        if self._ended or (self.stopped is not None and not at_once):
            return
        self.stopped = self.stopped or why
        self._until = time.monotonic() + (1.0 if at_once else self._worker.settings.grace)
        if self._lead:
            processes.kill_group(self._lead, signal.SIGKILL if at_once else signal.SIGTERM)
        self._wake(self._until)

    @guarded
    def look(self, now: float) -> None:
        """Keep its limits, and make it end that does not want to."""
        strays = self._worker.strays
        if self._settling:
            self._report()  # something cannot even be killed: no reason to wait for ever
        elif self._again is not None:
            again, self._again = self._again, None
            if self.stopped is not None:
                self._fail(self.stopped)
            else:
                again()
        elif self.stopped is not None:
            if now >= self._until:
                processes.kill_group(self._lead, signal.SIGKILL)
                self._until = now + 1.0
            self._wake(self._until)
        else:
            strays.look(self._worker.children)
            verdict = self._watch.verdict(now, [self._lead, *strays.of(self.key)])
            if verdict is None:
                self._wake(self._watch.due(now))
            else:
                self.stop(Failure(*verdict))

    def break_off(self, why: Failure) -> None:
        """End at once, whatever state it is in."""
        if self._lead:
            self._worker.strays.add(self._lead, self.key)
            processes.kill_group(self._lead, signal.SIGKILL)
        if not self._ended:
            self._failure = why
            self._end()

    def settle(self) -> None:
        """Report the end, unless processes are still dying."""
        worker = self._worker
        worker.strays.look(worker.children)
        worker.strays.kill()
        if not worker.strays.left(self.key):
            self._report()
        elif not self._settling:
            self._settling = True
            worker.settling.append(self)
            self._wake(time.monotonic() + worker.settings.grace)

    def _make_folder(self) -> None:
        if not self._made:
            if self.order.checkpoint:
                os.makedirs(self.order.checkpoint, exist_ok=True)
            self._worker.folders.make(self.order.folder)
            self._made = True

    def _go_on(self) -> None:
        """Begin the next call; after the last, come to the end."""
        order = self.order
        if self._at == len(order.calls):
            self._end()
            return
        try:
            if order.calls[self._at].kind == "function":
                self._visit()
            else:
                self._command(order.calls[self._at])
        except Failure as failure:
            self._fail_or_wait(failure, self._go_on)

    # ── commands ──

    def _command(self, call: PackedCall) -> None:
        folder = self._folder(self._at)
        if len(self.order.calls) > 1:
            try:
                if not (self._full_since and os.path.isdir(folder)):
                    os.mkdir(folder)
            except OSError as problem:
                raise unwritable(folder, problem) from None
        if self._ready is None:
            self._ready = self._prepare(call, folder)
        text, values = self._ready
        variables = self._variables()
        variables["TRADEWIND_TASK_ID"] = call.id
        if self.order.variables:
            variables.update(self.order.variables)
            variables["PYTHONPATH"] = os.pathsep.join(self._worker.settings.path)
            variables["TRADEWIND_HOMES"] = os.pathsep.join(self._worker.settings.homes)
            variables["TRADEWIND_INPUT"] = f"{folder}/inputs.json" if call.kind == "share" else ""
        if call.kind == "container":
            self._tool = containers.tool()
            containers.note(self._worker.settings.root, self._worker.name, self._tool)
        lead = command.start(call, self.order, folder, text, values, variables, self.key, self._tool)
        self._ready = None
        self._follow(lead, [call], [folder])
        self._worker.children[self._lead] = self

    def _prepare(self, call: PackedCall, folder: str) -> tuple[str, dict[str, Any]]:
        values = resolve(call.inputs, self._results) if call.inputs else {}
        return command.prepare(call, folder, values, self._worker.settings.homes), values

    @guarded
    def process_ended(self, status: int, usage: struct_rusage) -> None:
        """Its command has ended."""
        if self._ended:
            return
        self._lead = 0
        self._took(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * processes.UNIT)
        self._watch.end(time.monotonic())
        self._close(status)

    def _close(self, status: int) -> None:
        """Write down how its command has ended, and go on if that was well."""
        call, folder = self.order.calls[self._at], self._folders[0]
        try:
            code = command.end(folder, status, self._worker.folders)
            if self.stopped is None and code == 0:
                self._results[call.id] = outputs.collect(call, folder) if call.outputs else {}
        except Failure as failure:
            self._fail_or_wait(failure, lambda: self._close(status))
            return
        if self.stopped is not None:
            self._fail(self.stopped)
        elif code:
            self._fail(Failure("memory" if code == _KILLED and self._starved() else "error", f"exit code {code}"))
        else:
            self._at += 1
            self._go_on()

    # ── functions ──

    def _visit(self) -> None:
        """Have functions called: all that follow each other, unless one has limits of its own."""
        calls: list[PackedCall] = []
        for call in self.order.calls[self._at :]:
            limited = call.run is not None or call.silence is not None
            if call.kind != "function" or (limited and calls):
                break
            calls.append(call)
            if limited:
                break
        folders = [self._folder(self._at + index) for index in range(len(calls))]
        single = len(self.order.calls) == 1
        visit = Visit(calls, folders, single, self._variables(), self._results)
        lead, spools = self._worker.interpreters.send(self, visit)
        self._follow(lead, calls, folders, spools)

    @guarded
    def replied(self, reply: Reply) -> None:
        """The interpreter has called its functions."""
        if self._ended:
            return
        self._lead = 0
        self._results.update(reply.results)
        self._at += len(reply.results)
        self._took(reply.cpu, reply.memory)
        self._watch.end(time.monotonic())
        if self.stopped is not None:
            self._fail(self.stopped)
        elif reply.cause:
            self._fail(Failure(reply.cause, reply.reason))
        else:
            calls = self.order.calls
            if len(calls) == 1 and not calls[0].outputs and not reply.children:
                self._worker.folders.give_back(self.order.folder)
            self._go_on()

    @guarded
    def interpreter_ended(self, status: int, cpu: float, memory: int) -> None:
        """The interpreter is gone, and with it the function that ran."""
        if self._ended:
            return
        self._lead = 0
        made = [index for index, folder in enumerate(self._folders) if os.path.isdir(folder)]
        self._at += made[-1] if made else 0
        self._took(cpu, memory)
        self._watch.end(time.monotonic())
        code = os.waitstatus_to_exitcode(status)
        starved = code == -signal.SIGKILL and self._starved()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._fail(self.stopped or Failure("memory" if starved else "error", f"its interpreter {how}"))

    # ── both ──

    def _follow(self, lead: int, calls: list[PackedCall], folders: list[str], spools: tuple[int, ...] = ()) -> None:
        now = time.monotonic()
        self._full_since = 0.0
        self._lead = lead
        self._leads.append(lead)
        self._folders = folders
        self._worker.strays.groups[lead] = self.key
        run, silence = calls[0].run, calls[0].silence
        self._watch = Watch(folders, spools, run, silence, self.order.memory, self._worker.settings, now)
        self._wake(self._watch.due(now))

    def _wake(self, when: float) -> None:
        self.serial += 1
        self._worker.wake(when, self)

    def _took(self, cpu: float, memory: int) -> None:
        self._cpu += cpu
        self._memory = max(self._memory, memory, self._watch.peak)

    def _starved(self) -> bool:
        """Whether the kernel has killed for want of memory, or the limit was near."""
        limit = self.order.memory
        return self._worker.out_of_memory() or (limit is not None and self._memory > 0.9 * limit)

    def _fail_or_wait(self, failure: Failure, again: Callable[[], None]) -> None:
        """Fail, unless all it lacks is room on a disk: then try again in a while, and for a while."""
        now = time.monotonic()
        self._full_since = self._full_since or now
        if failure.lacks_room and self.stopped is None and now - self._full_since < self._worker.settings.room:
            self._again = again
            self._wake(now + _PAUSE)
        else:
            self._fail(failure)

    def _fail(self, failure: Failure) -> None:
        self._failure = failure
        if self._tool and (cleaner := containers.remove(self._tool, f"tradewind={self.key}")):
            self._worker.children[cleaner] = None
        self._end()

    def _end(self) -> None:
        self._ended = True
        self.serial += 1
        self._worker.strays.alive.discard(self.key)
        self.settle()

    def _report(self) -> None:
        worker, order, failure = self._worker, self.order, self._failure
        self.serial += 1
        for lead in self._leads:
            if worker.strays.groups.get(lead) == self.key:
                del worker.strays.groups[lead]
        if self.quiet:
            message: tuple[Any, ...] | None = None
        elif failure is None:
            message = ("done", order.unit, order.attempt, self._results, self._cpu, self._memory)
        else:
            call = order.calls[min(self._at, len(order.calls) - 1)].id if order.calls else ""
            tail = streams.tail(self._folder(self._at)) if self._leads else ""
            message = (
                *("broke", order.unit, order.attempt, failure.cause, failure.reason),
                *(call, tail, self._cpu, self._memory),
            )
        worker.ended(self, message)

    def _folder(self, index: int) -> str:
        order = self.order
        if len(order.calls) <= 1:
            return order.folder
        name = order.calls[index].id.replace("[", ".").replace("]", "").replace("/", "_")
        return f"{order.folder}/{index + 1}-{name}"

    def _variables(self) -> dict[str, str]:
        order = self.order
        variables = {
            "TRADEWIND_RUN_ID": order.run,
            "TRADEWIND_ATTEMPT": str(order.attempt),
            "TRADEWIND_CPUS": str(order.cpus),
            MARK: self.key,
        }
        if order.memory is not None:
            variables["TRADEWIND_MEMORY_MB"] = str(order.memory // 1_000_000)
        if order.checkpoint:
            variables["TRADEWIND_CHECKPOINT_DIR"] = order.checkpoint
        return variables
