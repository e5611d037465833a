"""One engine of two: machines that are rented run on one, machines that joined on the other."""

from collections.abc import Mapping, Sequence

from tradewind.live.engines.pull import PullEngine
from tradewind.live.port import Engine, Expected, Order, Report
from tradewind.model.machine import MachineType


class JoinedEngine:
    """Passes each call on to the engine of its machine."""

    ends_with_us = False

    def __init__(self, rented: Engine, joined: PullEngine) -> None:
        self._rented = rented
        self._joined = joined
        self.ahead = rented.ahead

    def acquire(self, machine: int, type: MachineType) -> None:
        """Rent a machine."""
        self._rented.acquire(machine, type)

    def welcome(self, name: str, machine: int) -> None:
        """Give a machine that joined its number."""
        self._joined.welcome(name, machine)

    def release(self, machine: int) -> None:
        """Let a machine go."""
        self._of(machine).release(machine)

    def start(self, orders: Sequence[Order]) -> None:
        """Begin attempts."""
        joined = [order for order in orders if self._joined.holds(order.machine)]
        if not joined:
            self._rented.start(orders)
            return
        self._joined.start(joined)
        rented = [order for order in orders if not self._joined.holds(order.machine)]
        if rented:
            self._rented.start(rented)

    def kill(self, unit: int, attempt: int, machine: int, *, at_once: bool = False) -> None:
        """End an attempt."""
        self._of(machine).kill(unit, attempt, machine, at_once=at_once)

    def check(self, expected: Mapping[int, Expected]) -> list[Report]:
        """Have each engine compare its machines."""
        rented = {machine: each for machine, each in expected.items() if not each.type.joins}
        joined = {machine: each for machine, each in expected.items() if each.type.joins}
        return [*self._rented.check(rented), *self._joined.check(joined)]

    def confirm(self, ends: Sequence[tuple[int, int, int]]) -> None:
        """Stop reporting ends."""
        joined = [end for end in ends if self._joined.holds(end[2])]
        if joined:
            self._joined.confirm(joined)
        if len(joined) < len(ends):
            self._rented.confirm([end for end in ends if not self._joined.holds(end[2])])

    def detach(self) -> None:
        """Let go of everything."""
        self._joined.detach()
        self._rented.detach()

    def close(self) -> None:
        """End everything that ends with us."""
        self._joined.close()
        self._rented.close()

    def _of(self, machine: int) -> Engine:
        return self._joined if self._joined.holds(machine) else self._rented
