"""The warm interpreters of a worker: one for each function call that runs at a time, forked when first needed."""

import os
import select
import signal
import socket
import sys
from resource import struct_rusage
from typing import TYPE_CHECKING, NoReturn

from tradewind.live.worker import processes
from tradewind.live.worker.attempt import Attempt
from tradewind.live.worker.capture import spool
from tradewind.live.worker.failure import Failure, unwritable
from tradewind.live.worker.interpreter import Reply, Visit, serve
from tradewind.live.worker.wire import Link, frame

if TYPE_CHECKING:
    from tradewind.live.worker.worker import Worker

_FILES = 1 << 16
"""More than a worker ever has open."""


class Warm:
    """A process that calls functions, as its worker sees it."""

    def __init__(self, pool: "Interpreters", pid: int, link: Link, spools: tuple[int, int]) -> None:
        self.pid = pid
        self.link = link
        self.spools = spools
        self.attempt: Attempt | None = None
        self.cpu = 0.0
        self._pool = pool

    def process_ended(self, status: int, usage: struct_rusage) -> None:
        """The process is gone."""
        self._pool.bury(self, status, usage)


class Interpreters:
    """Lends interpreters to attempts, and takes them back."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._idle: list[Warm] = []

    def send(self, attempt: Attempt, visit: Visit) -> tuple[int, tuple[int, int]]:
        """Have functions called; the process that does it, and what it writes to past its files."""
        warm = self._idle.pop() if self._idle else self._start()
        warm.attempt = attempt
        calls = [tuple(call) for call in visit.calls]
        data = frame((calls, visit.folders, visit.fresh, visit.variables, visit.results))
        if not warm.link.write(data):
            self._listen(warm, writing=True)
        return warm.pid, warm.spools

    def bury(self, warm: Warm, status: int, usage: struct_rusage) -> None:
        """Tell the attempt that its interpreter has died, unless it had replied before."""
        self._read(warm)
        self._worker.ignore(warm.link.socket.fileno())
        warm.link.close()
        for file in warm.spools:
            os.close(file)
        if warm in self._idle:
            self._idle.remove(warm)
        if warm.attempt is not None:
            cpu = max(0.0, usage.ru_utime + usage.ru_stime - warm.cpu)
            warm.attempt.interpreter_ended(status, cpu, usage.ru_maxrss * processes.UNIT)

    def _read(self, warm: Warm) -> None:
        for message in warm.link.read() or ():
            attempt, warm.attempt = warm.attempt, None
            if attempt is None:
                continue
            reply = Reply(*message)
            warm.cpu += reply.cpu
            if reply.children or attempt.stopped is not None:
                self._worker.strays.add(warm.pid, attempt.key)  # dies with the attempt, and its children after it
            else:
                self._idle.append(warm)
            attempt.replied(reply)

    def _listen(self, warm: Warm, *, writing: bool) -> None:
        def ready(event: int) -> None:
            if event & select.POLLOUT and warm.link.write():
                self._listen(warm, writing=False)
            if event & select.POLLIN:
                self._read(warm)
            elif event & ~select.POLLOUT:  # it has hung up: its end will be told
                self._worker.ignore(warm.link.socket.fileno())

        self._worker.listen(warm.link.socket.fileno(), ready, writing=writing)

    def _start(self) -> Warm:
        ours, theirs = socket.socketpair()
        root = self._worker.settings.root
        try:
            spools = spool(root), spool(root)
        except OSError as problem:
            raise unwritable(root, problem) from None
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as problem:
            raise Failure("start", f"cannot start an interpreter: {problem.strerror}") from None
        if pid == 0:
            _become_interpreter(parent, theirs, spools)
        theirs.close()
        warm = Warm(self, pid, Link(ours), spools)
        self._listen(warm, writing=False)
        self._worker.children[pid] = warm
        return warm


def _become_interpreter(parent: int, sock: socket.socket, spools: tuple[int, int]) -> NoReturn:
    """Shed all that is the worker's; its objects are referred to by the frames above, and so never closed twice."""
    try:
        processes.die_with(parent)
        if (level := processes.own_level()) > 0:
            os.setsid()
            processes.lower_session(os.getpid(), level)
        else:
            os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        low = 3
        for keep in sorted((sock.fileno(), *spools)):
            os.closerange(low, keep)
            low = keep + 1
        os.closerange(low, _FILES)
        serve(sock, spools)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)
