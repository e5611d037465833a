"""Tenants: who submits work, and how much may be spent for it."""

from dataclasses import dataclass

from tradewind.model.units import MINUTE, Duration, Money


@dataclass(frozen=True, slots=True)
class Tenant:
    """Someone whose work runs on machines of their own, paid from their own budget."""

    name: str
    budget: Money | None = None
    """What may be reserved in any stretch of time as long as `interval`; None: no limit."""
    interval: Duration = MINUTE
    weight: float = 1.0
    """Share where tenants compete."""
    machines: int | None = None
    """How many may be held at once; None: no limit."""
