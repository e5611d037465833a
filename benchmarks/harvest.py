"""What a placement decision costs under `slacksched`, and how fast machines that change are simulated."""

import random
from time import process_time
from typing import Any

from tradewind.core.handle import Core
from tradewind.core.state import State
from tradewind.core.work import declared_time
from tradewind.experiments.slacksched.settings import CORES, SHORT, Trial, harvest_types
from tradewind.experiments.slacksched.world import run_trial
from tradewind.model.command import Acquire
from tradewind.model.event import MachineReady, MachineResized, Submitted
from tradewind.model.requirement import Requirement, amounts
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import DAY, HOUR, MINUTE
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.servers import make_servers


def decisions(machines: int, *, is_busy: bool) -> float:
    """Milliseconds to place a task on so many machines, all of which have changed at some time.

    Where they are busy, nearly all of their cores are taken, so that tasks may wait for room on a better one.
    """
    rng = random.Random(0)
    tasks = min(2_000, 2 * machines)
    state = State(harvest_types(), [Tenant("default")], MINUTE, 0, declared_time)
    core = Core(state, build("slacksched", {"machines": machines}))
    work = Workflow("warm-up", (Task("w", "w", Requirement(amounts=amounts(cpus=1)), 0),), ((),))
    seq = 1
    numbers = [c.machine for c in core.handle(Submitted(0, seq, "default", work)) if isinstance(c, Acquire)]
    for number in numbers:
        seq += 1
        core.handle(MachineReady(MINUTE, seq, number))
    for at in sorted(rng.randrange(MINUTE, DAY) for _ in range(20 * machines)):
        seq += 1
        core.handle(MachineResized(at, seq, rng.choice(numbers), amounts(cpus=rng.randint(8, CORES))))
    if is_busy:
        free = sum(machine.capacity[1] for machine in state.machines.values()) - 4 * tasks
        filler = tuple(Task(f"t{i}", "t", _need(8), rng.randrange(MINUTE, 2 * HOUR)) for i in range(free // 8))
        seq += 1
        core.handle(Submitted(DAY, seq, "default", Workflow("filler", filler, ((),) * len(filler))))
    jobs = [
        Workflow("job", (Task("t", "t", _need(rng.choice((1, 2, 4, 8))), rng.randrange(MINUTE, 2 * HOUR)),), ((),))
        for _ in range(tasks)
    ]
    begin = process_time()
    for number, job in enumerate(jobs):
        seq += 1
        core.handle(Submitted(DAY + number, seq, "default", job))
    return 1000 * (process_time() - begin) / tasks


def _need(cores: int) -> Requirement:
    return Requirement(amounts=amounts(cpus=cores))


def two_days() -> float:
    """Seconds to simulate 64 machines for two days with 50 jobs, after a day of warm-up."""
    begin = process_time()
    run_trial(Trial("benchmark", "slacksched", jobs=SHORT))
    return process_time() - begin


def day(machines: int) -> float:
    """Seconds to simulate so many machines of C1 for a day, with 28,000 tasks."""
    servers = make_servers(CLUSTERS["C1"], 2 * machines, DAY, 0)
    tasks = tuple(Task(f"t{i}", "t", _need(4), 30 * MINUTE) for i in range(200))
    work = [Submission(i * 10 * MINUTE, Workflow("job", tasks, ((),) * len(tasks))) for i in range(140)]
    policy = build("slacksched", {"machines": machines})
    scenario = Scenario((), harvest_types(2 * machines), policy="slacksched", interval=MINUTE)
    begin = process_time()
    Simulation(scenario, work, policy, provider=Provider(servers)).run(lambda _record: None)
    return process_time() - begin


def run(*, quick: bool = False) -> list[dict[str, Any]]:
    """Processor time of decisions, and of simulations."""
    rows = []
    for machines in (64, 1_000) if quick else (64, 1_000, 4_000):
        for is_busy in (False, True):
            what = "a decision, machines busy" if is_busy else "a decision"
            rows.append({"what": what, "machines": machines, "time": f"{decisions(machines, is_busy=is_busy):.3f} ms"})
    rows.append({"what": f"two days, {SHORT.count} jobs", "machines": 64, "time": f"{two_days():.1f} s"})
    many = 1_000 if quick else 10_000
    rows.append({"what": "a day of C1, 28,000 tasks", "machines": many, "time": f"{day(many):.0f} s"})
    return rows


if __name__ == "__main__":
    for row in run():
        print(*row.values(), sep=", ")
