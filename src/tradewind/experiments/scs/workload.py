"""The three applications of Fig. 7, following the paper, with times drawn for each machine type.

- Pipeline: five stages, one after the other.
- Parallel: an entry, six parallel tasks, and a join.
- Hybrid: two pipelines of different length and a fan of three between an entry and a join, with a cross link.

Each service unit has a preferred type and times that make this type the cheapest for it (`strong`), or times without
a preferred type (`weak`). All times of a job are scaled so that its longest path on the fastest types takes 10 to 18
minutes: with a lag of 6.5 minutes, every job can finish within half an hour.
"""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tradewind.experiments.scs.settings import HOURS, TYPES, Application, Cell, Ratios, arrivals
from tradewind.model.scenario import Submission
from tradewind.model.units import HOUR, MINUTE, Duration
from tradewind.model.workflow import Task, Workflow
from tradewind.sim.arrivals import arrive

Links = tuple[tuple[int, ...], ...]

GRAPHS: Mapping[Application, Links] = MappingProxyType(
    {
        "pipeline": ((), (0,), (1,), (2,), (3,)),
        "parallel": ((), (0,), (0,), (0,), (0,), (0,), (0,), (1, 2, 3, 4, 5, 6)),
        "hybrid": ((), (0,), (0,), (0,), (1,), (2,), (2,), (2, 3), (4,), (5, 6, 7, 8)),
    }
)
_CLASSES = 3
"""Job classes per application: the same graph with different times."""
_LEAST, _MOST = 10 * MINUTE, 18 * MINUTE


def submissions(cell: Cell, draw: int, seed: int, hours: int = HOURS) -> list[Submission]:
    """Return the jobs of one draw of a cell; their times depend only on the draw and the application."""
    times = random.Random(f"{seed}/scs/{cell.application}/{cell.ratios}/{draw}")
    classes = [job_class(cell.application, cell.ratios, cell.deadline, number, times) for number in range(_CLASSES)]
    rng = random.Random(f"{seed}/scs/{cell.pattern}/{cell.volume}/{draw}")
    count = round(cell.volume * hours)
    begins = [at for at in arrive(arrivals(cell.pattern, cell.volume), count, 0, rng) if at < hours * HOUR]
    return [Submission(at, rng.choice(classes), "owner") for at in begins]


def job_class(
    application: Application, ratios: Ratios, deadline: Duration, number: int, rng: random.Random
) -> Workflow:
    """Return a class of jobs with its own times."""
    links = GRAPHS[application]
    rows = [unit_times(ratios, rng) for _ in links]
    ends: list[float] = []
    for row, parents in zip(rows, links, strict=True):
        ends.append(min(row) + max((ends[parent] for parent in parents), default=0.0))
    scale = rng.uniform(_LEAST, _MOST) / max(ends)
    tasks = tuple(
        Task(
            f"s{place}",
            f"{application}-{number}-s{place}",
            runtimes={type.name: round(time * scale) for type, time in zip(TYPES, row, strict=True)},
        )
        for place, row in enumerate(rows)
    )
    return Workflow(f"{application}-{number}", tasks, links, deadline=deadline)


def unit_times(ratios: Ratios, rng: random.Random) -> Sequence[float]:
    """Return the relative times of a service unit on Micro, Standard, High-CPU and High-Memory."""
    standard = rng.uniform(1, 4)
    if ratios == "weak":
        return (
            standard * rng.uniform(2, 6),
            standard,
            standard / rng.uniform(2, 6),
            standard / rng.uniform(2, 5),
        )
    preferred = rng.randrange(len(TYPES))
    return (
        standard * (rng.uniform(1.5, 3.5) if preferred == 0 else rng.uniform(5, 9)),
        standard,
        standard / (rng.uniform(10, 16) if preferred == 2 else rng.uniform(2, 6)),
        standard / (rng.uniform(7.5, 12) if preferred == 3 else rng.uniform(2, 4.5)),
    )
