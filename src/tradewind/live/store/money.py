"""What was spent, on what and by whom, as the charges in the store tell.

A run is charged for the time its attempts took on their machines, at what these machines cost in all, divided by the
time they were held and by their slots. What machines cost while they were idle is nobody's.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tradewind.live.store.readers import Readers
from tradewind.model.units import Duration, Money, Time


class Sum(NamedTuple):
    """Money charged and paid back for something."""

    key: str
    charged: Money
    refunded: Money

    @property
    def cost(self) -> Money:
        """What it comes to."""
        return self.charged - self.refunded


class Share(NamedTuple):
    """What a run has cost on machines of one type."""

    machine_type: str
    cost: Money
    busy: Duration


_KEYS = {
    "tenant": "charges.tenant",
    "machine_type": "machines.kind",
    "machine": "charges.machine",
    "interval": "(charges.at / :interval) * :interval",
}

_OF_MACHINES = """
    SELECT machine, CAST(SUM(CASE WHEN refund THEN -amount ELSE amount END) AS BIGINT) AS cost
    FROM charges {where} GROUP BY machine
"""

_OF_RUN = f"""
    SELECT m.number, m.kind, m.acquired, m.released, m.paid_until, COALESCE(c.cost, 0),
    CAST(SUM(a.ended - a.started) AS BIGINT)
    FROM attempts a JOIN machines m ON m.number = a.machine
    LEFT JOIN ({_OF_MACHINES.format(where="WHERE machine IN (SELECT machine FROM attempts WHERE run = :run)")}) c
    ON c.machine = m.number
    WHERE a.run = :run GROUP BY m.number, m.kind, m.acquired, m.released, m.paid_until, c.cost
"""  # noqa: S608  words of our own


class Costs:
    """Answers what was spent; any thread may ask."""

    def __init__(self, readers: Readers, slots: Mapping[str, int]) -> None:
        self._fetch = readers.fetch
        self._slots = slots

    def sums(
        self,
        by: str,
        *,
        tenant: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        interval: Duration = 1,
        limit: int = 1000,
    ) -> list[Sum]:
        """What was charged by tenant, machine type, machine or interval, the first `limit` in the order of the key."""
        conditions, values = [], dict[str, Any]()
        for condition, name, value in (
            ("charges.tenant = :tenant", "tenant", tenant),
            ("charges.at >= :since", "since", since),
            ("charges.at < :until", "until", until),
        ):
            if value is not None:
                conditions.append(condition)
                values[name] = value
        if by == "interval":
            values["interval"] = interval
        join = "JOIN machines ON machines.number = charges.machine" if by == "machine_type" else ""
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = self._fetch(
            f"""
            SELECT {_KEYS[by]} AS key, CAST(SUM(CASE WHEN refund THEN 0 ELSE amount END) AS BIGINT),
            CAST(SUM(CASE WHEN refund THEN amount ELSE 0 END) AS BIGINT)
            FROM charges {join} {where} GROUP BY 1 ORDER BY 1 LIMIT {limit}
            """,  # noqa: S608  words of our own
            **values,
        )
        return [Sum(str(key), charged, refunded) for key, charged, refunded in rows]

    def of_run(self, run: int, now: Time) -> list[Share]:
        """What a run has cost so far, by machine type."""
        shares: dict[str, tuple[int, int]] = {}
        for _, kind, acquired, released, paid_until, cost, busy in self._fetch(_OF_RUN, run=run):
            held = max(1, (released or max(now, paid_until)) - acquired) * self._slots.get(kind, 1)
            spent, time = shares.get(kind, (0, 0))
            shares[kind] = (spent + cost * min(busy, held) // held, time + busy)
        return [Share(kind, *share) for kind, share in sorted(shares.items())]
