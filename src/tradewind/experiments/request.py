"""What is asked of the reproduction of a paper; the same for every paper."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeAlias

from tradewind.experiments.claims import Report
from tradewind.pictures.canvas import load_matplotlib

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with how many steps are done, how many there are, and what was done last."""
Step: TypeAlias = Callable[[str], None]
"""Called with what has just been done."""


@dataclass(frozen=True, slots=True)
class Request:
    """How much to run, from which seed, and where pictures go."""

    out: Path
    seed: int = 0
    is_quick: bool = False
    progress: Progress = lambda _done, _total, _label: None
    workers: int = 0
    """How many processes; 0: as many as there are processors."""
    is_simulated: bool = True
    """Whether what is simulated is run."""
    is_live: bool = True
    """Whether what is done by real processes is run, where a paper has such."""

    def steps(self, total: int) -> Step:
        """What tells the progress of so many steps, one call after each."""
        done = count(1)
        return lambda label: self.progress(next(done), total, label)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What came of it."""

    report: Report
    pictures: tuple[Path, ...]


def drawn(draw: Callable[[], list[Path]], remarks: list[str]) -> list[Path]:
    """The figures of a study; without matplotlib none, and a remark that says so."""
    try:
        load_matplotlib()
    except ValueError as error:
        remarks.append(f"No figures were drawn: {error}.")
        return []
    return draw()
