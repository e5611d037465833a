"""The local engine: each machine is a worker process on this host, which can be created, killed and lost.

Workers end with the engine, or outlive it if it is told where they are to be found again (`agents`). The next engine
then takes over those that the core expects, when it is first told (`check`), and ends the others.

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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tradewind.live.engines.keeper import Keeper, Newborn, python_path
from tradewind.live.engines.packing import pack
from tradewind.live.port import Broke, Done, Down, Expected, Listener, Order, Report, Up, Usage
from tradewind.live.worker.agent import FOLDER
from tradewind.live.worker.wire import Link, Settings, frame
from tradewind.model.machine import MachineType
from tradewind.model.units import in_seconds

if TYPE_CHECKING:
    from tradewind.live.engines.agents import Agents, Found

BEATS = 4
"""After how many heartbeats without an answer a worker is given up."""

PATIENCE = 10.0
"""Seconds that the keeper has for ending everything."""

GONE = "its process is gone"


class _Machine:
    """A machine that is held."""

    __slots__ = ("boot", "found", "is_awaited", "link", "number", "outbox", "pid", "quiet")

    def __init__(self, number: int, *, is_awaited: bool = True) -> None:
        self.number = number
        self.is_awaited = is_awaited
        """Whether it is to be reported once it is up."""
        self.found: Found | None = None
        """What is known of one that an earlier engine has left."""
        self.boot: asyncio.TimerHandle | None = None
        self.link: Link | None = None
        self.pid = 0
        self.outbox: list[tuple[Any, ...]] = []
        self.quiet = 0
        """Heartbeats since it was last heard."""


class LocalEngine:
    """Runs attempts in worker processes on this host; belongs to the event loop that runs when it is made."""

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
        agents: "Agents | None" = None,
        base: str = "",
    ) -> None:
        """`grace`: seconds between asking a process to end and making it. `silence`: seconds after which a worker that
        does not answer is given up. `flood`: bytes kept of a call's standard output, and of its errors. `pause`:
        seconds between two looks at what runs. `path`: folders where the modules of functions are looked for first.
        `room`: seconds that an attempt waits for room on a full disk. `keeper`: one that was begun earlier. `agents`:
        where workers are found by the next engine; None: they end with this one, for which the keeper cares, and so
        do those that an earlier one has left. `base`: where processes of shares reach the control plane.
        """
        self.ends_with_us = agents is None
        root.mkdir(parents=True, exist_ok=True)
        self._root = str(root.resolve())
        self._listener = listener
        self._base = base
        self._settings = Settings(grace, flood, pause, self._root, [*path, *python_path()], [*path], room)
        self._left: list[Found] = []
        """What earlier engines have left, until the core says what it expects."""
        self._told: dict[int, tuple[Found, set[tuple[int, int]]]] = {}
        """Workers that are gone, and ends that they have left, until those are confirmed."""
        if agents is not None:
            self._settings = agents.told(self._settings)
            self._store, self._left = agents.store, agents.found()
        elif (root / FOLDER).is_dir():  # their work will be run again, and must not run twice
            from tradewind.live.engines.agents import stop_all  # noqa: PLC0415 - not for every session

            stop_all(root / FOLDER, grace + 1.0)
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

    def welcome(self, name: str, machine: int) -> None:
        """Nothing: no machines join."""

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
            held.outbox.append(("run", pack(order, root, self._base)))
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

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        """Take over what earlier engines have left; report machines that are gone, and have workers compare the rest.

        Where workers end with the engine, no message of one that lives gets lost, so that there is nothing to compare.
        """
        reports: list[Report] = []
        left, self._left = self._left, []
        for found in left:
            reports += self._take_over(found, expected.get(found.machine))
        if not self.ends_with_us:
            for machine in [number for number in self._machines if number not in expected]:
                self.release(machine)
            for machine, held in self._machines.items():
                if held.link is not None:
                    self._send(held, ("check", list(expected[machine].attempts)))
        return reports + [Down(machine, GONE) for machine in expected if machine not in self._machines]

    def _take_over(self, found: "Found", expected: Expected | None) -> list[Report]:
        """Go on with a worker that is expected, and end any other; how attempts of one that is gone have ended."""
        if expected is None or found.store != self._store:
            found.kill()
            found.sweep()
            found.forget()
            return []
        sock = found.connect() if found.is_alive else None
        if sock is not None:
            held = self._machines[found.machine] = _Machine(found.machine, is_awaited=not expected.is_up)
            held.found, held.pid = found, found.pid
            held.link = Link(sock)
            self._loop.add_reader(sock, self._read, held)
            return []
        found.kill(signal.SIGKILL)
        found.sweep()
        attempts = set(expected.attempts)
        ends = [message for message in found.ends() if (message[1], message[2]) in attempts]
        if ends:
            self._told[found.machine] = found, {(message[1], message[2]) for message in ends}
        else:
            found.forget()
        return [_report(found.machine, message) for message in ends]

    def confirm(self, ends: Sequence[tuple[int, int, int]]) -> None:
        """Let workers forget ends, and forget what is left of those that are gone."""
        if self.ends_with_us:
            return
        by_machine: dict[int, list[tuple[int, int]]] = {}
        for unit, attempt, machine in ends:
            by_machine.setdefault(machine, []).append((unit, attempt))
        for machine, confirmed in by_machine.items():
            held = self._machines.get(machine)
            if held is not None and held.link is not None:
                self._send(held, ("seen", confirmed))
            elif machine in self._told:
                found, left = self._told[machine]
                left.difference_update(confirmed)
                if not left:
                    found.forget()
                    del self._told[machine]

    def detach(self) -> None:
        """Hang up; workers go on with what they run, and those that run nothing end."""
        if self.ends_with_us:
            self.close()
            return
        if self._beat is not None:
            self._beat.cancel()
        for held in self._machines.values():
            if held.boot is not None:
                held.boot.cancel()
            if held.link is not None:
                self._send(held, ("bye",))
        self._flush()
        for held in (*self._machines.values(), *self._leaving.values()):
            self._hang_up(held)
        self._machines.clear()
        self._leaving.clear()
        self._reports.clear()
        if self._keeper is not None:
            self._keeper.leave()
            self._keeper = None

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
            if not self.ends_with_us and held.link is not None:
                self._end_at_once(held)
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
                if verb == "up":
                    held.pid = message[1]
                    if self._keeper is not None:
                        self._keeper.heard()
                    if machine in self._machines and held.is_awaited:
                        held.is_awaited = False
                        reports.append(Up(machine))
                elif verb != "pong":
                    reports.append(_report(machine, message))
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
        if self._leaving.pop(held.number, None) is not None:
            self._end_at_once(held)
            self._hang_up(held)

    def _end_at_once(self, held: _Machine) -> None:
        if held.found is not None:  # its keeper is not ours
            held.found.kill(signal.SIGKILL)
        elif self._keeper is not None:
            self._keeper.kill(held.number)

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
                self._end_at_once(held)
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


def _report(machine: int, message: tuple[Any, ...]) -> Report:
    """The end of an attempt, as a worker tells it."""
    if message[0] == "done":
        _, unit, attempt, results, cpu, memory = message
        return Done(unit, attempt, machine, results, Usage(cpu, memory))
    if message[0] == "broke":
        _, unit, attempt, cause, reason, call, tail, cpu, memory = message
        return Broke(unit, attempt, machine, cause, reason, call, tail, Usage(cpu, memory))
    return Broke(message[1], message[2], machine, "returned", "its turn did not come")
