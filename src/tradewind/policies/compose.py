"""Compose policies from roles: the scaler of one, the placer of another, and any balancer.

Roles are given among the parameters of a policy: `placer` and `balancer`, with `placer.KEY` for parameters of the
placer's own policy. Each role keeps its own parameters and memory. A placer that carries out the plan of its scaler (a
`Follower`) cannot serve another scaler; if it is replaced, its scaler is still told what was placed where.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tradewind.model.errors import TradewindError
from tradewind.policies.protocol import Follower, Memory, Placer, Placing, Policy, Pool, Unit, View

PLACER, BALANCER = "placer", "balancer"


class CompositionError(TradewindError):
    """Roles that cannot work together."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles taken from other policies; empty: from the policy itself."""

    placer: str = ""
    placer_parameters: Mapping[str, Any] | None = None
    balancer: str = ""


def roles(placer: str | None, balancer: str | None) -> dict[str, str]:
    """Return roles from other policies as parameters of a policy."""
    return {role: name for role, name in ((PLACER, placer), (BALANCER, balancer)) if name}


def split(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], Roles]:
    """Separate the parameters of a policy from the roles among them."""
    own = {key: value for key, value in parameters.items() if key not in (PLACER, BALANCER) and "." not in key}
    placing = {key.partition(".")[2]: value for key, value in parameters.items() if key.startswith(f"{PLACER}.")}
    strange = [key for key in parameters if "." in key and not key.startswith(f"{PLACER}.")]
    own |= {key: parameters[key] for key in strange}  # the policy itself rejects unknown parameters
    found = Roles(str(parameters.get(PLACER) or ""), placing, str(parameters.get(BALANCER) or ""))
    return own, found


def label(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the name of a policy with its roles for tables: `scs+/slacksched`."""
    _, found = split(parameters)
    return "/".join(part for part in (name, found.placer, found.balancer) if part)


def with_placer(policy: Policy, other: Policy) -> Policy:
    """Return a policy with the scaler of one policy and the placer of another."""
    placer: Placer = other.placer
    if isinstance(placer, Follower):
        reason = "carries out the plan of its own scaler"
        raise CompositionError(f"{policy.name!r} cannot use the placer of {other.name!r}, which {reason}")
    is_planned = isinstance(policy.placer, Follower)
    if isinstance(policy.placer, Follower):
        placer = Beside(policy.placer, placer)
    memories = {"scaler": policy.memory, PLACER: other.memory}
    kept = {role: memory for role, memory in memories.items() if memory is not None}
    return replace(
        policy,
        name=f"{policy.name}/{other.name}",
        placer=placer,
        kill=other.kill,
        checkpoint=other.checkpoint or policy.checkpoint,
        memory=Apart(kept) if kept else None,
        replans_on_loss=is_planned,  # or the placer would put them where the plan no longer allows it
    )


class Beside:
    """A placer that delegates to another one, and tells the placer it replaces what was placed where."""

    def __init__(self, replaced: Follower, placer: Placer) -> None:
        replaced.step_back()
        self._replaced = replaced
        self._placer = placer

    def rank(self, unit: Unit) -> int:
        """Rank by the plan, which knows what is urgent."""
        return self._replaced.rank(unit)

    def place(self, view: View) -> Iterator[Placing]:
        """Yield the placer's decisions, except for tenants that the plan binds."""
        yield from self._replaced.insist(view)
        bound = {pool.index for pool in view.pools() if self._replaced.binds(pool)}
        for action in self._placer.place(cast("View", Without(view, bound)) if bound else view):
            yield action
            if action.unit.machine is action.machine:  # the action was admitted
                self._replaced.placed(view, action.unit, action.machine)

    def foresee(self, future: Any) -> None:
        """Tell a placer the future, if it wants to know."""
        foresee = getattr(self._placer, "foresee", None)
        if foresee is not None:
            foresee(future)


class Without:
    """A view without the work of some tenants."""

    def __init__(self, view: View, pools: Collection[int]) -> None:
        self._view = view
        self._pools = pools

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def pools(self) -> Sequence[Pool]:
        """The other tenants."""
        return [pool for pool in self._view.pools() if pool.index not in self._pools]

    def unsettled(self) -> Sequence[Pool]:
        """Other tenants for whom something has changed."""
        return [pool for pool in self._view.unsettled() if pool.index not in self._pools]


class Apart:
    """The memories of several roles, kept separate."""

    def __init__(self, memories: Mapping[str, Memory]) -> None:
        self._memories = memories

    def save(self) -> dict[str, Any]:
        """Return the memory of each role."""
        return {role: memory.save() for role, memory in self._memories.items()}

    def load(self, saved: Any) -> None:
        """Restore the memory of each role."""
        for role, memory in self._memories.items():
            if role in saved:
                memory.load(saved[role])
