"""An engine that runs nothing and answers at once, in memory; with faults from a seed if they are wanted.

It serves the tests of the driver and the benchmark of the control plane. With faults, machines are lost under their
work, and reports come twice, late and in another order, the late ones of lost machines too: what the core's attempt
numbers are for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from tradewind.live.port import Broke, Done, Down, Listener, Order, Report, Up
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


NO_FAULTS = Faults()


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
    ) -> None:
        self.machines: dict[int, MachineType] = {}
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

    def release(self, machine: int) -> None:
        """Have it no more."""
        self.machines.pop(machine, None)

    def start(self, orders: Sequence[Order]) -> None:
        """Be done with orders, except those that cost their machine."""
        for order in orders:
            if order.machine not in self.machines:
                self._report(Down(order.machine, "there is no such machine"))
            elif self._happens(self._faults.lose):
                if self._happens(0.5):  # done, but nobody hears of it in time
                    self._report(self._work(order))
                self.lose(order.machine)
            else:
                self._report(self._work(order))

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:  # noqa: ARG002 - always
        """Say nothing of an attempt that has not been reported yet."""
        self._waiting = [
            report
            for report in self._waiting
            if not isinstance(report, Done | Broke) or report[:3] != (unit, attempt, machine)
        ]

    def check(self, held: Mapping[int, Sequence[tuple[int, int]]], awaited: Collection[int]) -> None:
        """Report what is missing."""
        pending = {report[:3] for report in self._waiting if isinstance(report, Done | Broke)}
        for machine, attempts in held.items():
            if machine not in self.machines:
                self._report(Down(machine, "there is no such machine"))
                continue
            for unit, attempt in attempts:
                if (unit, attempt, machine) not in pending:
                    self._report(Broke(unit, attempt, machine, "lost", "nobody knows of it any more"))
        for machine in awaited:
            self._report(Up(machine) if machine in self.machines else Down(machine, "there is no such machine"))

    def close(self) -> None:
        """Forget everything."""
        self.machines.clear()
        self._waiting.clear()

    def lose(self, machine: int, reason: str = "it was lost") -> None:
        """Lose a machine with all that runs on it."""
        if self.machines.pop(machine, None) is not None:
            self._report(Down(machine, reason))

    def deliver(self) -> bool:
        """Tell the listener what has come of orders; whether something was held back."""
        self._called = False
        reports, self._waiting = self._waiting, []
        if self._faults is not NO_FAULTS:
            reports = self._garbled(reports)
        if reports:
            self._listener(reports)
        if self._waiting:
            self._call()
        return bool(self._waiting)

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

    def _happens(self, chance: float) -> bool:
        return chance > 0 and self._chance.random() < chance

    def _report(self, report: Report) -> None:
        self._waiting.append(report)
        self._call()

    def _call(self) -> None:
        if self._soon is not None and not self._called:
            self._called = True
            self._soon(self.deliver)
