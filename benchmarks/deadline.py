"""How long the deadline policies take to decide: a control step over many jobs, and the assignment of one large job."""

import random
from time import process_time
from typing import Any

from tradewind.experiments.scs.settings import PLUS, SCS
from tradewind.experiments.scs.timing import CLASSES, KINDS, time_decision
from tradewind.model.units import MINUTE
from tradewind.policies.deadline.assign import assign
from tradewind.policies.deadline.shape import Shape

PRICES = (0.02, 0.085, 0.68, 0.50)
TASKS = 1_000


def steps(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds of one turn of SCS over active jobs of 100 classes on 16 types, and with machines held."""
    rows = []
    for jobs in (10, 100, 1_000) if quick else (10, 100, 1_000, 10_000, 100_000):
        timing = time_decision(SCS, jobs)
        rows.append(
            {
                "active_jobs": jobs,
                "classes": CLASSES,
                "types": KINDS,
                "step_ms": round(1000 * timing.turn, 2),
                "us_per_job": round(1e6 * timing.turn / jobs, 1),
                "machines": timing.machines,
                "held_step_ms": round(1000 * timing.held, 2),
            }
        )
    return rows


def plans(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds that SCS+ takes to plan each of many new jobs of 100 classes on 16 types, and a turn after that."""
    rows = []
    for jobs in (10, 100) if quick else (10, 100, 1_000, 3_000):
        timing = time_decision(PLUS, jobs)
        rows.append(
            {
                "new_jobs": jobs,
                "classes": CLASSES,
                "types": KINDS,
                "plan_ms_per_job": round(1000 * timing.first / jobs, 2),
                "turn_ms": round(1000 * timing.turn, 2),
                "turn_us_per_job": round(1e6 * timing.turn / jobs, 1),
                "machines": timing.machines,
                "held_turn_ms": round(1000 * timing.held, 2),
            }
        )
    return rows


def assignment(*, quick: bool) -> list[dict[str, Any]]:
    """CPU milliseconds of the deadline assignment of one job of 1,000 tasks, by its width and its deadline."""
    rows = []
    for width in (30,) if quick else (5, 30, 300):
        shape = layered(TASKS, width)
        for slack in (1.0, 1.5, 3.0):
            begin = process_time()
            plan = assign(shape, PRICES, round(shape.tightest * slack))
            rows.append(
                {
                    "tasks": TASKS,
                    "width": width,
                    "deadline": f"{slack:g} x the tightest",
                    "feasible": "yes" if plan.is_feasible else "no",
                    "assign_ms": round(1000 * (process_time() - begin), 1),
                }
            )
    return rows


def layered(tasks: int, width: int) -> Shape:
    """A job of layers, each task with up to two parents in the layer before."""
    rng = random.Random(width)
    times, parents = [], []
    for place in range(tasks):
        layer = place // width
        before = range((layer - 1) * width, layer * width)
        parents.append(tuple(sorted({rng.choice(before) for _ in range(2)})) if layer else ())
        times.append(tuple(round(rng.uniform(1, 3) * MINUTE / price) for price in PRICES))
    return Shape(tuple(times), tuple(parents))
