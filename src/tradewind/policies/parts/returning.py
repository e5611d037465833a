"""Which idle machines to give back: only those whose paid time is about to end, so that none of it is wasted."""

from collections.abc import Iterable, Iterator

from tradewind.model.units import Duration, Time
from tradewind.policies.protocol import Machine


def expiring(machines: Iterable[Machine], now: Time, interval: Duration) -> Iterator[Machine]:
    """Idle machines that would be renewed before the next decision: paid the shortest, then idle the longest, first."""
    ending = (m for m in machines if m.is_idle and m.paid_until < now + interval)
    yield from sorted(ending, key=lambda m: (m.paid_until, m.idle_since, m.id))
