"""Spot and harvest machines played from a trace: taken back, or changed in size, when it says so.

They are local processes like others. A type that names a trace gets its machines from a provider that knows it; other
machines pass through untouched. The trace begins with the engine, and may pass faster than time does.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tradewind.live.port import Down, Engine, Expected, Listener, Order, Report, Resized
from tradewind.model.machine import MachineType
from tradewind.model.requirement import Amounts
from tradewind.model.units import SECOND, Time

TAKEN_BACK = "the provider has taken it back"
NONE_LEFT = "the trace has no room for it"


class Leases(Protocol):
    """Whoever knows what becomes of machines."""

    def lease(self, machine: int, type: MachineType, at: Time) -> Amounts | None:
        """What a machine begins with; None: it is not to be had."""

    def next_change(self, machine: int, after: Time) -> tuple[Time, Amounts | None] | None:
        """When it next changes, and what it has then (None: it is gone); None: never."""

    def confirm(self, machine: int, at: Time) -> bool:
        """Whether a change that was foretold comes true."""

    def leave(self, machine: int) -> None:
        """It was given back."""


@dataclass(slots=True)
class _Played:
    type: MachineType
    leases: Leases
    timer: asyncio.TimerHandle | None = None


class PlayedEngine:
    """An engine some of whose machines come, change and go as traces say."""

    def __init__(self, listener: Listener, make: Callable[[Listener], Engine], leases: Mapping[str, Leases]) -> None:
        """`leases`: by type."""
        self._listener = listener
        self._leases = leases
        self._held: dict[int, _Played] = {}
        self._engine = make(self._hear)
        self.ends_with_us, self.ahead = self._engine.ends_with_us, self._engine.ahead
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()

    def acquire(self, machine: int, type: MachineType) -> None:
        """Bring a machine up, unless there is none to be had."""
        told = self._lease(machine, type)
        if isinstance(told, Down):
            self._loop.call_soon(self._listener, [told])
            return
        if told is not None and told.amounts != type.amounts:
            self._loop.call_soon(self._listener, [told])
        self._engine.acquire(machine, type)

    def _lease(self, machine: int, type: MachineType) -> Resized | Down | None:
        """Begin to play a machine; None: its type names no trace."""
        leases = self._leases.get(type.name)
        if leases is None:
            return None
        now = self._time(type)
        amounts = leases.lease(machine, type, now)
        if amounts is None:
            return Down(machine, NONE_LEFT)
        self._held[machine] = _Played(type, leases)
        self._foretell(machine, now)
        return Resized(machine, amounts)

    def welcome(self, name: str, machine: int) -> None:
        """Give a machine that joined its number."""
        self._engine.welcome(name, machine)

    def release(self, machine: int) -> None:
        """Let a machine go."""
        self._forget(machine)
        self._engine.release(machine)

    def start(self, orders: Sequence[Order]) -> None:
        """Begin attempts."""
        self._engine.start(orders)

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """End an attempt."""
        self._engine.kill(unit, attempt, machine, at_once=at_once)

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        """Compare; machines of an earlier life are leased again, for the trace begins with the engine."""
        found = list(self._engine.check(expected))
        gone = {report.machine for report in found if isinstance(report, Down)}
        for machine in gone:
            self._forget(machine)
        for machine, each in expected.items():
            if machine not in self._held and machine not in gone and (told := self._lease(machine, each.type)):
                found.append(told)
                if isinstance(told, Down):
                    self._engine.release(machine)
        return found

    def confirm(self, ends: Sequence[tuple[int, int, int]]) -> None:
        """Stop reporting ends."""
        self._engine.confirm(ends)

    def detach(self) -> None:
        """Let go of everything."""
        for machine in list(self._held):
            self._forget(machine)
        self._engine.detach()

    def close(self) -> None:
        """End everything that is left."""
        for machine in list(self._held):
            self._forget(machine)
        self._engine.close()

    def _hear(self, reports: Sequence[Report]) -> None:
        for report in reports:
            if isinstance(report, Down):
                self._forget(report.machine)
        self._listener(reports)

    def _time(self, type: MachineType) -> Time:
        """How far the trace of a type has come."""
        return round((self._loop.time() - self._begun) * type.trace_speed * SECOND)

    def _foretell(self, machine: int, after: Time) -> None:
        played = self._held[machine]
        change = played.leases.next_change(machine, after)
        if change is not None:
            at, amounts = change
            wait = (at / SECOND) / played.type.trace_speed - (self._loop.time() - self._begun)
            played.timer = self._loop.call_later(max(0.0, wait), self._change, machine, at, amounts)

    def _change(self, machine: int, at: Time, amounts: Amounts | None) -> None:
        played = self._held[machine]
        if not played.leases.confirm(machine, at):
            self._foretell(machine, at)
        elif amounts is None:
            self._forget(machine)
            self._engine.release(machine)
            self._listener([Down(machine, TAKEN_BACK)])
        else:
            self._foretell(machine, at)
            self._listener([Resized(machine, amounts)])

    def _forget(self, machine: int) -> None:
        played = self._held.pop(machine, None)
        if played is not None:
            played.leases.leave(machine)
            if played.timer is not None:
                played.timer.cancel()


def with_played(listener: Listener, leases: Mapping[str, Leases], make: Callable[[Listener], Engine]) -> Engine:
    """An engine as it is made, or one that plays machines if any type names a trace."""
    return PlayedEngine(listener, make, leases) if leases else make(listener)
