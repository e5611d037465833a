"""The workloads of the budget paper (Performance-Feedback Autoscaler, section 4.3 and Table 2), without its data.

Montage, LIGO and SIPHT in equal parts; both workloads share their workflows and differ in the second run time of each
task. The paper gives neither the distribution of sizes nor the rule for that second run time; we fitted a shifted,
truncated log-normal to its mean (74), median (38) and deviation (95) of sizes, and a one-sided draw to its mean run
times: with the generator's run time over 30 as `o`, Workload I draws from `o` to `1.5 o` and assigns the two values to
the machine types at random; Workload II draws from `o` to `2 o` for `small` and keeps `o` on `large`. Sizes are drawn
evenly over the distribution (stratified), so that its long tail weighs the same in every repetition.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist

from tradewind.model.units import SECOND, Duration
from tradewind.model.workflow import File, Task, Workflow
from tradewind.sim.generators import Family
from tradewind.sim.generators.ligo import ligo
from tradewind.sim.generators.montage import montage
from tradewind.sim.generators.sipht import sipht

MIX: tuple[Family, ...] = (montage, ligo, sipht)
SMALLEST, LARGEST = 20, 680
SMALLEST_SIPHT = 29
"""One whole group of SIPHT: the generator that the paper used makes none smaller."""
SHIFT = 15
LOGARITHM = NormalDist(2.2, 1.95)
"""Of the number of tasks less `SHIFT`."""
SCALE = 30
"""Run times and sizes of the generators are divided by this."""
SMALLEST_FILE = 1000
PRIORITIES = 10


def pfa_workload(workload: int, seed: int = 1, workflows: int = 200) -> list[Workflow]:
    """Return workload 1 or 2 of the paper; seeds 1, 2 and 3 are our three repetitions, other seeds give new ones."""
    if workload not in (1, 2):
        raise ValueError(f"the paper has workloads 1 and 2, not {workload}")
    shapes = random.Random(f"pfa {seed}")  # the same for both workloads
    times = random.Random(f"pfa {seed} runtimes {workload}")
    known: dict[tuple[Duration, Duration], Mapping[str, Duration]] = {}
    made = []
    for number, (family, tasks) in enumerate(_drawn(seed, workflows, shapes), start=1):
        shape = family(tasks, shapes)
        scaled = [_scaled(task, workload, times, known) for task in shape.tasks]
        name = f"{number:03d}-{shape.name}"
        made.append(single_ended(Workflow(name, tuple(scaled), shape.parents, priority=shapes.randrange(PRIORITIES))))
    return made


def single_ended(workflow: Workflow) -> Workflow:
    """Return the workflow with an empty first and last task if it has several."""
    tasks = list(workflow.tasks)
    parents = list(workflow.parents)
    if sum(not row for row in parents) > 1:
        parents = [(), *(tuple(parent + 1 for parent in row) or (0,) for row in parents)]
        tasks.insert(0, Task("entry", "entry", runtime=0))
    exits = sorted(set(range(len(tasks))).difference(*parents))
    if len(exits) > 1:
        parents.append(tuple(exits))
        tasks.append(Task("exit", "exit", runtime=0))
    return replace(workflow, tasks=tuple(tasks), parents=tuple(parents))


def _drawn(seed: int, workflows: int, rng: random.Random) -> list[tuple[Family, int]]:
    """Return families in equal parts, each with sizes spread over the whole distribution, in random order."""
    counts = [workflows // len(MIX)] * len(MIX)
    for extra in range(workflows % len(MIX)):
        counts[(seed + extra) % len(MIX)] += 1  # another family in each repetition
    mix = [
        (family, max(_size((place + rng.random()) / count), SMALLEST_SIPHT if family is sipht else SMALLEST))
        for family, count in zip(MIX, counts, strict=True)
        for place in range(count)
    ]
    rng.shuffle(mix)
    return mix


def _size(quantile: float) -> int:
    low, high = (LOGARITHM.cdf(math.log(size - SHIFT)) for size in (SMALLEST, LARGEST))
    return round(SHIFT + math.exp(LOGARITHM.inv_cdf(low + (high - low) * quantile)))


def _scaled(
    task: Task, workload: int, rng: random.Random, known: dict[tuple[Duration, Duration], Mapping[str, Duration]]
) -> Task:
    """Return the task with run times on both machine types in whole seconds; tasks with equal run times share them."""
    original = max(1, round((task.runtime or 0) / SECOND / SCALE))
    if workload == 1:
        pair = [original, rng.randint(original, math.ceil(1.5 * original))]
        rng.shuffle(pair)
        small, large = pair
    else:
        small, large = rng.randint(original, 2 * original), original
    runtimes = known.setdefault((small, large), {"small": small * SECOND, "large": large * SECOND})
    return replace(
        task,
        runtime=original * SECOND,
        runtimes=runtimes,
        inputs=tuple(map(_shrunk, task.inputs)),
        outputs=tuple(map(_shrunk, task.outputs)),
    )


def _shrunk(file: File) -> File:
    return File(file.name, max(SMALLEST_FILE, round(file.size / SCALE)))
