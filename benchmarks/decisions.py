"""How long one decision of each budget policy takes with many active tasks."""

from statistics import median
from typing import Any

from benchmarks.simulator import layered
from tradewind.model.event import Submitted, Timer
from tradewind.model.scenario import Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, UNIT
from tradewind.policies.registry import build
from tradewind.sim.defaults import MACHINES
from tradewind.sim.driver import Simulation
from tradewind.sim.stopwatch import Stopwatch


def run(*, quick: bool) -> list[dict[str, Any]]:
    """Milliseconds of one decision over a graph of tasks, all in sight, a part of them eligible.

    No task ever ends here, so that PFA, which then knows no throughput, looks at all that lies ahead: its worst case.
    """
    rows = []
    for active, ahead in (
        ((200, 1_000),) if quick else ((200, 1_000), (2_000, 10_000), (10_000, 10_000), (10_000, 50_000))
    ):
        job = layered(ahead, active, 64)
        for name in ("pfa", "plf", "scf"):
            stopwatch = Stopwatch()
            scenario = Scenario((), MACHINES, (Tenant("default", budget=100 * UNIT),))
            core = Simulation(scenario, [], build(name), stopwatch.phase).core
            core.handle(Submitted(0, 1, "default", job.workflow))
            for round_ in range(5):
                core.handle(Timer(round_ * MINUTE, 2 + round_))
            rows.append(
                {
                    "policy": name,
                    "eligible_tasks": active,
                    "active_tasks": len(job.workflow.tasks),
                    "decision_ms": round(1000 * median(stopwatch.laps["decision"]), 2),
                }
            )
    return rows
