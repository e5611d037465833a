"""The request for a reproduction and its result, the same for every paper."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeAlias

from tradewind.experiments.claims import Report
from tradewind.pictures.canvas import load_matplotlib

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the number of steps done, their total, and the last step."""
Step: TypeAlias = Callable[[str], None]
"""Called with the step that was just completed."""


@dataclass(frozen=True, slots=True)
class Request:
    """How much to run, from which seed, and where to write figures."""

    out: Path
    seed: int = 0
    is_quick: bool = False
    progress: Progress = lambda _done, _total, _label: None
    workers: int = 0
    """Number of processes; 0: one per processor."""
    is_simulated: bool = True
    """Whether to run the simulations."""
    is_live: bool = True
    """Whether to run with real processes, if the paper has such experiments."""

    def steps(self, total: int) -> Step:
        """Return a callback that reports progress over a total number of steps."""
        done = count(1)
        return lambda label: self.progress(next(done), total, label)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """The result of a reproduction."""

    report: Report
    pictures: tuple[Path, ...]


def drawn(draw: Callable[[], list[Path]], remarks: list[str]) -> list[Path]:
    """Draw the figures of a study; without matplotlib, draw none and add a remark."""
    try:
        load_matplotlib()
    except ValueError as error:
        remarks.append(f"No figures were drawn: {error}.")
        return []
    return draw()
