"""How much to run: 72 hours, as in the paper, and 50 draws of the paper's table, at two volumes.

The other axes that the paper leaves open get fewer draws, because a draw at a high volume has many jobs. A hundred jobs
per hour arrive for one day only, 2,400 jobs in each cell.
"""

from dataclasses import dataclass

from tradewind.experiments.scs.settings import BASE_VOLUME, HOURS, LAGGING, NOISY, SAME, Cell, cells
from tradewind.model.units import HOUR


@dataclass(frozen=True, slots=True)
class Sweep:
    """Some cells, the number of draws, and the hours to simulate."""

    cells: tuple[Cell, ...]
    draws: int
    hours: int = HOURS


@dataclass(frozen=True, slots=True)
class Extent:
    """How much to run."""

    sweeps: tuple[Sweep, ...]
    noise: Sweep
    others: int
    """Number of jobs of each real and each generated workflow; 0: none."""
    sizes: tuple[int, ...]
    """Numbers of active jobs at which a decision is timed."""


FULL = Extent(
    sweeps=(
        Sweep(cells(BASE_VOLUME), 50),
        Sweep(cells(0.5), 50),
        Sweep(cells(BASE_VOLUME, "weak"), 5),
        Sweep(cells(10.0), 1),
        Sweep(cells(100.0), 1, 24),
    ),
    noise=Sweep((*NOISY, *LAGGING, *SAME), 20),
    others=6,
    sizes=(10, 100, 1_000, 10_000, 100_000),
)
QUICK = Extent(
    sweeps=(Sweep(cells(BASE_VOLUME), 1, 24), Sweep(cells(10.0, patterns=("stable",), deadlines=(HOUR,)), 1, 12)),
    noise=Sweep((*NOISY, *LAGGING, *SAME), 2, 24),
    others=2,
    sizes=(10, 100, 1_000),
)
