"""The example that docs/policies/pfa.md works out by hand."""

from tradewind.core.log import Record
from tradewind.model.command import Acquire
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario, Submission
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, UNIT
from tradewind.model.workflow import Task, Workflow
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation

MACHINES = (MachineType("small", price=1 * UNIT, limit=32), MachineType("large", price=5 * UNIT, limit=32))


def test_twelve_tasks_and_a_budget_of_twenty_give_ten_small_and_two_large() -> None:
    tasks = tuple(Task(f"t{i}", "t", runtime=10 * MINUTE) for i in range(12))
    workflow = Workflow("twelve", tasks, ((),) * 12)
    scenario = Scenario((), MACHINES, (Tenant("default", budget=20 * UNIT),))
    log: list[Record] = []
    Simulation(scenario, [Submission(0, workflow)], build("pfa")).run(log.append)
    first = [record.kind for record in log if isinstance(record, Acquire) and record.at == 0]
    assert (first.count(0), first.count(1)) == (10, 2)
