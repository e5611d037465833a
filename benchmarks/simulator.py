"""Simulator speed beside SimPy, and how the cost grows with the number of tasks.

Four programs do the same work, in turn, so that a noisy machine disturbs them alike: ours with its core, placer,
ledger and log; two bare SimPy models of tasks that take a machine for a while, with none of that; and a bare heap of
end times, the floor for any event-driven simulator in Python. Times are CPU seconds, the best of several rounds.
"""

import gc
import heapq
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import simpy

from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, UNIT, seconds
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation


@dataclass(frozen=True, slots=True)
class Job:
    """A workflow to be run on a number of equal machines."""

    title: str
    workflow: Workflow
    machines: int


def independent(tasks: int, machines: int) -> Job:
    rng = random.Random(1)
    made = tuple(Task(f"t{i}", "t", runtime=seconds(rng.uniform(1, 100))) for i in range(tasks))
    return Job(f"{tasks:,} independent tasks", Workflow("independent", made, ((),) * tasks), machines)


def layered(tasks: int, width: int, machines: int) -> Job:
    """Layers of tasks, each waiting for up to three of the layer before."""
    rng = random.Random(1)
    made = tuple(Task(f"t{i}", "t", runtime=seconds(rng.uniform(1, 100))) for i in range(tasks))
    parents = [
        tuple(sorted({rng.randrange(start - width, start) for _ in range(rng.randint(1, 3))})) if start else ()
        for start in (i // width * width for i in range(tasks))
    ]
    return Job(f"{tasks:,}-task layered graph", Workflow("layered", made, tuple(parents)), machines)


def run_tradewind(job: Job) -> float:
    scenario = Scenario(
        (), (MachineType("m", price=UNIT, limit=job.machines),), (Tenant("default", budget=job.machines * UNIT),)
    )
    policy = build("fixed", {"machines": job.machines})
    log: list[Any] = []
    begin = process_time()
    Simulation(scenario, [Submission(0, job.workflow)], policy).run(log.append)
    return process_time() - begin


def run_simpy(job: Job) -> float:
    """The model that SimPy's guides teach: a process for each task, which requests one of the machines."""
    times = [(task.runtime or 0) / SECOND for task in job.workflow.tasks]
    begin = process_time()
    environment = simpy.Environment()
    machines = simpy.Resource(environment, capacity=job.machines)
    done = [environment.event() for _ in times] if any(job.workflow.parents) else []

    def task(index: int, parents: Sequence[int]) -> Generator[simpy.Event, Any, None]:
        if parents:
            yield simpy.AllOf(environment, [done[parent] for parent in parents])
        with machines.request() as request:
            yield request
            yield environment.timeout(times[index])
        if done:
            done[index].succeed()

    for index, parents in enumerate(job.workflow.parents):
        environment.process(task(index, parents))
    environment.run()
    return process_time() - begin


def run_store(job: Job) -> float:
    """The same in SimPy's producer and consumer style: a process for each machine, which takes tasks from a store."""
    times = [(task.runtime or 0) / SECOND for task in job.workflow.tasks]
    waits = [len(parents) for parents in job.workflow.parents]
    begin = process_time()
    children = job.workflow.children()
    environment = simpy.Environment()
    ready = simpy.Store(environment)

    def machine() -> Generator[simpy.Event, Any, None]:
        while True:
            index = yield ready.get()
            yield environment.timeout(times[index])
            for child in children[index]:
                waits[child] -= 1
                if not waits[child]:
                    ready.put(child)

    for index, count in enumerate(waits):
        if not count:
            ready.put(index)
    for _ in range(job.machines):
        environment.process(machine())
    environment.run()
    return process_time() - begin


def run_heap(job: Job) -> float:
    times = [task.runtime or 0 for task in job.workflow.tasks]
    waits = [len(parents) for parents in job.workflow.parents]
    begin = process_time()
    children = job.workflow.children()
    ready = [index for index, count in enumerate(waits) if not count]
    heap: list[tuple[int, int]] = []
    now = free = 0
    free = job.machines
    while ready or heap:
        while ready and free:
            index = ready.pop()
            free -= 1
            heapq.heappush(heap, (now + times[index], index))
        now, index = heapq.heappop(heap)
        free += 1
        for child in children[index]:
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    return process_time() - begin


PROGRAMS: dict[str, Callable[[Job], float]] = {
    "tradewind": run_tradewind,
    "simpy": run_simpy,
    "simpy_store": run_store,
    "heap": run_heap,
}


def best_of(job: Job, rounds: int, programs: Sequence[str] = tuple(PROGRAMS)) -> dict[str, float]:
    """The shortest CPU time of each program, measured in turn."""
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for name in programs:
            gc.collect()
            gc.disable()  # ours looks for garbage rarely; so may the others
            best[name] = min(best[name], PROGRAMS[name](job))
            gc.enable()
    return best


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Rows of one table each: the two jobs of the issue, then growth."""
    scale = 10 if quick else 1
    rows = []
    for job in (independent(300_000 // scale, 1_000), layered(20_000 // scale, 200, 64)):
        best = best_of(job, 5)
        tasks = len(job.workflow.tasks)
        rows.append(
            {"job": job.title, "machines": job.machines}
            | {f"{name}_tasks_per_s": round(tasks / time) for name, time in best.items()}
            | {"to_simpy": round(best["simpy"] / best["tradewind"], 2)}
        )
    return rows


def growth(*, quick: bool) -> list[dict[str, Any]]:
    """CPU time per task from ten thousand to a million independent tasks."""
    sizes = (10_000, 30_000) if quick else (10_000, 30_000, 100_000, 300_000, 1_000_000)
    rows = []
    for size in sizes:
        time = best_of(independent(size, 1_000), 1 if size > 100_000 else 3, ["tradewind"])["tradewind"]
        rows.append({"tasks": size, "us_per_task": round(1e6 * time / size, 2)})
    return rows
