"""Fork-join: one task splits the work, many process a part each, one joins the parts."""

import random

from tradewind.model.workflow import File, Workflow
from tradewind.sim.generators.draft import Draft, Uniform

ENDS = Uniform(5, 20)
PART = Uniform(10, 100)
SIZE = Uniform(1_000_000, 100_000_000)


def forkjoin(tasks: int, rng: random.Random) -> Workflow:
    """Return a fork-join workflow with exactly this many tasks (at least 3)."""
    draft = Draft("forkjoin", tasks, smallest=3)
    start = File("start.dat", round(SIZE.draw(rng)))
    parts = [File(f"part_{number:05d}.dat", round(SIZE.draw(rng))) for number in range(1, tasks - 1)]
    draft.add("fork", ENDS.draw(rng), (start,), *parts)
    done = [
        draft.add("part", PART.draw(rng), (part,), File(f"done_{number:05d}.dat", round(SIZE.draw(rng))))
        for number, part in enumerate(parts, start=1)
    ]
    draft.add("join", ENDS.draw(rng), done, File("result.dat", round(SIZE.draw(rng))))
    return draft.finish()
