"""Where a Python workflow runs: on this host, in a folder, or on a server."""

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
    """Where and how a workflow runs."""

    folder: Path = Path(".tradewind")
    """The folder of the store and of all runs."""
    machines: str | Path | tuple[MachineType, ...] | None = None
    """A file of machine types, or the types; None: all of this host."""
    policy: str | None = None
    policy_parameters: Mapping[str, Any] = field(default_factory=dict)
    budget: str | float | None = None
    interval: str | float | None = None
    cache: bool = True
    """Whether tasks with `cache=True` may reuse results of identical calls."""
    server: str | None = None
    """Address of a server; None: that of the profile or, for `submit`, the default of the command line."""
    profile: str | None = None
    """Name of a profile of `tradewind profiles`, whose server is used."""
    priority: int = 0
    deadline: str | float | None = None
    """Maximum response time, such as `2h`, or seconds."""

    def __post_init__(self) -> None:
        if self.server is not None and self.profile is not None:
            raise ValueError("a profile names a server; give server or profile, not both")
        if self.interval is not None and parse_duration(self.interval) <= 0:
            raise ValueError(f"interval must be above zero, not {self.interval!r}")
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise ValueError(f"priority must be a whole number, not {self.priority!r}")  # noqa: TRY004
        given: dict[str, object] = {
            "machines": self.machines,
            "policy": self.policy,
            "budget": self.budget,
            "interval": self.interval,
        }
        given["policy_parameters"] = self.policy_parameters or None
        names = [name for name, value in given.items() if value is not None]
        if self.is_remote and names:
            them = "it" if len(names) == 1 else "them"
            raise ValueError(f"{' and '.join(names)} cannot be set for a server, which has its own; leave {them} out")

    @property
    def is_remote(self) -> bool:
        """Return whether a server is named, so that nothing runs on this host."""
        return self.server is not None or self.profile is not None

    @property
    def due(self) -> Duration | None:
        """Return the maximum response time."""
        if self.deadline is None:
            return None
        length = parse_duration(self.deadline)
        if length <= 0:
            raise ValueError("a deadline must be greater than zero")
        return length

    def settings(self) -> Settings:
        """Return the settings of a session on this host."""
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
            return build("fixed", {"machines": 1, **self.policy_parameters})
        return build(self.policy or "demand", dict(self.policy_parameters))


def _leases(types: tuple[MachineType, ...]) -> Mapping[str, Leases]:
    """Return the lease players of machine types with a trace."""
    if not any(type.trace for type in types):
        return {}
    from tradewind.sim.traces.playing import leases_of  # noqa: PLC0415 - seldom needed

    return leases_of(types)
