"""What a placement decision costs under `slacksched`, and how fast machines that change are simulated."""

import random
from time import perf_counter, process_time

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


def decisions(machines: int) -> float:
    """Milliseconds of processor time to place a task on so many machines, all of which have changed at some time."""
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
    needs = [Requirement(amounts=amounts(cpus=cores)) for cores in (1, 2, 4, 8)]
    jobs = [
        Workflow("job", (Task("t", "t", rng.choice(needs), rng.randrange(MINUTE, 2 * HOUR)),), ((),))
        for _ in range(tasks)
    ]
    begin = process_time()
    for number, job in enumerate(jobs):
        seq += 1
        core.handle(Submitted(DAY + number, seq, "default", job))
    took = process_time() - begin
    assert sum(len(machine.running) for machine in state.machines.values()) > 0.9 * tasks
    return 1000 * took / tasks


def day(machines: int) -> tuple[float, int]:
    """Seconds to simulate so many machines of C1 for a day under light load, and how many records that makes."""
    servers = make_servers(CLUSTERS["C1"], 2 * machines, DAY, 0)
    needs = Requirement(amounts=amounts(cpus=4))
    tasks = tuple(Task(f"t{i}", "t", needs, 30 * MINUTE) for i in range(200))
    work = [Submission(i * 10 * MINUTE, Workflow("job", tasks, ((),) * len(tasks))) for i in range(140)]
    policy = build("slacksched", {"machines": machines})
    scenario = Scenario((), harvest_types(2 * machines), policy="slacksched", interval=MINUTE)
    count = 0

    def sink(_record: object) -> None:
        nonlocal count
        count += 1

    begin = perf_counter()
    Simulation(scenario, work, policy, provider=Provider(servers)).run(sink)
    return perf_counter() - begin, count


def main() -> None:
    for machines in (64, 1_000, 4_000):
        print(f"a decision over {machines:,} machines: {decisions(machines):.3f} ms")
    begin = perf_counter()
    run_trial(Trial("benchmark", "slacksched", jobs=SHORT))
    print(f"64 machines, two days, {SHORT.count} jobs: {perf_counter() - begin:.1f} s")
    took, records = day(10_000)
    print(f"10,000 machines of C1, a day, 28,000 tasks: {took:.0f} s, {records:,} records")


if __name__ == "__main__":
    main()
