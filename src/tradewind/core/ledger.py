"""The ledger: what each tenant has reserved, and the promise that no interval ever costs more than its budget.

Money is reserved when a machine is acquired and again each time its billing period ends. The promise is kept for
*every* stretch of time as long as the tenant's interval, wherever it begins: what the machines now held can cost in
such a stretch, plus what was charged within the last one for machines already gone, never exceeds the budget. So a
renewal can only fail when the budget itself has been lowered. Each operation takes O(log n).

A machine that may shrink is reserved for at its full size, for it may grow at any time; what its missing cores were
worth is paid back when a period ends or the machine goes, exactly, however often the size has changed in between.

A price may be a fraction of a micro-unit, as a cheap machine's is that is billed by the second. What a machine costs is
therefore found for all the time since it was acquired and rounded once, and a charge is by how much that has grown: no
remainder has to be kept. Where machines round, up or down, is spread evenly over their numbers, so that many that are
held briefly cost together what they should, too.
"""

from collections.abc import Iterable
from heapq import heappop, heappush
from math import ceil

from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time

UNLIMITED: Money = 10**18
_STEPS = 1 << 16
_STRIDE = 40_503
"""The golden section of the steps: multiples of it, taken modulo the steps, spread evenly, however many there are."""


class Account:
    """One tenant's money."""

    __slots__ = ("_gone", "_gone_sum", "budget", "charged", "committed", "interval", "refunded")

    def __init__(self, tenant: Tenant) -> None:
        self.budget = tenant.budget
        self.interval = tenant.interval
        self.committed: Money = 0
        """What the machines now held can cost in one interval."""
        self.charged: Money = 0
        """All that was ever reserved."""
        self.refunded: Money = 0
        """All that was ever paid back."""
        self._gone: list[tuple[Time, Money]] = []
        """Charges for machines already given back, a heap by time, as long as they lie within an interval."""
        self._gone_sum: Money = 0

    def available(self, now: Time) -> Money:
        """What may still be committed; below zero after the budget has been lowered."""
        gone = self._gone
        while gone and gone[0][0] <= now - self.interval:
            self._gone_sum -= heappop(gone)[1]
        if self.budget is None:
            return UNLIMITED
        return self.budget - self.committed - self._gone_sum

    def change(self, tenant: Tenant, held: Iterable[MachineType]) -> None:
        """The tenant has another budget or interval, while machines of these types are held."""
        self.budget, self.interval = tenant.budget, tenant.interval
        self.committed = sum(worth(type, self.interval) for type in held)

    @property
    def is_overcommitted(self) -> bool:
        """Whether the machines held cost more than the budget, as they may once it has been lowered."""
        return self.budget is not None and self.committed > self.budget

    def commit(self, type: MachineType) -> None:
        """A machine is held from now on."""
        self.committed += worth(type, self.interval)

    def withdraw(self, type: MachineType, machine: int, acquired: Time, paid_until: Time, now: Time) -> None:
        """A machine of a type and number is no longer held; what was charged for it of late still counts."""
        self.committed -= worth(type, self.interval)
        if not type.price:
            return
        past = now - self.interval
        period = type.billing.period
        renewed = acquired + first_periods(type) * period
        if acquired > past:
            self.remember(acquired, cost(type, renewed - acquired, machine))
        skipped = max(0, (past - renewed) // period + 1)
        for at in range(renewed + skipped * period, paid_until, period):
            held = at - acquired
            self.remember(at, cost(type, held + period, machine) - cost(type, held, machine))

    def remember(self, at: Time, amount: Money) -> None:
        """A charge for a machine already gone counts until it is an interval old."""
        heappush(self._gone, (at, amount))
        self._gone_sum += amount


def cost(type: MachineType, time: Duration, machine: int) -> Money:
    """What holding a machine of a number for so long costs in all: the exact amount, rounded up or down."""
    price = type.price
    whole, rest = divmod(time * price.numerator, type.billing.period * price.denominator)
    if not rest:
        return whole
    return whole + (rest * _STEPS > machine * _STRIDE % _STEPS * (type.billing.period * price.denominator))


def worth(type: MachineType, interval: Duration) -> Money:
    """The most that holding one machine can cost in any stretch of time as long as the interval."""
    return ceil(type.price * max(-(-interval // type.billing.period), first_periods(type)))


def first_periods(type: MachineType) -> int:
    """How many billing periods are reserved when a machine is acquired."""
    return max(1, -(-type.billing.minimum // type.billing.period))


def paid_back(type: MachineType, machine: int, acquired: Time, paid_until: Time, now: Time) -> Money:
    """What is paid back for a machine of a number that is released now."""
    if type.billing.rounding is None:
        return 0
    used = paid_for(type, acquired, paid_until, now) - acquired
    return cost(type, paid_until - acquired, machine) - cost(type, used, machine)


def paid_for(type: MachineType, acquired: Time, paid_until: Time, now: Time) -> Time:
    """Up to when a machine released now has to be paid for."""
    if type.billing.rounding is None:
        return paid_until
    return min(paid_until, acquired + type.billing.used(now - acquired))


def paid_back_for_size(type: MachineType, machine: int, lacking: int, paid: Duration) -> Money:
    """What is paid back in all for cores that a machine lacked, each times for how long; never more than was paid."""
    price = type.core_price
    due = lacking * price.numerator // (price.denominator * type.billing.period)
    return min(due, cost(type, paid, machine))
