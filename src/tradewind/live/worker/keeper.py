"""The keeper: parent of all workers of an engine, which outlives them and the control plane to leave nothing behind.

Workers are forked from it, for its modules are loaded and its memory is small: a machine is up in a few milliseconds.
Whatever a dead worker's tasks were is adopted by the keeper and killed, without any worker having to name its tasks.
When the engine's end of the socket closes, in whatever way the control plane ended, all workers and tasks end too;
unless they are to outlive it (see `agent`): then the keeper stays until the last of them has ended.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH118

import gc
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from tradewind.live.worker import containers, processes
from tradewind.live.worker.agent import Agent
from tradewind.live.worker.alarm import Alarm
from tradewind.live.worker.wire import Link, Settings
from tradewind.live.worker.worker import Worker

LOG = "workers.log"
"""Where in the root keeper and workers write what goes wrong."""

PATIENCE = 3.0
"""Seconds that workers have to end by themselves once the engine is gone."""


class Keeper:
    """Starts and kills workers as the engine says."""

    def __init__(self, engine: socket.socket) -> None:
        self._engine = engine
        self._link = Link(engine)
        self._alarm = Alarm()
        self._pid = os.getpid()
        self._family = processes.Family()
        self._sockets: list[int] = []
        self._pids: dict[int, int] = {}
        self._machines: dict[int, int] = {}
        self._cleaners: set[int] = set()
        self._settings = Settings(5.0, 1 << 26, 0.5, ".", [], [])

    def run(self) -> None:
        """Serve until the engine is gone, then end all that is left."""
        poll = select.poll()
        poll.register(self._engine, select.POLLIN)
        poll.register(self._alarm.fileno(), select.POLLIN)
        ends, prepared, is_deserted = None, False, False
        while ends is None or (self._left() and time.monotonic() < ends + PATIENCE):
            if not prepared and not poll.poll(0):
                prepared = _prepare()
            ready = [file for file, _ in poll.poll(None if ends is None else 100)]
            self._alarm.clear()
            if self._engine.fileno() in ready and not self._read():
                poll.unregister(self._engine)
                is_deserted = True
            self._reap()
            if is_deserted and ends is None and not (self._settings.agents and self._machines):
                ends = time.monotonic()
            if ends is not None and time.monotonic() > ends + PATIENCE / 2:
                for pid in self._machines:
                    processes.kill(pid, signal.SIGKILL)

    def _read(self) -> bool:
        try:
            data, files, _, _ = socket.recv_fds(self._engine, 1 << 16, 250)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        self._sockets += files
        if not data:
            return False
        for message in self._link.take(data):
            self._obey(message)
        return True

    def _obey(self, message: tuple[Any, ...]) -> None:
        if message[0] == "start":
            if self._sockets:  # else too many files are open here, and the engine sees its end closed
                self._start(message[1], self._sockets.pop(0))
        elif message[0] == "kill":
            if message[1] in self._pids:
                processes.kill(self._pids[message[1]], signal.SIGKILL)
        elif message[0] == "ping":
            with suppress(OSError):  # it is not waiting for an answer, or gone
                self._engine.send(b".")
        else:
            self._settings = Settings(*message[1])
            sys.path[:] = self._settings.path
            _write_to(os.path.join(self._settings.root, LOG))

    def _start(self, machine: int, file: int) -> None:
        try:
            pid = os.fork()
        except OSError as problem:  # the engine sees the socket close
            sys.stderr.write(f"no worker for machine {machine}: {problem}\n")
            os.close(file)
            return
        if pid == 0:
            self._become_worker(machine, socket.socket(fileno=file))
        os.close(file)
        self._pids[machine] = pid
        self._machines[pid] = machine

    def _become_worker(self, machine: int, sock: socket.socket) -> NoReturn:
        try:
            processes.die_with(self._pid, signal.SIGTERM)
            os.setsid()  # Linux shares processor time by session: now by machine
            self._alarm.close()
            self._engine.close()
            for file in self._sockets:
                os.close(file)
            name = self._name(machine)
            agent = Agent(machine, name, self._settings) if self._settings.agents else None
            Worker(sock, name, self._settings, agent).run()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)

    def _reap(self) -> None:
        """Bury the dead, and kill what fell to us when a worker died."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            machine = self._machines.pop(pid, None)
            if machine is not None:
                del self._pids[machine]
                self._cleaners.add(containers.remove_left(self._settings.root, self._name(machine)))
            self._cleaners.discard(pid)
        for pid in self._family.now():
            if pid not in self._machines and pid not in self._cleaners:
                processes.kill(pid, signal.SIGKILL)

    def _name(self, machine: int) -> str:
        return f"{self._pid}-{machine}"  # unique on this host

    def _left(self) -> bool:
        return bool(self._machines or self._family.now())


def _write_to(path: str) -> None:
    """Send what we and our workers have to say to a file; if that cannot be, it stays where it went before."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        sys.stderr.write(f"{path}: {problem.strerror}\n")
        return
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def _prepare() -> bool:
    """Load, when there is nothing to do, what workers would otherwise each load with their first such command."""
    import json  # noqa: F401, PLC0415

    import tradewind.model.shell  # noqa: F401, PLC0415

    gc.freeze()  # keeps pages shared with the workers
    return True


def keep(engine: socket.socket) -> None:
    """Be a keeper until the engine is gone."""
    processes.adopt_orphans()
    gc.freeze()  # keeps pages shared with the workers
    Keeper(engine).run()
