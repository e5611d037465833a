"""Run and measure one simulation of an experiment."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.why import ensure_ended, stuck
from tradewind.experiments.slacksched.measure import Figures, Meter
from tradewind.experiments.slacksched.settings import (
    CORES,
    LENGTH,
    MACHINES,
    SERVERS,
    WARM_UP,
    Trial,
    fixed_types,
    harvest_types,
)
from tradewind.experiments.slacksched.winds import power_for
from tradewind.experiments.slacksched.workload import jobs
from tradewind.model.machine import Market
from tradewind.model.scenario import Estimates, Scenario
from tradewind.model.units import DAY, HOUR, MINUTE, Duration
from tradewind.policies.registry import build
from tradewind.sim.driver import Simulation
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.power import powered
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.steps import Steps


def run_trial(trial: Trial) -> Figures:
    """Simulate and measure a trial; the same trial gives the same figures."""
    types = harvest_types() if trial.market is Market.HARVEST else fixed_types(trial.market, trial.size)
    provider = Provider(_servers(trial), trial.placement, trial.seed)
    parameters: dict[str, Any] = {"machines": MACHINES, "kill": trial.kill, **trial.parameters}
    scenario = Scenario(
        (),
        types,
        policy=trial.policy,
        parameters=parameters,
        interval=MINUTE,
        seed=trial.seed,
        estimates=Estimates("biased", trial.error) if trial.error else Estimates(),
    )
    policy = build(trial.policy, parameters)
    work = jobs(trial.jobs, trial.seed, trial.interruptible)
    world = Simulation(scenario, work, policy, provider=provider)
    meter = Meter(world.state, WARM_UP)
    hours: dict[int, float] = {}

    def sink(record: Record) -> None:
        meter.observe(record)
        if trial.halves and (hour := record.at // HOUR) not in hours:
            hours[hour] = _stable_share(provider, world.state)

    world.run(sink if trial.halves else meter.observe)
    ensure_ended(stuck(world.state), trial.policy)
    saves = tuple(each.workflow.tasks[0].checkpoint is not None for each in work[1:])
    shares = tuple(hours.values())
    return replace(meter.figures(), stable=shares[-1] if shares else 0.0, converging=shares, interruptible=saves)


def _stable_share(provider: Provider, state: State) -> float:
    """Return the fraction of held machines on servers of the stable half."""
    servers = [server for machine in state.machines if (server := provider.server_of(machine)) is not None]
    return sum(server % 2 == 0 for server in servers) / len(servers) if servers else 0.0


def _servers(trial: Trial) -> list[Steps]:
    length = WARM_UP + 2 * DAY if trial.jobs.longest <= 3 * HOUR else LENGTH
    return _made(trial.cluster, trial.seed, length, trial.power, trial.halves)


@lru_cache(maxsize=4)
def _made(cluster: str, seed: int, length: Duration, is_powered: bool, halves: bool) -> list[Steps]:
    if halves:
        quiet, busy = (make_servers(CLUSTERS[name], SERVERS, length, seed) for name in ("C8", "C1"))
        return [(quiet, busy)[number % 2][number] for number in range(SERVERS)]
    servers = make_servers(CLUSTERS[cluster], SERVERS, length, seed)
    return powered(servers, power_for(length, seed), CORES, seed) if is_powered else servers
