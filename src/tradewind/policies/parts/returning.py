"""Choose idle machines to return: only those whose paid time is about to end, so that none of it is wasted."""

from collections.abc import Iterable, Iterator

from tradewind.model.units import Duration, Time
from tradewind.policies.protocol import Machine


def expiring(machines: Iterable[Machine], now: Time, interval: Duration) -> Iterator[Machine]:
    """Yield idle machines due for renewal before the next decision: shortest paid time first, then longest idle."""
    ending = (m for m in machines if m.is_idle and m.paid_until < now + interval)
    yield from sorted(ending, key=lambda m: (m.paid_until, m.idle_since, m.id))
