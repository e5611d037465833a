"""Workflows other than the paper's: real ones (WfInstances) and those of our generators, on the same machines.

They declare one run time per task. Times on the four types follow from ratios drawn for each kind of step, as for the
paper's applications. Jobs arrive once an hour on average, with deadlines of two or six times the minimum.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tradewind.experiments.scs.settings import LAG, TYPES
from tradewind.experiments.scs.workload import unit_times
from tradewind.formats.load import load
from tradewind.model.scenario import Arrivals, Submission
from tradewind.model.units import SECOND, Duration
from tradewind.model.workflow import Workflow
from tradewind.sim.arrivals import arrive
from tradewind.sim.generators import generate

REAL = (
    "1000genome-chameleon-2ch-100k-001",
    "blast-chameleon-small-001",
    "cycles-chameleon-1l-1c-9p-001",
    "epigenomics-chameleon-hep-1seq-100k-001",
    "montage-chameleon-2mass-005d-001",
    "seismology-chameleon-100p-001",
    "soykb-chameleon-10fastq-10ch-001",
    "srasearch-chameleon-10a-003",
)
GENERATED = ("chain", "cybershake", "epigenomics", "forkjoin", "layered", "ligo", "montage", "sipht")
_TASKS = 40
TIMES = (2, 6)
"""Deadlines, in multiples of the lag plus the longest path on the fastest types."""


@dataclass(frozen=True, slots=True)
class Other:
    """A workflow from another source, and its deadline as a multiple of the minimum."""

    source: str
    """`real` or `generated`."""
    name: str
    times: int


def others() -> list[Other]:
    """Return all available workflows; real ones only if their files are next to the sources."""
    names = [("generated", name) for name in GENERATED]
    folder = instances()
    if folder is not None:
        names += [("real", name) for name in REAL]
    return [Other(source, name, times) for source, name in names for times in TIMES]


def instances() -> Path | None:
    """Return the folder with the files of real workflows, if there is one."""
    for parent in Path(__file__).resolve().parents:
        folder = parent.parent / "shared" / "data" / "wfinstances"
        if folder.is_dir():
            return folder
    return None


def jobs_of(other: Other, count: int, seed: int) -> list[Submission]:
    """Return jobs of a workflow, about one an hour."""
    rng = random.Random(f"{seed}/scs/{other.source}/{other.name}")
    workflow = timed(_workflow(other, rng), rng)
    deadline = other.times * (LAG + _tightest(workflow))
    workflow = replace(workflow, deadline=deadline)
    return [Submission(at, workflow, "owner") for at in arrive(Arrivals("poisson", {"rate": "1/h"}), count, 0, rng)]


def _workflow(other: Other, rng: random.Random) -> Workflow:
    if other.source == "generated":
        return generate(other.name, _TASKS, rng)
    folder = instances()
    if folder is None:
        raise FileNotFoundError(other.name)
    content = load(folder / f"{other.name}.json.gz", lenient=True).content
    if not isinstance(content, Workflow):
        raise TypeError(f"{other.name} is not a workflow")
    return content


def timed(workflow: Workflow, rng: random.Random) -> Workflow:
    """Return a workflow with times for each machine type; the declared time is that of Standard."""
    ratios: dict[str, list[float]] = {}
    tasks = []
    for task in workflow.tasks:
        if task.name not in ratios:
            row = unit_times("strong", rng)
            ratios[task.name] = [time / row[1] for time in row]
        base: Duration = max(SECOND, task.runtime or 0)
        times = {type.name: round(base * ratio) for type, ratio in zip(TYPES, ratios[task.name], strict=True)}
        tasks.append(replace(task, runtimes=times))
    return replace(workflow, tasks=tuple(tasks))


def _tightest(workflow: Workflow) -> Duration:
    ends: list[Duration] = []
    for task, parents in zip(workflow.tasks, workflow.parents, strict=True):
        ends.append(min(task.runtimes.values()) + max((ends[parent] for parent in parents), default=0))
    return max(ends, default=0)


def sources() -> Iterator[str]:
    """Yield the available sources of workflows."""
    yield "generated"
    if instances() is not None:
        yield "real"
