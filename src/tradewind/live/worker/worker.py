"""A worker: the process that is a machine. One thread, one loop, any number of attempts at a time.

It takes orders from the engine's socket and reports there. When the socket closes, or the keeper dies, it kills all
that it runs and ends. One that is to outlive its engine (see `agent`) goes on when the socket closes and waits for the
next engine; when none has come for long, and nothing is left to do, it ends.
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
from tradewind.live.worker.agent import Agent
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

GLANCE = 1.0
"""Seconds after which a worker without an engine looks again whether one could still find it."""


Ear: TypeAlias = Callable[[int], None]
"""Is told what a file is ready for."""


class Child(Protocol):
    """Whoever wants to know that a process has ended."""

    def process_ended(self, status: int, usage: struct_rusage) -> None:
        """It has."""


class Worker:
    """Carries out orders."""

    def __init__(self, sock: socket.socket, name: str, settings: Settings, agent: Agent | None = None) -> None:
        """`name`: unique on this host. `agent`: what lets it outlive its engine."""
        self.name = name
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
        self._agent = agent
        self._link: Link | None = Link(sock)
        self._alone_since = 0.0
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
        if self._agent is not None:
            self.listen(self._agent.listener.fileno(), self._accept)
        if self._link is not None:
            self.listen(self._link.socket.fileno(), self._read)
        self._line.news.append(("up", os.getpid()))
        while not self._over and not (self._leaving and not self._running):
            self._advance()
            for file, event in self._wait():
                ear = self._ears.get(file)
                if ear is not None:
                    ear(event)
            if self._wakes:
                self._look()
            if self._link is None and self._is_abandoned():
                break
        self._kill_all()
        if self._agent is not None:
            self._agent.close()

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
        link = self._link
        if link is None:
            return
        if event & select.POLLOUT and link.write():
            self.listen(link.socket.fileno(), self._read)
        if event & ~select.POLLOUT:
            batches = link.read()
            if batches is None:
                self._hang_up()
                return
            for batch in batches:
                for message in batch:
                    self._obey(message)

    def _hang_up(self) -> None:
        """The engine is gone, and with it what cannot go on without it."""
        if self._agent is None or self._link is None:
            self._over = True
            return
        self.ignore(self._link.socket.fileno())
        self._link.close()
        self._link = None
        self._alone_since = time.monotonic()
        self._agent.leave_alone()

    def _accept(self, _: int) -> None:
        """Take another engine, and tell it what the last one has not confirmed."""
        if self._agent is None:
            return
        try:
            sock, _address = self._agent.listener.accept()
        except OSError:
            return
        if self._line.news:
            self._tell()
        while self._link is not None and (batches := self._link.read()):  # what the last one said still counts
            for batch in batches:
                for message in batch:
                    self._obey(message)
        if self._link is not None:
            self._hang_up()
        self._link = Link(sock)
        self.listen(sock.fileno(), self._read)
        self._send([("up", os.getpid()), *self._agent.ends.values()])
        self._agent.attend()

    def _is_abandoned(self) -> bool:
        """Whether no engine can come any more, or none has come for long and nothing is left to do."""
        if self._agent is None:
            return False
        if not self._agent.is_listed():
            return True
        if self._running or self._line or self._line.news:
            return False
        return time.monotonic() >= self._alone_since + self._agent.unattended

    def _obey(self, message: tuple[Any, ...]) -> None:
        verb = message[0]
        if verb == "run":
            *values, calls = message[1]
            order = PackedOrder._make((*values, [PackedCall(*call) for call in calls]))
            if order.most and (self._line or len(self._running) >= order.most):  # never before those in line
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
        elif verb == "seen":
            if self._agent is not None:
                self._agent.forget(message[1])
        else:
            self._obey_rarely(verb, message)

    def _obey_rarely(self, verb: str, message: tuple[Any, ...]) -> None:
        if verb == "check":
            self._compare(set(message[1]))
        elif verb == "bye":
            self._end_unless_needed()
        else:
            self._leaving = True
            self._line.clear()
            for attempt in list(self._running.values()):
                self._drop(attempt)

    def _end_unless_needed(self) -> None:
        """The engine is about to go: end now, unless something runs or is yet to be confirmed."""
        if self._line.news:
            self._tell()
        ends = self._agent.ends if self._agent is not None else ()
        self._over = self._over or not (self._running or self._line or ends)

    def _compare(self, expected: set[tuple[int, int]]) -> None:
        """Report attempts that are expected and not known here, and end those that are not expected."""
        if self._line.news:
            self._tell()
        ended = self._agent.ends.keys() if self._agent is not None else set[tuple[int, int]]()
        lined_up = self._line.attempts()
        for unit, attempt in sorted(expected - self._running.keys() - lined_up - ended):
            reason = "its machine does not know it"
            self._line.news.append(("broke", unit, attempt, "lost", reason, "", "", 0.0, 0))
        for key in sorted(self._running.keys() - expected):
            self._drop(self._running[key])
        for key in lined_up - expected:
            self._line.leave(*key)
        if self._agent is not None:
            self._agent.expect(expected)

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
        news = self._line.told()
        if self._agent is not None:
            self._agent.keep(news)
        self._send(news)

    def _send(self, news: list[tuple[Any, ...]]) -> None:
        if self._link is not None and not self._link.write(frame(news)):
            self.listen(self._link.socket.fileno(), self._read, writing=True)

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
        if self._link is None and self._agent is not None:
            glance = time.monotonic() + min(GLANCE, self._agent.unattended)
            due = glance if due is None else min(due, glance)
        return None if due is None else max(0.0, due - time.monotonic()) * 1000

    def _look(self) -> None:
        now = time.monotonic()
        while self._wakes and self._wakes[0][0] <= now:
            _, _, attempt, serial = heapq.heappop(self._wakes)
            if serial == attempt.serial:
                attempt.look(now)

    def _kill_all(self) -> None:
        """Leave no process behind."""
        if self._link is not None:
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
