"""The simulated owners of machines that join: they let machines come and leave, and follow hints.

Some machines are there by themselves, from one time to another. Beyond these, an owner brings as many as the last hint
asks for, each after the boot lag of its type, and takes idle ones away when a later hint asks for fewer. Machines that
leave at random are replaced.
"""

import random
from heapq import heappush
from itertools import count

from tradewind.core.machines import Kind
from tradewind.core.state import State
from tradewind.model.command import Wanted, Welcomed
from tradewind.model.event import Event, MachineJoined, MachineLeft
from tradewind.model.machine import Presence
from tradewind.model.units import HOUR, Time

SPARED = "a hint asked for fewer"
WITHDRAWN = "its owner took it away"

_ALWAYS = Presence()


class Owners:
    """Answers hints with machines that join and leave."""

    def __init__(self, state: State, heap: list[Event], next_seq: "count[int]", seed: int) -> None:
        self._state = state
        self._heap = heap
        self._next_seq = next_seq.__next__
        self._rng = random.Random(f"{seed}/owners")
        self._names: dict[int, dict[str, int | None]] = {kind.index: {} for kind in state.joining.values()}
        """By kind: machines that are there, with their numbers, or on their way."""
        self._hints: dict[int, int] = {}
        self._next_name = count(1).__next__
        self.awaited = 0
        """How many machines will still come by themselves for the first time."""
        for kind in state.joining.values():
            presence = _presence(kind)
            self.awaited += presence.present
            for _ in range(presence.present):
                self._come(kind, presence.begin)

    def wanted(self, notice: Wanted) -> None:
        """Follow a hint."""
        kind = self._state.kinds[notice.kind]
        self._hints[kind.index] = notice.count
        self._bring(kind, notice.at)
        surplus = len(self._names[kind.index]) - self._target(kind, notice.at)
        for number in sorted((each for each in self._names[kind.index].values() if each is not None), reverse=True):
            if surplus > 0 and not self._state.machines[number].running:
                self._push(MachineLeft(notice.at, self._next_seq(), number, SPARED))
                surplus -= 1

    def welcomed(self, notice: Welcomed) -> None:
        """Foretell when a machine that has joined leaves."""
        kind = self._state.kinds[notice.kind]
        presence = _presence(kind)
        self._names[kind.index][notice.name] = notice.machine
        self.awaited = max(0, self.awaited - 1)
        if presence.churn:
            at = notice.at + round(self._rng.expovariate(presence.churn) * HOUR)
            self._push(MachineLeft(at, self._next_seq(), notice.machine, WITHDRAWN))
        if presence.end is not None:
            self._push(MachineLeft(max(notice.at, presence.end), self._next_seq(), notice.machine, WITHDRAWN))

    def confirm(self, event: MachineLeft) -> bool:
        """Whether a machine leaves as was foretold; if so, another may take its place."""
        machine = self._state.machines.get(event.machine)
        if machine is None or (event.reason == SPARED and machine.running):
            return False
        del self._names[machine.kind.index][machine.joined]
        self._bring(machine.kind, event.at)
        return True

    def _bring(self, kind: Kind, now: Time) -> None:
        boot = kind.configured.boot
        for _ in range(self._target(kind, now) - len(self._names[kind.index])):
            lag = max(0, round(self._rng.gauss(boot.mean, boot.deviation))) if boot.deviation else boot.mean
            self._come(kind, now + lag)

    def _target(self, kind: Kind, now: Time) -> int:
        """How many machines there should be."""
        presence = _presence(kind)
        if presence.end is not None and now >= presence.end:
            return 0
        return min(max(presence.present, self._hints.get(kind.index, 0)), kind.type.limit)

    def _come(self, kind: Kind, at: Time) -> None:
        name = f"{kind.type.name}/{self._next_name()}"
        self._names[kind.index][name] = None
        self._push(MachineJoined(at, self._next_seq(), name, kind.configured, tuple(sorted(kind.tenants))))

    def _push(self, event: Event) -> None:
        heappush(self._heap, event)


def _presence(kind: Kind) -> Presence:
    return kind.configured.presence or _ALWAYS
