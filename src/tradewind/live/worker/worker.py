"""A worker: the process that is a machine. One thread, one loop, any number of attempts at a time.

It takes orders from the engine's socket and reports there. When the socket closes, or the keeper dies, it kills all
that it runs and ends.
"""

import gc
import heapq
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from resource import struct_rusage
from typing import Any, Protocol, TypeAlias

from tradewind.live.worker import processes
from tradewind.live.worker.alarm import Alarm
from tradewind.live.worker.attempt import Attempt
from tradewind.live.worker.failure import Failure
from tradewind.live.worker.folders import Folders
from tradewind.live.worker.interpreters import Interpreters
from tradewind.live.worker.line import Line
from tradewind.live.worker.strays import Strays
from tradewind.live.worker.wire import Link, PackedCall, PackedOrder, Settings, frame

PATIENCE = 2.0
"""Seconds for killed processes to be gone; what remains is the keeper's."""


Ear: TypeAlias = Callable[[int], None]
"""Is told what a file is ready for."""


class Child(Protocol):
    """Whoever wants to know that a process has ended."""

    def process_ended(self, status: int, usage: struct_rusage) -> None:
        """It has."""


class Worker:
    """Carries out orders."""

    def __init__(self, sock: socket.socket, name: str, settings: Settings) -> None:
        self.name = name
        """Unique on this host."""
        self.settings = settings
        self.children: dict[int, Child | None] = {}
        """Processes that we have started, and who waits for their end."""
        self.settling: list[Attempt] = []
        """Attempts that have ended, except for some dying processes."""
        self.strays = Strays()
        self.interpreters = Interpreters(self)
        self.folders = Folders()
        self._running: dict[tuple[int, int], Attempt] = {}
        self._alarm = Alarm()
        self._poll = select.poll()  # a third of the price of `selectors` for a handful of files
        self._ears: dict[int, Ear] = {}
        self._link = Link(sock)
        self._engine = sock.fileno()
        self._wakes: list[tuple[float, int, Attempt, int]] = []
        self._asked = 0
        self._line = Line[Attempt]()
        self._leaving = False
        self._over = False
        self._oom_kills = processes.oom_kills()

    def run(self) -> None:
        """Work until the engine is gone or lets us go."""
        processes.adopt_orphans()
        signal.signal(signal.SIGTERM, self._end_at_once)
        gc.set_threshold(50_000)
        self.listen(self._alarm.fileno(), self._reap)
        self.listen(self._engine, self._read)
        self._line.news.append(("up", os.getpid()))
        while not self._over and not (self._leaving and not self._running):
            self._advance()
            for file, event in self._wait():
                ear = self._ears.get(file)
                if ear is not None:
                    ear(event)
            if self._wakes:
                self._look()
        self._kill_all()

    def listen(self, file: int, ear: Ear, *, writing: bool = False) -> None:
        """Have something called when a file can be read, or also written."""
        self._poll.register(file, select.POLLIN | (select.POLLOUT if writing else 0))
        self._ears[file] = ear

    def ignore(self, file: int) -> None:
        """Listen no more."""
        if self._ears.pop(file, None) is not None:
            self._poll.unregister(file)

    def wake(self, when: float, attempt: Attempt) -> None:
        """Let an attempt look after itself at some time, if it has not changed until then."""
        self._asked += 1
        heapq.heappush(self._wakes, (when, self._asked, attempt, attempt.serial))

    def ended(self, attempt: Attempt, message: tuple[Any, ...] | None) -> None:
        """Nothing is left of an attempt."""
        del self._running[attempt.order.unit, attempt.order.attempt]
        if attempt in self.settling:
            self.settling.remove(attempt)
        if message is not None:
            self._line.news.append(message)

    def out_of_memory(self) -> bool:
        """Whether the kernel has killed for want of memory since we asked last."""
        before, self._oom_kills = self._oom_kills, processes.oom_kills()
        return self._oom_kills > before

    def _end_at_once(self, *_: object) -> None:
        self._over = True

    def _read(self, event: int) -> None:
        if event & select.POLLOUT and self._link.write():
            self.listen(self._engine, self._read)
        if event & ~select.POLLOUT:
            batches = self._link.read()
            if batches is None:
                self._over = True
                return
            for batch in batches:
                for message in batch:
                    self._obey(message)

    def _obey(self, message: tuple[Any, ...]) -> None:
        verb = message[0]
        if verb == "run":
            *values, calls = message[1]
            order = PackedOrder._make((*values, [PackedCall(*call) for call in calls]))
            if order.most and len(self._running) >= order.most:
                self._line.join(Attempt(self, order), time.monotonic())
            elif (order.unit, order.attempt) not in self._running:
                self._begin(Attempt(self, order))
        elif verb == "kill":
            found = self._running.get((message[1], message[2]))
            if found is not None:
                self._drop(found, at_once=message[3])
            else:
                self._line.leave(message[1], message[2])
        elif verb == "ping":
            self._line.news.append(("pong",))
        else:
            self._leaving = True
            self._line.clear()
            for attempt in list(self._running.values()):
                self._drop(attempt)

    def _begin(self, attempt: Attempt) -> None:
        self._running[attempt.order.unit, attempt.order.attempt] = attempt
        attempt.begin()

    def _advance(self) -> None:
        """Begin what there is room for, and tell the news unless they can wait."""
        line = self._line
        now = 0.0
        if line:
            while (attempt := line.next(len(self._running))) is not None:
                self._begin(attempt)
            now = time.monotonic()
            line.give_back(now)
        if line.news and not line.is_silent(now):
            self._tell()

    def _drop(self, attempt: Attempt, *, at_once: bool = False) -> None:
        attempt.quiet = True
        attempt.stop(Failure("killed", "it was killed"), at_once=at_once)

    def _tell(self) -> None:
        if not self._link.write(frame(self._line.told())):
            self.listen(self._engine, self._read, writing=True)

    def _reap(self, _: int) -> None:
        self._alarm.clear()
        adopted = False
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            adopted = bool(self.strays.bury(pid)) or adopted
            child = self.children.pop(pid, None)
            if child is not None:
                child.process_ended(status, usage)
        if adopted:
            for attempt in list(self.settling):
                attempt.settle()

    def _wait(self) -> list[tuple[int, int]]:
        """What has happened, once something has; until then there may be something to prepare."""
        while self._line.could_prepare():
            if events := self._poll.poll(0):
                return events
            self._line.prepare()
        return self._poll.poll(self._patience())

    def _patience(self) -> float | None:
        """Milliseconds until somebody wants to be woken; who has ended since need not be."""
        wakes = self._wakes
        while wakes and wakes[0][3] != wakes[0][2].serial:
            heapq.heappop(wakes)
        due = self._line.due() if self._line else None
        if wakes and (due is None or wakes[0][0] < due):
            due = wakes[0][0]
        return None if due is None else max(0.0, due - time.monotonic()) * 1000

    def _look(self) -> None:
        now = time.monotonic()
        while self._wakes and self._wakes[0][0] <= now:
            _, _, attempt, serial = heapq.heappop(self._wakes)
            if serial == attempt.serial:
                attempt.look(now)

    def _kill_all(self) -> None:
        """Leave no process behind."""
        self._link.close()
        for pid in self.children:
            processes.kill_group(pid, signal.SIGKILL)
        self._line.clear()
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                for each in self.strays.family.now():
                    processes.kill(each, signal.SIGKILL)
                time.sleep(0.005)
