"""Small simulated runs to draw."""

from tradewind.core.log import Sink
from tradewind.core.series import Series
from tradewind.core.state import State
from tradewind.model.machine import MachineType
from tradewind.model.scenario import Arrivals, Given, Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, Duration, money
from tradewind.sim.generators.pfa import pfa_workload
from tradewind.sim.simulate import simulate

TYPES = (MachineType("small", money(1), limit=32), MachineType("large", money(5), limit=32))


def run(
    tenants: int = 1,
    policy: str = "pfa",
    budget: int | None = 60,
    workflows: int = 4,
    every: Duration = MINUTE,
    types: tuple[MachineType, ...] = TYPES,
) -> Series:
    """The curves of a few workflows, submitted at a fixed spacing to so many tenants in turn."""
    names = tuple(f"tenant {number}" for number in range(1, tenants + 1))
    limit = None if budget is None else money(budget)
    scenario = Scenario(
        workload=(Given(tuple(pfa_workload(1, 1, workflows)), Arrivals("stable", {"every": f"{every}us"}), names),),
        machines=types,
        tenants=tuple(Tenant(name, limit) for name in names),
        policy=policy,
    )
    series: list[Series] = []

    def follow(state: State) -> Sink:
        series.append(Series(state))
        return series[0].observe

    simulate(scenario, None, [follow])
    return series[0]
