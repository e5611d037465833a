"""Find work for idle machines by required and offered capabilities.

Section 5 of Krämer's paper on the Steep workflow system: `_look_up` is its Listing 1.1, `select_candidates` its
Listing 1.2. Every machine with room votes for the required set it prefers among those it supports. For each set with a
vote, the machine that has been idle longest gets a unit. This repeats until nothing more can be placed. Sets that no
machine supports are skipped (the scaler rents for them). A required set is a *need* here.

The preference of a machine is the heuristic of section 5.3, in two versions:
- `most_remaining`, the paper's new one: the set with the most remaining units.
- `fixed_order`, from the author's earlier work, which considered only idle time. The paper does not say which set a
  machine took then, only the outcome (section 7.1): machines that offered R3 and R4 took all of R3 first. We read this
  as a fixed order, the order in which sets were first seen.

Differences: machines of one kind vote alike, so one vote per kind is enough, and only kinds with room vote. A round
costs O(kinds x sets), independent of the number of machines and units. Workflows have priorities here, and a set whose
first unit has a higher priority goes first. A set that has been passed over for longer than `patience` goes before
others of equal priority: if work keeps arriving, the largest set could otherwise starve a small one.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TypeAlias

from tradewind.model.units import Duration, Time
from tradewind.policies.capability.waiting import Waiting
from tradewind.policies.protocol import Kind, Machine, Need, Place, Pool, Unit, View

Preference: TypeAlias = Callable[[Pool, Need], int]
"""How a machine ranks a set among those it supports; smallest first."""

Request: TypeAlias = tuple[Need, Unit, Sequence[Kind]]
"""A required set, its first unit, and the kinds with room that support it."""


def most_remaining(pool: Pool, need: Need) -> int:
    """Prefer the set with the most remaining units."""
    return -pool.remaining(need)


def fixed_order(_pool: Pool, need: Need) -> int:
    """Prefer the set that was seen first."""
    return need.index


class Capability:
    """A placer that gives ready units to the machines that support them and have been idle longest."""

    def __init__(self, preference: Preference, patience: Duration) -> None:
        self._preference = preference
        self._patience = patience
        self.memory = Waiting()
        self._because = (
            "idle longest of the machines that support it; its set has the most remaining units"
            if preference is most_remaining
            else "idle longest of the machines that support it"
        )

    def rank(self, unit: Unit) -> int:
        """Higher priorities first."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        """Find work for every machine with room."""
        for pool in view.unsettled():
            yield from self._look_up(pool, view.now)

    def _look_up(self, pool: Pool, now: Time) -> Iterator[Place]:
        """Place units while there are candidates."""
        memory = self.memory
        while kinds := pool.kinds_with_room():
            candidates = select_candidates(pool, self._by_preference(pool, kinds, now))
            if not candidates:
                return
            for machine, need, unit in candidates:
                yield Place(unit, machine, self._because)
                if pool.remaining(need):
                    memory.started(pool, need, now)
                else:
                    memory.over(pool, need)

    def _by_preference(self, pool: Pool, kinds: Sequence[Kind], now: Time) -> list[Request]:
        """Return the waiting sets that some of these kinds support, best first."""
        ranked = []
        for need in pool.waiting():
            supporting = [kind for kind in kinds if kind in need.kinds]
            if not supporting:
                continue
            unit = pool.first(need)
            if unit is not None:
                rank = (
                    -unit.run.priority,
                    self._overdue_since(pool, need, now),
                    self._preference(pool, need),
                    need.index,
                )
                ranked.append((rank, (need, unit, supporting)))
        if len(ranked) > 1:
            ranked.sort(key=itemgetter(0))
        return [request for _, request in ranked]

    def _overdue_since(self, pool: Pool, need: Need, now: Time) -> Time:
        """Return since when a set has waited if beyond the patience, otherwise now: the longest wait sorts first."""
        since = self.memory.since(pool, need, now)
        return since if self._patience and now - since > self._patience else now


def select_candidates(pool: Pool, requests: Sequence[Request]) -> list[tuple[Machine, Need, Unit]]:
    """Return, for each preferred set, the longest idle machine that prefers it, the set, and its first unit."""
    candidates = []
    answered: set[int] = set()
    for need, unit, kinds in requests:
        best: Machine | None = None
        for kind in kinds:
            if kind.index not in answered:
                machine = pool.longest_idle(kind, need)
                if machine is not None:
                    answered.add(kind.index)
                    if best is None or _is_idle_longer(machine, best):
                        best = machine
        if best is not None:
            candidates.append((best, need, unit))
    return candidates


def _is_idle_longer(machine: Machine, other: Machine) -> bool:
    return (machine.idle_since, machine.id) < (other.idle_since, other.id)
