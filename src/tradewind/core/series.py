"""Curves over time, drawn from the event log: demand, supply, busy machines and money spent, for each tenant."""

from dataclasses import dataclass, field

from tradewind.core.log import Record
from tradewind.core.metrics import Meter
from tradewind.core.state import State
from tradewind.model.units import Time


@dataclass(slots=True)
class Curves:
    """Values of one tenant at the times at which any of them changed."""

    at: list[Time] = field(default_factory=list)
    demand: list[int] = field(default_factory=list)
    supply: list[tuple[int, ...]] = field(default_factory=list)
    """Machines held, by type."""
    busy: list[tuple[int, ...]] = field(default_factory=list)
    """Machines at work, by type."""


class Series:
    """Follows a run record by record and notes each change of a tenant's curves, one point an instant."""

    def __init__(self, state: State) -> None:
        self._meter = Meter(state.all_pools, state.kinds)
        self.curves = [Curves() for _ in state.all_pools]

    @property
    def meter(self) -> Meter:
        """The figures of the same run."""
        return self._meter

    def observe(self, record: Record) -> None:
        """Take the next record of the log."""
        self._meter.observe(record)
        for curves, tenant in zip(self.curves, self._meter.tenants, strict=True):
            supply = tuple(level.now for level in tenant.allocated)
            busy = tuple(level.now for level in tenant.busy)
            _note(curves, record.at, tenant.gap.demand, supply, busy)


def _note(curves: Curves, at: Time, demand: int, supply: tuple[int, ...], busy: tuple[int, ...]) -> None:
    if curves.at and curves.at[-1] == at:
        curves.demand[-1], curves.supply[-1], curves.busy[-1] = demand, supply, busy
    elif not curves.at or (curves.demand[-1], curves.supply[-1], curves.busy[-1]) != (demand, supply, busy):
        curves.at.append(at)
        curves.demand.append(demand)
        curves.supply.append(supply)
        curves.busy.append(busy)
