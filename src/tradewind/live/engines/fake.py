"""An engine that runs nothing and answers at once, in memory; with faults from a seed if they are wanted.

It serves the tests of the driver and the benchmark of the control plane. With faults, machines are lost under their
work, and reports come twice, late and in another order, the late ones of lost machines too: what the core's attempt
numbers are for. Machines and attempts are in a `Yard`, which may outlive the engine and be given to the next one. A
machine joins when `join` is called, and again whenever it is there and not expected.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from tradewind.live.port import Broke, Done, Down, Expected, Joined, Left, Listener, Order, Report, Up
from tradewind.model.machine import MachineType

Soon: TypeAlias = Callable[[Callable[[], object]], object]
"""Calls something back a little later: an event loop's `call_soon`, or a step of virtual time."""

Work: TypeAlias = Callable[[Order], Done | Broke]
"""What comes of an order."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often things go wrong: chances between 0 and 1."""

    stillborn: float = 0.0
    """A machine never comes up."""
    lose: float = 0.0
    """An order costs its machine."""
    double: float = 0.0
    """A report comes twice."""
    delay: float = 0.0
    """A report waits for a later delivery; tried anew each time."""
    shuffle: bool = False
    """Whether a delivery is in any order."""
    drop: float = 0.0
    """A report is never heard."""
    slow: float = 0.0
    """An attempt goes on until a later delivery; tried anew each time."""


NO_FAULTS = Faults()

Key: TypeAlias = tuple[int, int, int]
"""Unit, attempt and machine."""


@dataclass(slots=True)
class Yard:
    """Machines, and what runs and has run on them."""

    machines: dict[int, MachineType] = field(default_factory=dict)
    running: dict[Key, Order] = field(default_factory=dict)
    ended: dict[Key, Done | Broke] = field(default_factory=dict)
    """How attempts have ended, until that is confirmed."""
    guests: dict[str, Joined] = field(default_factory=dict)
    """Machines that joined, by name."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Of those that were welcomed."""

    def drop(self, machine: int) -> None:
        """A machine is gone with all that was there."""
        self.machines.pop(machine, None)
        self.numbers = {name: number for name, number in self.numbers.items() if number != machine}
        for attempts in (self.running, self.ended):
            for key in [key for key in attempts if key[2] == machine]:
                del attempts[key]


def ends_well(order: Order) -> Done:
    """Every order is done, and each output is nothing."""
    results = {call.id: dict.fromkeys(call.outputs) for call in order.calls}
    return Done(order.unit, order.attempt, order.machine, results)


class FakeEngine:
    """Answers at once, or when `deliver` is called if nobody calls back `soon`."""

    ends_with_us = False
    ahead = 0

    def __init__(
        self,
        listener: Listener,
        *,
        soon: Soon | None = None,
        work: Work = ends_well,
        faults: Faults = NO_FAULTS,
        seed: int = 0,
        yard: Yard | None = None,
    ) -> None:
        """`yard`: one that an earlier engine has left."""
        self.yard = yard or Yard()
        self.machines = self.yard.machines
        """Those that are held."""
        self._listener = listener
        self._soon = soon
        self._work = work
        self._faults = faults
        self._chance = Random(seed)
        self._waiting: list[Report] = []
        self._called = False

    def acquire(self, machine: int, type: MachineType) -> None:
        """Have a machine."""
        if self._happens(self._faults.stillborn):
            self._report(Down(machine, "it never came up"))
            return
        self.machines[machine] = type
        self._report(Up(machine))

    def join(self, name: str, type: MachineType, tenants: tuple[str, ...] = ()) -> None:
        """Let a machine join."""
        guest = self.yard.guests[name] = Joined(name, type, tenants)
        self._report(guest)

    def leave(self, name: str, reason: str = "it signed off") -> None:
        """Let a machine that joined leave with all that runs on it."""
        if self.yard.guests.pop(name, None) is not None:
            self.yard.drop(self.yard.numbers.get(name, -1))
            self._report(Left(name, reason))

    def welcome(self, name: str, machine: int) -> None:
        """Have a machine that joined under its number."""
        guest = self.yard.guests.get(name)
        if guest is not None and self.yard.numbers.get(name) != machine:
            self.yard.drop(self.yard.numbers.get(name, -1))
            self.yard.numbers[name] = machine
            self.machines[machine] = guest.type

    def release(self, machine: int) -> None:
        """Have it no more."""
        for name in [name for name, number in self.yard.numbers.items() if number == machine]:
            del self.yard.guests[name]
        self.yard.drop(machine)

    def start(self, orders: Sequence[Order]) -> None:
        """Be done with orders, except those that cost their machine."""
        for order in orders:
            if order.machine not in self.machines:
                self._report(Down(order.machine, "there is no such machine"))
            elif self._happens(self._faults.lose):
                if self._happens(0.5):  # done, but nobody hears of it in time
                    self._report(self._work(order))
                self.lose(order.machine)
            elif self._happens(self._faults.slow):
                self.yard.running[order.unit, order.attempt, order.machine] = order
                self._call()
            else:
                self._end(order)

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:  # noqa: ARG002 - always
        """Say nothing of an attempt that has not been reported yet."""
        key = (unit, attempt, machine)
        self.yard.running.pop(key, None)
        self.yard.ended.pop(key, None)
        self._waiting = [
            report for report in self._waiting if not isinstance(report, Done | Broke) or report[:3] != key
        ]

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        """Report what is missing, and ends that are not confirmed; end what is not expected."""
        yard = self.yard
        on_their_way = {report[:3] for report in self._waiting if isinstance(report, Done | Broke)}
        found: list[Report] = []
        known: set[Key] = set()
        for machine, (_, is_up, attempts, name) in expected.items():
            if name in yard.guests and yard.numbers.get(name) is None:
                self.welcome(name, machine)  # the number was saved, but never told
            if machine not in yard.machines:
                found.append(Down(machine, "it is gone"))
                continue
            if not is_up:
                found.append(Up(machine))
            for unit, attempt in attempts:
                key = (unit, attempt, machine)
                known.add(key)
                if key not in yard.running and key not in on_their_way:
                    lost = Broke(unit, attempt, machine, "lost", "its machine does not know it")
                    found.append(yard.ended.get(key, lost))
        for machine in yard.machines.keys() - expected.keys():
            yard.drop(machine)
        found += [guest for name, guest in yard.guests.items() if name not in yard.numbers]
        for unknown in [key for key in (*yard.running, *yard.ended) if key not in known]:
            self.kill(*unknown)
        return found

    def confirm(self, ends: Sequence[Key]) -> None:
        """Forget ends."""
        for end in ends:
            self.yard.ended.pop(end, None)

    def detach(self) -> None:
        """Leave the yard to the next engine."""
        self._waiting.clear()

    def close(self) -> None:
        """Forget everything."""
        for machine in list(self.machines):
            self.yard.drop(machine)
        self._waiting.clear()

    def lose(self, machine: int, reason: str = "it was lost") -> None:
        """Lose a machine with all that runs on it."""
        if machine in self.machines:
            self.yard.drop(machine)
            self._report(Down(machine, reason))

    def deliver(self) -> bool:
        """Tell the listener what has come of orders; whether something was held back."""
        self._called = False
        running = self.yard.running
        for key in [key for key in running if not self._happens(self._faults.slow)]:
            self._end(running.pop(key))
        reports, self._waiting = self._waiting, []
        if self._faults is not NO_FAULTS:
            reports = self._garbled(reports)
        if reports:
            self._listener(reports)
        if self._waiting or running:
            self._call()
        return bool(self._waiting or running)

    def _garbled(self, reports: list[Report]) -> list[Report]:
        faults, told = self._faults, []
        for report in reports:
            if self._happens(faults.drop):
                continue
            if self._happens(faults.delay):
                self._waiting.append(report)
                continue
            told.append(report)
            if self._happens(faults.double):
                (told if self._happens(0.5) else self._waiting).append(report)
        if faults.shuffle:
            self._chance.shuffle(told)
        return told

    def _end(self, order: Order) -> None:
        report = self._work(order)
        if not self.ends_with_us:
            self.yard.ended[report.unit, report.attempt, report.machine] = report
        self._report(report)

    def _happens(self, chance: float) -> bool:
        return chance > 0 and self._chance.random() < chance

    def _report(self, report: Report) -> None:
        self._waiting.append(report)
        self._call()

    def _call(self) -> None:
        if self._soon is not None and not self._called:
            self._called = True
            self._soon(self.deliver)
