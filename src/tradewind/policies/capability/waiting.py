"""The memory of the placer: since when each required set has been passed over."""

from typing import Any

from tradewind.model.units import SECOND, Duration, Time
from tradewind.policies.protocol import Need, Pool

GRAIN: Duration = 10 * SECOND
"""Precision of saved times: with a finer one, each start would be one more change to save."""


class Waiting:
    """For each tenant's sets, since when they have been waiting, or when one of their units last started."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, int], Time] = {}
        self._names: dict[tuple[int, int], tuple[str, str]] = {}
        self._saved: dict[tuple[str, str], Time] = {}

    def since(self, pool: Pool, need: Need, now: Time) -> Time:
        """Return since when a set has been waiting, which starts now if it was not waiting before."""
        key = pool.index, need.index
        since = self._since.get(key)
        if since is None:
            name = self._names[key] = pool.tenant.name, str(need.requirement)
            since = self._since[key] = self._saved.pop(name, now)
        return since

    def started(self, pool: Pool, need: Need, now: Time) -> None:
        """Record that a unit was started; the waiting time of its set restarts."""
        self._since[pool.index, need.index] = now

    def over(self, pool: Pool, need: Need) -> None:
        """Record that a set has no units left."""
        self._since.pop((pool.index, need.index), None)

    def save(self) -> list[list[Any]]:
        """Return tenants, sets and times as plain values."""
        return [[*self._names[key], since // GRAIN * GRAIN] for key, since in self._since.items()]

    def load(self, saved: list[list[Any]]) -> None:
        """Restore saved times for sets that will appear again, under any number."""
        self._saved = {(tenant, name): since for tenant, name, since in saved}
