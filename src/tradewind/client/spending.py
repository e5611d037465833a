"""Compute the cost of runs and machines in a folder's store, in the shapes of the REST API."""

from typing import Any

from tradewind.client.errors import ClientError
from tradewind.live.store.pages import Pages
from tradewind.live.store.port import RunDetail, Store
from tradewind.model.units import UNIT, in_seconds, in_units
from tradewind.pictures.report.account import account
from tradewind.pictures.report.sources import from_store

_KEYS = {"tenant": "charges.tenant", "machine_type": "machines.kind", "machine": "charges.machine"}


def of_run(store: Store, detail: RunDetail) -> dict[str, Any]:
    """Return the cost of a run by machine type: its share of its machines' cost, and the waste."""
    costs = account(from_store(store, detail)).costs
    return {
        "total": costs.total.cost / UNIT,
        "wasted": costs.total.waste / UNIT,
        "by_machine_type": [
            {
                "machine_type": name,
                "cost": use.cost / UNIT,
                "machine_time": in_seconds(use.held),
                "busy_time": in_seconds(use.busy),
            }
            for name, use in sorted(costs.types.items())
        ],
    }


def of_all(pages: Pages, by: str) -> dict[str, Any]:
    """Return all charges and refunds, grouped by a key."""
    column = _KEYS.get(by)
    if column is None:
        raise ClientError(
            f"without a server, cost can be grouped by {', '.join(_KEYS)}, or shown for one run: `tradewind cost RUN`"
        )
    rows = pages.fetch(
        f"SELECT {column}, refund, CAST(SUM(amount) AS BIGINT) FROM charges "  # noqa: S608  names of our own
        f"LEFT JOIN machines ON machines.number = charges.machine GROUP BY {column}, refund ORDER BY {column}"
    )
    sums: dict[str, list[int]] = {}
    for key, is_refund, amount in rows:
        sums.setdefault(str(key), [0, 0])[bool(is_refund)] += amount
    items = [
        {"key": key, "cost": in_units(paid - back), "charged": in_units(paid), "refunded": in_units(back)}
        for key, (paid, back) in sums.items()
    ]
    return {"by": by, "total": sum(item["cost"] for item in items), "items": items}
