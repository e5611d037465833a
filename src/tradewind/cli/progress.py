"""A progress bar for long simulations: on a terminal only, and on the error stream, so that output stays clean."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tradewind.core.log import Record, Sink
from tradewind.core.state import State
from tradewind.model.event import Finished
from tradewind.model.units import show_duration

_EVERY = 2_000


@contextmanager
def following(title: str, tasks: int) -> Iterator[Callable[[State], Sink]]:
    """Show how many of the tasks have finished while records go by."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[clock]}"), console=console, transient=True) as progress:
        bar = progress.add_task(title, total=tasks, clock="")
        progress.disable = not console.is_terminal
        finished = 0

        def sink(record: Record) -> None:
            nonlocal finished
            if type(record) is Finished:
                finished += 1
                if finished % _EVERY == 0:
                    progress.update(bar, completed=finished, clock=f"{show_duration(record.at)} simulated")

        yield lambda _state: sink
