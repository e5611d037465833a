"""The ledger: what each tenant has reserved, and the promise that no interval ever costs more than its budget.

Money is reserved when a machine is acquired and again each time its billing period ends. The promise is kept for
*every* stretch of time as long as the tenant's interval, wherever it begins: what the machines now held can cost in
such a stretch, plus what was charged within the last one for machines already gone, never exceeds the budget. So a
renewal can only fail when the budget itself has been lowered. Each operation takes constant time (amortised).
"""

from collections import deque

from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import Duration, Money, Time

UNLIMITED: Money = 10**18


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
        self._gone: deque[tuple[Time, Money]] = deque()
        """Charges for machines already given back, by time, as long as they lie within an interval."""
        self._gone_sum: Money = 0

    def available(self, now: Time) -> Money:
        """What may still be committed; below zero after the budget has been lowered."""
        gone = self._gone
        while gone and gone[0][0] <= now - self.interval:
            self._gone_sum -= gone.popleft()[1]
        if self.budget is None:
            return UNLIMITED
        return self.budget - self.committed - self._gone_sum

    def commit(self, type: MachineType) -> None:
        """A machine is held from now on."""
        self.committed += worth(type, self.interval)

    def withdraw(self, type: MachineType, acquired: Time, paid_until: Time, now: Time) -> None:
        """A machine is no longer held; what was charged for it of late still counts."""
        self.committed -= worth(type, self.interval)
        step = type.billing.period
        at = acquired
        amount = first_charge(type)
        charges = []
        while at < paid_until:
            if at > now - self.interval:
                charges.append((at, amount))
            at += amount // type.price * step if type.price else step
            amount = type.price
        if charges:
            self._gone = deque(sorted([*self._gone, *charges]))
            self._gone_sum += sum(amount for _, amount in charges)


def worth(type: MachineType, interval: Duration) -> Money:
    """The most that holding one machine can cost in any stretch of time as long as the interval."""
    return max(type.price * -(-interval // type.billing.period), first_charge(type))


def first_charge(type: MachineType) -> Money:
    """What is reserved when a machine is acquired: as many whole periods as the minimum asks for."""
    return type.price * first_periods(type)


def first_periods(type: MachineType) -> int:
    """How many billing periods are reserved when a machine is acquired."""
    return max(1, -(-type.billing.minimum // type.billing.period))


def paid_back(type: MachineType, acquired: Time, paid_until: Time, now: Time) -> Money:
    """What is paid back for a machine released now."""
    if type.billing.rounding is None:
        return 0
    unused = paid_until - acquired - type.billing.used(now - acquired)
    return max(0, unused * type.price // type.billing.period)
