"""Show the progress of a run: a status line on a terminal, and failures as they happen."""

import sys
from collections.abc import Iterator
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Self

from tradewind.cli.terminal import visible
from tradewind.core.log import Record, Sink
from tradewind.core.metrics import Meter
from tradewind.core.state import State
from tradewind.core.why import why
from tradewind.model.command import Predicted, Recalled
from tradewind.model.event import Failed
from tradewind.model.units import show_duration, show_money

if TYPE_CHECKING:
    from rich.status import Status

_REFRESH = 0.1
"""Seconds between two updates."""

_PATIENCE = 0.3
"""Seconds before the status line appears; its library loads slowly, and the first task should not wait for it."""


def say(text: str, *, is_bad: bool = False) -> None:
    """Print a message, above the status line if there is one."""
    shown = visible(text)
    sys.stderr.write(f"\x1b[31m{shown}\x1b[0m\n" if is_bad and sys.stderr.isatty() else f"{shown}\n")
    sys.stderr.flush()


def counted(number: int, word: str) -> str:
    """Format a count with a noun."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


class Watching:
    """A watcher that follows a run and shows its status."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._soon: Timer | None = None
        self._meter: Meter | None = None
        self._warned: set[int] = set()
        """Runs that are predicted to miss their deadlines."""
        self.recalled = 0
        """Chains whose results came from the cache."""
        self._next_look = 0.0

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._soon = Timer(_PATIENCE, self._begin)
            self._soon.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon.join()
        if self._status is not None:
            self._status.stop()

    @property
    def meter(self) -> Meter:
        """Return the metrics of the run."""
        if self._meter is None:
            raise RuntimeError("no run has been watched yet")
        return self._meter

    def sink_for(self, state: State) -> Sink:
        """Return a sink that follows the records of a run."""
        meter = self._meter = Meter(state.all_pools, state.kinds)

        def sink(record: Record) -> None:
            meter.observe(record)
            if isinstance(record, Failed):
                self._show_retry(state, record)
            elif isinstance(record, Predicted):
                self._show_prediction(state, record)
            elif isinstance(record, Recalled):
                self.recalled += record.tasks
            if self._status is not None and monotonic() >= self._next_look:
                self._next_look = monotonic() + _REFRESH
                self._status.update(self._line(state, meter))

        return sink

    def _begin(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - see `_PATIENCE`

        status = Console(stderr=True, highlight=False).status("working")
        status.start()
        self._status = status

    def _line(self, state: State, meter: Meter) -> str:
        """Return the status line of the run."""
        running = sum(len(machine.running) for machine in state.machines.values())
        demand = sum(tenant.gap.demand for tenant in meter.tenants)
        parts = [f"{meter.finished} done", f"{running} running"]
        if demand > running:
            parts.append(f"{demand - running} waiting ({self._because(state)})")
        parts.append(counted(len(state.machines), "machine"))
        cost = sum(tenant.charged - tenant.refunded for tenant in meter.tenants)
        if cost:
            parts.append(f"cost {show_money(cost)}")
        return ", ".join([*parts, *self._ends(state)])

    def _ends(self, state: State) -> Iterator[str]:
        """Yield the predicted ends of runs with deadlines."""
        for run in state.runs.values():
            if run.predicted is None or run.deadline is None or run.is_suspended:
                continue
            slack = run.deadline - run.predicted
            stands = f"{show_duration(abs(slack))} {'before' if slack >= 0 else 'after'} its deadline"
            yield f"ends in {show_duration(max(0, run.predicted - state.now))}, {stands}"

    def _because(self, state: State) -> str:
        first = next((unit for pool in state.all_pools for unit in pool.eligible()), None)
        return "to be retried" if first is None else why(state, first).cause

    def _show_prediction(self, state: State, record: Predicted) -> None:
        """Warn when a deadline is predicted to be missed, and say when it no longer is."""
        run = state.runs.get(record.run)
        if record.slack is None or run is None:
            return
        if record.slack < 0:
            self._warned.add(record.run)
            say(f"{run.name}: will miss its deadline by {show_duration(-record.slack)} ({record.because})", is_bad=True)
        elif record.run in self._warned:
            self._warned.discard(record.run)
            say(f"{run.name}: on time again, with {show_duration(record.slack)} to spare")

    def _show_retry(self, state: State, record: Failed) -> None:
        unit = state.units.get(record.unit)
        if unit is not None and unit.task.retry.allows(record.cause, {record.cause: sum(unit.failures.values()) + 1}):
            say(f"{unit.task.id}: attempt {record.attempt}: {record.reason}")
