"""Where a workflow of Python runs: on this host, in a folder, or on a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.api.code import folders
from tradewind.live.engines.played import Leases
from tradewind.live.host import this_host
from tradewind.live.session import Settings
from tradewind.model.machine import MachineType
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, SECOND, Duration, parse_duration, parse_money
from tradewind.policies.protocol import Policy


@dataclass(frozen=True, slots=True)
class Place:
    """Where and how runs of a workflow run."""

    folder: Path = Path(".tradewind")
    """Holds the store and the folders of all runs."""
    machines: str | Path | tuple[MachineType, ...] | None = None
    """A file of machine types, or the types; None: this host, used fully."""
    policy: str | None = None
    policy_parameters: Mapping[str, Any] = field(default_factory=dict)
    budget: str | float | None = None
    interval: str | float | None = None
    cache: bool = True
    """Whether tasks that want it may take what equal calls gave before."""
    server: str | None = None
    """Address of a server; None: that of the profile, or of `TRADEWIND_SERVER`."""
    profile: str | None = None
    priority: int = 0
    deadline: str | float | None = None
    """Wanted response time, such as `2h`, or seconds."""

    @property
    def due(self) -> Duration | None:
        """The wanted response time."""
        if self.deadline is None:
            return None
        length = parse_duration(self.deadline)
        if length <= 0:
            raise ValueError("a deadline must be above zero")
        return length

    def settings(self) -> Settings:
        """For a session on this host."""
        types = self._types()
        length = parse_duration(self.interval) if self.interval else (MINUTE if self.budget else SECOND)
        budget = None if self.budget is None else parse_money(self.budget)
        tenant = Tenant("default", budget, length if self.budget else MINUTE)
        return Settings(
            *(self.folder.resolve(), types, tenant, self._policy(types), length, folders()), leases=_leases(types)
        )

    def _types(self) -> tuple[MachineType, ...]:
        if self.machines is None:
            return (this_host(),)
        if isinstance(self.machines, tuple):
            return self.machines
        from tradewind.formats.load import load_machines  # noqa: PLC0415 - slow

        return load_machines(self.machines)

    def _policy(self, types: tuple[MachineType, ...]) -> Policy:
        from tradewind.policies.registry import build  # noqa: PLC0415 - slow

        if self.policy is None and len(types) == 1 and types[0].limit == 1:
            return build("fixed", {"machines": 1})
        return build(self.policy or "demand", dict(self.policy_parameters))


def _leases(types: tuple[MachineType, ...]) -> Mapping[str, Leases]:
    """Who knows what becomes of machines that are played from a trace."""
    if not any(type.trace for type in types):
        return {}
    from tradewind.sim.traces.playing import leases_of  # noqa: PLC0415 - seldom needed

    return leases_of(types)
