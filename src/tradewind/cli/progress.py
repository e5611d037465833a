"""A progress bar for long simulations and plans, shown on a terminal's error stream so that output stays clean."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tradewind.core.log import Record, Sink
from tradewind.core.state import State
from tradewind.model.event import Finished
from tradewind.model.units import show_duration

_MOST = 2_000
_SHARE = 50
"""The bar moves after a fiftieth of the tasks, or after this many."""


@contextmanager
def following(title: str, tasks: int | None) -> Iterator[Callable[[State], Sink]]:
    """Show how many tasks have finished, as records of one simulation after the other go by."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    every = min(_MOST, max(1, (tasks or 0) // _SHARE))
    with Progress(*columns, TextColumn("{task.fields[clock]}"), console=console, transient=True) as progress:
        bar = progress.add_task(title, total=tasks, clock="")
        progress.disable = not console.is_terminal
        finished = tries = 0

        def sink(record: Record) -> None:
            nonlocal finished
            if type(record) is Finished:
                finished += 1
                if finished % every == 0:
                    progress.update(bar, completed=finished, clock=f"{show_duration(record.at)} simulated")

        def sink_for(_state: State) -> Sink:
            nonlocal finished, tries
            finished = 0
            tries += 1
            if tries > 1:
                progress.reset(bar, description=f"{title}, try {tries}", clock="")
            return sink

        yield sink_for
