"""Chain: tasks one after the other, without parallelism."""

import random

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Draft, Uniform

STEP = Uniform(10, 100)
SIZE = Uniform(1_000_000, 100_000_000)


def chain(tasks: int, rng: random.Random) -> Workflow:
    """Return a chain with exactly this many tasks (at least 1)."""
    draft = Draft("chain", tasks, smallest=1)
    last = File("start.dat", round(SIZE.draw(rng)))
    for number in range(1, tasks + 1):
        last = draft.add("step", STEP.draw(rng), (last,), File(f"step_{number:05d}.dat", round(SIZE.draw(rng))))
    return draft.finish()
