"""Looking up work for idle machines by what it requires and what they offer.

Section 5 of Krämer's paper on the Steep workflow system: `_look_up` is its Listing 1.1, `select_candidates` its
Listing 1.2. Every machine with room names the required set it would like best among those it supports; for each set
named, the machine that has been idle the longest gets a unit; and again, until nothing more can be placed. Sets that
nobody supports are passed over (the scaler rents for them), and the others go on. A required set is a *need* here.

Which set a machine likes best is the heuristic of section 5.3, in two versions:
- `most_remaining`, the paper's new one: the set of which most units remain.
- `fixed_order`, that of the author's earlier work, which knew the longest idle time only. Which set a machine took then
  is not said, but what came of it (section 7.1): machines that offered R3 and R4 took all of R3 first. We read this as
  a fixed order, that in which the sets were first met with.

Where we differ: machines of one kind answer alike, so one answer for each kind is enough, and none is asked that has no
room; a round costs O(kinds x sets), whatever the number of machines and units. Workflows have priorities here, and a
set whose first unit has a higher one goes first. And a set that has been passed over for longer than `patience` goes
before those of equal priority: where work arrives without end, the largest set could hold up a small one for ever.
"""

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TypeAlias

from tradewind.model.units import Duration, Time
from tradewind.policies.capability.waiting import Waiting
from tradewind.policies.protocol import Kind, Machine, Need, Place, Pool, Unit, View

Preference: TypeAlias = Callable[[Pool, Need], int]
"""How a machine ranks a set among those it supports; the smallest comes first."""

Request: TypeAlias = tuple[Need, Unit, Sequence[Kind]]
"""A required set, its first unit, and the kinds with room that support it."""


def most_remaining(pool: Pool, need: Need) -> int:
    """The set of which most units remain comes first."""
    return -pool.remaining(need)


def fixed_order(_pool: Pool, need: Need) -> int:
    """The set that was met with first comes first."""
    return need.index


class Capability:
    """Places ready units on the machines that have been idle the longest, by what they offer."""

    def __init__(self, preference: Preference, patience: Duration) -> None:
        self._preference = preference
        self._patience = patience
        self.memory = Waiting()
        self._because = (
            "idle the longest of those that support it; most units remain of what it needs"
            if preference is most_remaining
            else "idle the longest of those that support it"
        )

    def rank(self, unit: Unit) -> int:
        """Higher priorities first."""
        return -unit.run.priority

    def place(self, view: View) -> Iterator[Place]:
        """Look up work for every machine with room."""
        for pool in view.unsettled():
            yield from self._look_up(pool, view.now)

    def _look_up(self, pool: Pool, now: Time) -> Iterator[Place]:
        """Place units as long as there are candidates to take them."""
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
        """The sets that wait and that some of these kinds support, best first."""
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
        """Since when a set has waited if that is too long, else now: the longest kept waiting comes first."""
        since = self.memory.since(pool, need, now)
        return since if self._patience and now - since > self._patience else now


def select_candidates(pool: Pool, requests: Sequence[Request]) -> list[tuple[Machine, Need, Unit]]:
    """For each set that some machine likes best: the one idle the longest of these, the set, and its first unit."""
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
