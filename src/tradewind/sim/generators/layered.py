"""Layered: a random graph in layers, each task fed by one to three tasks of the previous layer."""

import math
import random

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Draft, Uniform

STEP = Uniform(10, 100)
SIZE = Uniform(1_000_000, 100_000_000)
MOST_PARENTS = 3


def layered(tasks: int, rng: random.Random) -> Workflow:
    """Return a layered workflow with exactly this many tasks (at least 1), about as many layers as tasks per layer."""
    draft = Draft("layered", tasks, smallest=1)
    widest = 2 * math.isqrt(tasks)
    start = File("start.dat", round(SIZE.draw(rng)))
    before: list[File] = []
    number = 0
    while number < tasks:
        layer = []
        for _ in range(min(rng.randint(1, widest), tasks - number)):
            number += 1
            fed_by = rng.sample(before, min(rng.randint(1, MOST_PARENTS), len(before))) if before else [start]
            layer.append(
                draft.add("task", STEP.draw(rng), fed_by, File(f"file_{number:05d}.dat", round(SIZE.draw(rng))))
            )
        before = layer
    return draft.finish()
