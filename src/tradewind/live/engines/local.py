"""The local engine: each machine is a worker process on this host, which can be created, killed and lost.

Messages of one turn of the loop travel together, in both directions. A worker that ends is noticed by its socket; one
that is frozen by its silence, counted in heartbeats rather than seconds, so that a control plane that was itself
frozen takes nobody for dead. A keeper (`tradewind.live.worker.keeper`) sees to it that no process is left behind.
"""

import asyncio
import os
import random
import select
import signal
import socket
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tradewind.live.engines.keeper import Keeper, Newborn, python_path
from tradewind.live.engines.packing import pack
from tradewind.live.port import Broke, Done, Down, Listener, Order, Report, Up, Usage
from tradewind.live.worker.wire import Link, Settings, frame
from tradewind.model.machine import MachineType
from tradewind.model.units import in_seconds

BEATS = 4
"""After how many heartbeats without an answer a worker is given up."""

PATIENCE = 10.0
"""Seconds that the keeper has for ending everything."""


class _Machine:
    """A machine that is held."""

    __slots__ = ("boot", "link", "number", "outbox", "pid", "quiet")

    def __init__(self, number: int) -> None:
        self.number = number
        self.boot: asyncio.TimerHandle | None = None
        self.link: Link | None = None
        self.pid = 0
        self.outbox: list[tuple[Any, ...]] = []
        self.quiet = 0
        """Heartbeats since it was last heard."""


class LocalEngine:
    """Runs attempts in worker processes on this host; belongs to the event loop that runs when it is made."""

    ends_with_us = True
    """The keeper sees to it."""
    ahead = 12

    def __init__(
        self,
        listener: Listener,
        root: Path,
        *,
        grace: float = 5.0,
        silence: float = 10.0,
        flood: int = 64 << 20,
        pause: float = 0.5,
        path: Sequence[str] = (),
        seed: int = 0,
        room: float = 600.0,
        keeper: Newborn | None = None,
    ) -> None:
        """`grace`: seconds between asking a process to end and making it. `silence`: seconds after which a worker that
        does not answer is given up. `flood`: bytes kept of a call's standard output, and of its errors. `pause`:
        seconds between two looks at what runs. `path`: folders where the modules of functions are looked for first.
        `room`: seconds that an attempt waits for room on a full disk. `keeper`: one that was begun earlier.
        """
        root.mkdir(parents=True, exist_ok=True)
        self._root = str(root.resolve())
        self._listener = listener
        self._settings = Settings(grace, flood, pause, self._root, [*path, *python_path()], [*path], room)
        self._beat_every = silence / BEATS
        self._chance = random.Random(seed)
        self._loop = asyncio.get_running_loop()
        self._machines: dict[int, _Machine] = {}
        self._leaving: dict[int, _Machine] = {}
        self._reports: list[Report] = []
        self._waiting: list[_Machine] = []
        self._keeper: Keeper | None = self._taught(keeper or Newborn())
        self._beat: asyncio.TimerHandle | None = None
        self._schedule_beat()

    # ── the port ──

    def acquire(self, machine: int, type: MachineType) -> None:
        """Start a worker, after the boot lag of its type."""
        if machine in self._machines:
            return
        held = self._machines[machine] = _Machine(machine)
        lag = in_seconds(type.boot.mean)
        if type.boot.deviation:
            lag = max(0.0, self._chance.gauss(lag, in_seconds(type.boot.deviation)))
        if lag > 0:
            held.boot = self._loop.call_later(lag, self._create, held)
        else:
            self._create(held)

    def release(self, machine: int) -> None:
        """Let a worker end what it runs and itself."""
        held = self._machines.pop(machine, None)
        if held is None:
            return
        if held.boot is not None:
            held.boot.cancel()
        if held.link is not None:
            self._leaving[machine] = held
            self._send(held, ("stop",))
            self._loop.call_later(self._settings.grace + 1.0, self._give_up, held)

    def start(self, orders: Sequence[Order]) -> None:
        """Send orders to their workers; a machine that is not held is reported as gone."""
        machines, root = self._machines, self._root
        missing: dict[int, None] = {}
        for order in orders:
            held = machines.get(order.machine)
            if held is None or held.link is None:
                missing[order.machine] = None
                continue
            if not held.outbox:
                self._waiting.append(held)
            held.outbox.append(("run", pack(order, root)))
        self._flush()  # a turn's orders come together: no reason to wait for more
        for machine in missing:
            self._report(Down(machine, "there is no such machine"))

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """Have an attempt ended, unless its machine is gone anyway."""
        held = self._machines.get(machine)
        if held is not None and held.link is not None:
            self._send(held, ("kill", unit, attempt, at_once))

    def process_of(self, machine: int) -> int:
        """The process of a machine that is up; 0 if there is none."""
        held = self._machines.get(machine)
        return 0 if held is None else held.pid

    def check(self, held: Mapping[int, Sequence[tuple[int, int]]], awaited: Collection[int]) -> None:
        """Report machines that are gone; no message of a living worker gets lost, so there is no more to see to."""
        for machine in sorted({*held, *awaited} - self._machines.keys()):
            self._report(Down(machine, "there is no such machine"))

    def close(self) -> None:
        """Ask all workers to end, then make them, and wait until nothing is left."""
        if self._beat is not None:
            self._beat.cancel()
        for machine in list(self._machines):
            self.release(machine)
        self._flush()
        left = [held for held in self._leaving.values() if held.link is not None]
        self._wait(left, self._settings.grace + 1.0)
        for held in left:
            self._hang_up(held)
        self._leaving.clear()
        self._reports.clear()
        if self._keeper is not None:
            self._keeper.close(PATIENCE)
            self._keeper = None

    # ── machines ──

    def _taught(self, newborn: Newborn) -> Keeper:
        return Keeper(newborn, self._settings, self._loop, self._keeper_lost)

    def _create(self, held: _Machine) -> None:
        held.boot = None
        try:
            if self._keeper is None:
                self._keeper = self._taught(Newborn())
            ours, theirs = socket.socketpair()
        except OSError as problem:
            self._lose(held, f"its worker could not be started: {problem}")
            return
        held.link = Link(ours)
        self._loop.add_reader(ours, self._read, held)
        self._keeper.start(held.number, theirs)

    def _read(self, held: _Machine) -> None:
        assert held.link is not None  # noqa: S101 - else nothing could be read
        batches = held.link.read()
        if batches is None:
            self._lose(held, "its worker process has ended")
            return
        held.quiet = 0
        machine = held.number
        reports: list[Report] = []
        for batch in batches:
            for message in batch:
                verb = message[0]
                if verb == "done":
                    _, unit, attempt, results, cpu, memory = message
                    reports.append(Done(unit, attempt, machine, results, Usage(cpu, memory)))
                elif verb == "broke":
                    _, unit, attempt, cause, reason, call, tail, cpu, memory = message
                    reports.append(Broke(unit, attempt, machine, cause, reason, call, tail, Usage(cpu, memory)))
                elif verb == "back":
                    reports.append(Broke(message[1], message[2], machine, "returned", "its turn did not come"))
                elif verb == "up":
                    held.pid = message[1]
                    if self._keeper is not None:
                        self._keeper.heard()
                    if machine in self._machines:
                        reports.append(Up(machine))
        if self._reports:
            self._reports += reports
        elif reports:
            self._listener(reports)

    def _lose(self, held: _Machine, reason: str) -> None:
        """A worker is gone, or might as well be."""
        self._hang_up(held)
        self._leaving.pop(held.number, None)
        if self._machines.pop(held.number, None) is not None:
            self._report(Down(held.number, reason))

    def _give_up(self, held: _Machine) -> None:
        """End a released worker that has not ended by itself."""
        if self._leaving.pop(held.number, None) is not None and self._keeper is not None:
            self._keeper.kill(held.number)
            self._hang_up(held)

    def _hang_up(self, held: _Machine) -> None:
        if held.link is not None:
            self._loop.remove_reader(held.link.socket)
            self._loop.remove_writer(held.link.socket)
            held.link.close()
            held.link = None

    def _keeper_lost(self) -> None:
        """Without its parent every worker ends, if it can; the next machine gets a new one."""
        for held in (*self._machines.values(), *self._leaving.values()):
            if held.pid:
                with suppress(OSError):
                    os.kill(held.pid, signal.SIGCONT)  # a frozen one could not hear that it should end
        if self._keeper is not None:
            self._keeper.forget()
            self._keeper = None

    # ── heartbeats ──

    def _schedule_beat(self) -> None:
        self._beat = self._loop.call_later(self._beat_every, self._heartbeat)

    def _heartbeat(self) -> None:
        if self._keeper is not None:
            self._keeper.beat(BEATS)
        for held in [each for each in self._machines.values() if each.link is not None]:
            if held.quiet >= BEATS:
                if self._keeper is not None:
                    self._keeper.kill(held.number)
                self._lose(held, f"its worker has not answered for {BEATS * self._beat_every:g} s")
            elif held.quiet > 0:
                self._send(held, ("ping",))
            held.quiet += 1
        self._schedule_beat()

    # ── messages ──

    def _send(self, held: _Machine, message: tuple[Any, ...]) -> None:
        if not held.outbox:
            if not self._waiting:
                self._loop.call_soon(self._flush)
            self._waiting.append(held)
        held.outbox.append(message)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for held in waiting:
            messages, held.outbox = held.outbox, []
            if held.link is not None and not held.link.write(self._framed(held, messages)):
                self._loop.add_writer(held.link.socket, self._write, held)

    def _framed(self, held: _Machine, messages: list[tuple[Any, ...]]) -> bytes:
        try:
            return frame(messages)
        except ValueError:  # an order holds something that is not JSON: the others must not suffer
            frames = []
            for message in messages:
                try:
                    frames.append(frame([message]))
                except ValueError:
                    _, unit, attempt, *_ = message[1]
                    self._report(Broke(unit, attempt, held.number, "start", "an input is not JSON"))
            return b"".join(frames)

    def _write(self, held: _Machine) -> None:
        if held.link is not None and held.link.write():
            self._loop.remove_writer(held.link.socket)

    def _report(self, report: Report) -> None:
        if not self._reports:
            self._loop.call_soon(self._deliver)
        self._reports.append(report)

    def _deliver(self) -> None:
        reports, self._reports = self._reports, []
        if reports:
            self._listener(reports)

    def _wait(self, left: list[_Machine], patience: float) -> None:
        """Wait until workers have hung up."""
        ends = time.monotonic() + patience
        links = {held.link.socket.fileno(): held.link for held in left if held.link is not None}
        poll = select.poll()
        for file, link in links.items():
            poll.register(file, select.POLLIN | (0 if link.write() else select.POLLOUT))
        while links and (remaining := ends - time.monotonic()) > 0:
            for file, event in poll.poll(1000 * remaining):
                if event & select.POLLOUT and links[file].write():
                    poll.modify(file, select.POLLIN)
                if event & ~select.POLLOUT and links[file].read() is None:
                    poll.unregister(file)
                    del links[file]
