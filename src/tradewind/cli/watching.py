"""What a person sees of a run: a line of progress on a terminal, and what goes wrong as it happens."""

from time import monotonic
from typing import Self

from rich.console import Console
from rich.status import Status

from tradewind.core.log import Record, Sink
from tradewind.core.metrics import Meter
from tradewind.core.state import State
from tradewind.core.why import why
from tradewind.model.event import Failed
from tradewind.model.units import show_money

_REFRESH = 0.1
"""Seconds between two looks."""


class Watching:
    """Follows a run and shows where it stands."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._meter: Meter | None = None
        self._next_look = 0.0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    @property
    def meter(self) -> Meter:
        """The figures of the run."""
        if self._meter is None:
            raise RuntimeError("nothing has been watched yet")
        return self._meter

    def sink_for(self, state: State) -> Sink:
        """Follow the records of a run."""
        meter = self._meter = Meter(state.all_pools, state.kinds)

        def sink(record: Record) -> None:
            meter.observe(record)
            if isinstance(record, Failed):
                self._show_retry(state, record)
            if self._status is not None and monotonic() >= self._next_look:
                self._next_look = monotonic() + _REFRESH
                self._status.update(self._line(state, meter))

        return sink

    def _line(self, state: State, meter: Meter) -> str:
        """Where the run stands."""
        running = sum(len(machine.running) for machine in state.machines.values())
        demand = sum(tenant.gap.demand for tenant in meter.tenants)
        parts = [f"{meter.finished} done", f"{running} running"]
        if demand > running:
            parts.append(f"{demand - running} waiting ({self._because(state)})")
        parts.append(f"{len(state.machines)} machines")
        cost = sum(tenant.charged - tenant.refunded for tenant in meter.tenants)
        if cost:
            parts.append(f"cost {show_money(cost)}")
        return ", ".join(parts)

    def _because(self, state: State) -> str:
        first = next((unit for pool in state.all_pools for unit in pool.eligible()), None)
        return "to be tried again" if first is None else why(state, first).cause

    def _show_retry(self, state: State, record: Failed) -> None:
        unit = state.units.get(record.unit)
        if unit is not None and unit.task.retry.allows(record.cause, {record.cause: sum(unit.failures.values()) + 1}):
            self._console.print(f"{unit.task.id}: attempt {record.attempt}: {record.reason}", markup=False)
