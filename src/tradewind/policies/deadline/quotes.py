"""Quotes: what paid time of each machine type is worth at the moment, and so what an option adds to the bill.

What an option adds depends on whether spare paid time will be of use to others. With a chance `u` that it will, opening
n periods at price p for work that takes a share t of one adds (1-u) n p + u t p: whole periods where little comes,
plain time x price where machines are never idle. Each type's `u` follows the work that has come of late.
"""

from collections.abc import Sequence

from tradewind.model.units import HOUR, Duration
from tradewind.policies.deadline.demand import useful
from tradewind.policies.protocol import Kind

_DOUBT = 0.3
"""Load, in machines, that has to be left over before another machine counts as kept busy by what comes."""
_SPARE = 1.3
"""What work on such a machine costs, as a multiple of time x price, for no machine is always at work."""


class Quotes:
    """What paid time of each machine type is worth at the moment."""

    def __init__(self, kinds: Sequence[Kind], prices: Sequence[float], loads: Sequence[float]) -> None:
        self.prices = tuple(prices)
        """Of an hour in one slot."""
        self.loads = loads
        """How many machines of each type the work of late keeps busy."""
        self.chances = [useful(load) for load in loads]
        self.rates = [price * kind.type.slots / HOUR for price, kind in zip(prices, kinds, strict=True)]
        """Of a microsecond of a whole machine."""
        self.plain = [chance * rate for chance, rate in zip(self.chances, self.rates, strict=True)]
        """What a microsecond of work adds at least."""
        self.whole = [
            (1 - chance) * rate * kind.type.billing.period
            for chance, rate, kind in zip(self.chances, self.rates, kinds, strict=True)
        ]
        """What each period that is paid in addition adds beyond that."""

    def opening(self, kind: Kind, tracks: int, time: Duration) -> float:
        """What a new machine adds to the bill for a task that takes so long, where so many of its type are there."""
        type = kind.type
        chance = self.chances[kind.index]
        price = self.rates[kind.index]
        plain = chance * price * time
        if tracks < round(self.loads[kind.index] - _DOUBT):  # work enough comes to keep one more busy for hours
            return plain * _SPARE
        lag = type.boot.mean
        idle = chance if tracks else chance * (1 - chance)
        periods = -(-(lag + time) // type.billing.period)
        return plain + idle * price * lag + (1 - chance) * price * type.billing.period * periods
