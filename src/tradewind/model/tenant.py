"""Tenants: who submits work, and how much they may spend."""

from dataclasses import dataclass

from tradewind.model.units import MINUTE, Duration, Money


@dataclass(frozen=True, slots=True)
class Tenant:
    """A user or group whose work runs on machines of their own, paid from their own budget."""

    name: str
    budget: Money | None = None
    """The most that may be reserved in any period as long as `interval`; None: no limit."""
    interval: Duration = MINUTE
    weight: float = 1.0
    """Relative share when tenants compete."""
    machines: int | None = None
    """Maximum number of machines held; None: no limit."""
