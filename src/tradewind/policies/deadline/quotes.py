"""Quotes: the current value of paid time of each machine type, and so what an option adds to the bill.

The cost of an option depends on whether other jobs can use spare paid time. If they can with probability `u`, opening n
periods at price p for work that takes a fraction t of one adds (1-u) n p + u t p: whole periods at a low volume, plain
time x price if machines are never idle. Each type's `u` follows the recent work.
"""

from collections.abc import Sequence

from tradewind.model.units import HOUR, Duration
from tradewind.policies.deadline.demand import useful
from tradewind.policies.protocol import Kind

_DOUBT = 0.3
"""Load, in machines, that must be left before another machine counts as kept busy by future work."""
_SPARE = 1.3
"""Cost of work on such a machine as a multiple of time x price, because no machine is always busy."""


class Quotes:
    """The current value of paid time of each machine type."""

    def __init__(self, kinds: Sequence[Kind], prices: Sequence[float], loads: Sequence[float]) -> None:
        self.prices = tuple(prices)
        """Price of an hour in one slot."""
        self.loads = loads
        """How many machines of each type the recent work keeps busy."""
        self.chances = [useful(load) for load in loads]
        self.rates = [price * kind.type.slots / HOUR for price, kind in zip(prices, kinds, strict=True)]
        """Price of a microsecond of a whole machine."""
        self.plain = [chance * (price / HOUR) for chance, price in zip(self.chances, prices, strict=True)]
        """The least that a microsecond of work in one slot adds."""
        self.whole = [
            (1 - chance) * rate * kind.type.billing.period
            for chance, rate, kind in zip(self.chances, self.rates, kinds, strict=True)
        ]
        """What each additional paid period adds beyond that."""

    def opening(self, kind: Kind, tracks: int, time: Duration, work: Duration) -> float:
        """Return what a new machine adds for a task of some length, given the number of tracks of its type."""
        type = kind.type
        chance = self.chances[kind.index]
        price = self.rates[kind.index]
        plain = self.plain[kind.index] * work
        if tracks < round(self.loads[kind.index] - _DOUBT):  # enough work arrives to keep one more busy for hours
            return plain * _SPARE
        lag = type.boot.mean
        idle = chance if tracks else chance * (1 - chance)
        periods = -(-(lag + time) // type.billing.period)
        return plain + idle * price * lag + (1 - chance) * price * type.billing.period * periods
