"""Create the provider for a scenario's description of servers."""

from pathlib import Path

from tradewind.model.machine import MachineType
from tradewind.model.scenario import Scenario
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.files import HEADING, TraceError, read_steps
from tradewind.sim.traces.playing import servers_of
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.servers import make_servers
from tradewind.sim.traces.steps import Steps


def provider_of(scenario: Scenario) -> Provider | None:
    """Return the provider of a scenario whose machines come from servers or traces; equal seeds give equal servers."""
    servers = scenario.servers
    own = {type.name: _played(type) for type in scenario.machines if type.trace}
    if servers is None:
        return Provider((), seed=scenario.seed, own=own) if own else None
    if servers.file and ".csv" not in Path(servers.file).suffixes:
        wanted, remedy = ", ".join(HEADING), "a spot trace is the `trace` of a machine type"
        raise TraceError(f"{servers.file}: servers are a .csv file with the columns {wanted}; {remedy}")
    if servers.file:
        made = read_steps(Path(servers.file))
    else:
        made = make_servers(CLUSTERS[servers.cluster], servers.count, servers.length, scenario.seed)
    return Provider(made, servers.placement, scenario.seed, own)


def _played(type: MachineType) -> list[Steps]:
    """Return the servers of a type's trace, in the time of the simulation."""
    return [Steps([round(time / type.trace_speed) for time in steps.times], steps.values) for steps in servers_of(type)]
