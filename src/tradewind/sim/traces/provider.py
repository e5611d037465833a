"""The provider: places spot and harvest machines on servers, and reclaims what its regular customers need.

A harvest machine gets all free cores of its server, which it shares with no other; below its minimum it is evicted. A
spot machine keeps its size, several fit on a server, and the newest are evicted first when the free cores no longer
suffice. The server is chosen as in section 4.3 of the SlackSched paper: any server (`random`), the one with the most
free cores (`balancing`, which leaves out the emptiest as a buffer) or with the fewest (`packing`).
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from tradewind.model.machine import NO_LIMIT, MachineType, Market
from tradewind.model.requirement import Amounts
from tradewind.model.units import Duration, Time
from tradewind.sim.traces.steps import Steps

PLACEMENTS = ("random", "balancing", "packing")
BUFFER = 0.05
"""Fraction of the servers, the emptiest, that balancing leaves out."""
CPUS = "cpus"
TAKEN_BACK = "the provider has taken it back"


@dataclass(slots=True)
class _Lease:
    """A machine on a server."""

    type: MachineType
    server: int

    @property
    def least(self) -> int:
        """Return the minimum number of cores it must have."""
        if self.type.market is Market.SPOT:
            return cores_of(self.type.amounts)
        return cores_of(self.type.minimum) or 1


@dataclass(slots=True)
class _Server:
    steps: Steps
    leases: dict[int, _Lease] = field(default_factory=dict)
    """By machine, in order of arrival."""


def cores_of(amounts: Amounts) -> int:
    """Return the number of cores in amounts."""
    return dict(amounts).get(CPUS, 0)


def resized(type: MachineType, cores: int) -> Amounts:
    """Return the amounts of a machine of a type with a number of cores."""
    return tuple((name, min(count, cores) if name == CPUS else count) for name, count in type.amounts)


class Provider:
    """Servers with free cores, and the machines on them."""

    def __init__(
        self,
        servers: Sequence[Steps],
        placement: str = "random",
        seed: int | str = 0,
        own: Mapping[str, Sequence[Steps]] = MappingProxyType({}),
    ) -> None:
        """`own` holds servers reserved for one machine type, by its name; other types share the rest."""
        if placement not in PLACEMENTS:
            raise ValueError(f"no placement is named {placement!r}; use {', '.join(PLACEMENTS)}")
        self._servers = [_Server(steps) for steps in servers]
        self._shared = range(len(servers))
        self._own: dict[str, range] = {}
        for name, steps_of in own.items():
            self._own[name] = range(len(self._servers), len(self._servers) + len(steps_of))
            self._servers += map(_Server, steps_of)
        self._placement = placement
        self._rng = random.Random(f"{seed}/provider")
        self._where: dict[int, _Lease] = {}
        self.is_held: Callable[[int], bool] = lambda _machine: True
        """Whether a machine is still held by its tenant; used to detect returned machines."""
        self._buffer = _emptiest(servers) if placement == "balancing" else frozenset()

    @property
    def last_change(self) -> Time:
        """When what is free on any of the servers changes for the last time."""
        return max((server.steps.times[-1] for server in self._servers), default=0)

    def serves(self, type: MachineType) -> bool:
        """Return whether machines of a type come from these servers; other types are always available."""
        return not type.market.is_firm and bool(self._own.get(type.name, self._shared))

    def lease(self, machine: int, type: MachineType, at: Time) -> Amounts | None:
        """Place a machine on a server, and return its amounts there, or None if no server has room."""
        lease = _Lease(type, -1)
        number = self._choose(lease, at)
        if number is None:
            return None
        lease.server = number
        self._where[machine] = lease
        server = self._servers[number]
        server.leases[machine] = lease
        return resized(type, server.steps.at(at)) if type.market is Market.HARVEST else type.amounts

    def next_change(self, machine: int, after: Time) -> tuple[Time, Amounts | None] | None:
        """Return when a machine is next resized, and to what, or evicted (None); None if this never happens."""
        lease = self._where[machine]
        steps = self._servers[lease.server].steps
        at: Time | None = after
        while at is not None and (at := steps.next_change(at)) is not None:
            free = steps.at(at)
            if lease.type.market is Market.HARVEST:
                return (at, resized(lease.type, free)) if free >= lease.least else (at, None)
            if free < self._taken_up_to(lease.server, machine):
                return at, None
        return None

    def confirm(self, machine: int, at: Time) -> bool:
        """Return whether a predicted change of a machine still happens, after others may have left its server."""
        lease = self._where.get(machine)
        if lease is None or not self.is_held(machine):
            return False
        return lease.type.market is Market.HARVEST or self._servers[lease.server].steps.at(at) < self._taken_up_to(
            lease.server, machine
        )

    def knows(self, machine: int) -> bool:
        """Return whether a machine is on one of the servers."""
        return machine in self._where

    def server_of(self, machine: int) -> int | None:
        """Return the number of a machine's server."""
        lease = self._where.get(machine)
        return None if lease is None else lease.server

    def leave(self, machine: int) -> None:
        """Remove a machine that is gone."""
        lease = self._where.pop(machine, None)
        if lease is not None:
            self._servers[lease.server].leases.pop(machine, None)

    def least_ahead(self, machine: int, begin: Time, length: Duration) -> int:
        """Return the fewest cores that a machine will have in a period, which only an oracle knows."""
        lease = self._where.get(machine)
        if lease is None:  # of a type that is always available
            return NO_LIMIT
        free = self._servers[lease.server].steps.least(begin, begin + length)
        if lease.type.market is Market.SPOT:
            return lease.least if free >= self._taken_up_to(lease.server, machine) else 0
        return min(free, cores_of(lease.type.amounts)) if free >= lease.least else 0

    def _choose(self, lease: _Lease, at: Time) -> int | None:
        numbers = self._own.get(lease.type.name, self._shared)
        if self._placement == "random":
            for _ in range(16):
                number = numbers[int(self._rng.random() * len(numbers))]
                if self._room(number, lease, at) is not None:
                    return number
        rooms = [
            (room, number)
            for number in numbers
            if number not in self._buffer and (room := self._room(number, lease, at)) is not None
        ]
        if not rooms:
            return None
        if self._placement == "random":
            return self._rng.choice(rooms)[1]
        return (max if self._placement == "balancing" else min)(rooms)[1]

    def _room(self, number: int, lease: _Lease, at: Time) -> int | None:
        """Return the number of cores a machine would get on a server, if that is enough."""
        server = self._servers[number]
        for machine in [machine for machine in server.leases if not self.is_held(machine)]:
            self.leave(machine)
        if server.leases and (
            lease.type.market is Market.HARVEST
            or any(other.type.market is Market.HARVEST for other in server.leases.values())
        ):
            return None
        room = server.steps.at(at) - sum(other.least for other in server.leases.values())
        return room if room >= lease.least else None

    def _taken_up_to(self, number: int, machine: int) -> int:
        """Return the cores of the machines on a server that are not newer than one of them."""
        taken = 0
        for other, lease in self._servers[number].leases.items():
            if self.is_held(other):
                taken += lease.least
            if other == machine:
                break
        return taken


def _emptiest(servers: Sequence[Steps]) -> frozenset[int]:
    order = sorted(range(len(servers)), key=lambda number: -_mean(servers[number]))
    return frozenset(order[: int(BUFFER * len(servers))])


def _mean(steps: Steps) -> float:
    end = steps.times[-1]
    return steps.mean(steps.times[0], end) if end > steps.times[0] else float(steps.values[0])
