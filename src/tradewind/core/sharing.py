"""Sharing: where there are no more machines of a type to be had, tenants that have less than their share get a turn.

A tenant's share of a type is its weight among those who hold or want such machines. Once one holds more than that for
longer than a quantum, while another with less waits, a machine of it is drained: what runs there ends, nothing new
begins, and then the other may rent in its place. With fewer machines than tenants they take turns, a quantum each.
"""

from collections.abc import Iterator, Sequence

from tradewind.core.machines import DRAINING, Kind, Machine
from tradewind.core.pool import Pool
from tradewind.model.units import Duration, Time


class Claims:
    """Who waits for a turn on machines of one kind, and what everybody's share is."""

    __slots__ = ("shares", "waiting")

    def __init__(self, kind: Kind, pools: Sequence[Pool]) -> None:
        wanting = [pool for pool in pools if _wants(pool, kind)]
        parties = {pool.index: pool for pool in pools if pool.fleets[kind.index].machines}
        parties |= {pool.index: pool for pool in wanting}
        total = sum(pool.tenant.weight for pool in parties.values())
        limit = kind.type.limit
        self.shares = {index: limit * pool.tenant.weight / total for index, pool in parties.items()}
        self.waiting = {
            pool.index for pool in wanting if len(pool.fleets[kind.index].machines) + 1 <= max(1, self.share(pool))
        }

    def share(self, pool: Pool) -> float:
        """How many machines of the kind are a tenant's due."""
        return self.shares.get(pool.index, 0.0)

    def allowance(self, pool: Pool, held: int, room: int) -> int:
        """How many of the machines that are left a tenant may take, for others have less than their share."""
        if pool.index not in self.waiting:
            return room - len(self.waiting)
        return room if len(self.waiting) == 1 else min(room, max(1, int(self.share(pool)) - held))


def claims_on(kind: Kind, pools: Sequence[Pool]) -> Claims | None:
    """Who waits for a turn on machines of a kind; None: nobody."""
    if len(pools) < 2 or kind.type.joins or kind.type.limit > kind.held + len(pools):
        return None
    claims = Claims(kind, pools)
    return claims if claims.waiting else None


def to_be_drained(kind: Kind, claims: Claims, pools: Sequence[Pool], now: Time, quantum: Duration) -> Iterator[Machine]:
    """Machines that should make way, those held the longest first, as many as are waited for."""
    held = {pool.index: list(pool.fleets[kind.index].machines.values()) for pool in pools}
    leaving = sum(machine.state == DRAINING for machines in held.values() for machine in machines)
    wanted = len(claims.waiting) - leaving - (kind.type.limit - kind.held)
    by_excess = sorted(pools, key=lambda pool: (claims.share(pool) - len(held[pool.index]), pool.index))
    for pool in by_excess:
        staying = [machine for machine in held[pool.index] if machine.is_up]
        excess = len(staying) - claims.share(pool)
        for machine in sorted(staying, key=lambda machine: (machine.acquired, machine.id)):
            if wanted <= 0 or excess <= 0:
                break
            if pool.index not in claims.waiting and now - machine.acquired >= quantum:
                yield machine
                wanted -= 1
                excess -= 1


def _wants(pool: Pool, kind: Kind) -> bool:
    return any(kind in need.kinds and pool.first(need) is not None for need in pool.waiting())
