"""Find the machine type on which a unit runs fastest, among those available."""

from collections.abc import Container

from tradewind.model.units import Duration
from tradewind.policies.protocol import Kind, Pool, Unit, View


def fastest(view: View, pool: Pool, unit: Unit, kinds: Container[int]) -> Kind | None:
    """Return the kind, among the given numbers, with the shortest estimate for a unit; the cheapest of equals."""
    best: Kind | None = None
    shortest: Duration = 0
    for kind in unit.kinds:
        if kind.index in kinds:
            time = view.estimate(unit, kind)
            if (
                best is None
                or time < shortest
                or (time == shortest and view.worth(pool, kind) < view.worth(pool, best))
            ):
                best, shortest = kind, time
    return best


def payable(view: View, pool: Pool) -> frozenset[int]:
    """Return the numbers of the kinds of which the tenant's whole budget could pay for one machine."""
    budget = pool.tenant.budget
    return frozenset(kind.index for kind in view.kinds if budget is None or view.worth(pool, kind) <= budget)
