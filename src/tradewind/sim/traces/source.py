"""From a scenario's description of servers to the provider that rents them out."""

from pathlib import Path

from tradewind.model.scenario import Scenario
from tradewind.sim.traces.clusters import CLUSTERS
from tradewind.sim.traces.files import read_steps
from tradewind.sim.traces.provider import Provider
from tradewind.sim.traces.servers import make_servers


def provider_of(scenario: Scenario) -> Provider | None:
    """The provider of a scenario, if its machines come from servers; the same seed gives the same ones."""
    servers = scenario.servers
    if servers is None:
        return None
    if servers.file:
        made = read_steps(Path(servers.file))
    else:
        made = make_servers(CLUSTERS[servers.cluster], servers.count, servers.length, scenario.seed)
    return Provider(made, servers.placement, scenario.seed)
