"""A fixed fleet: so many machines of one type from the first submission to the last result, whatever the load."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.protocol import Offer, Policy, Rent, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """How many machines of which type."""

    machines: int = field(default=8, metadata={"help": "how many machines each tenant holds"})
    type: str = field(default="", metadata={"help": "machine type; by default each type in equal number"})

    def __post_init__(self) -> None:
        if self.machines < 1:
            raise ValueError("machines must be at least 1")


class Fixed:
    """Holds the same machines all the time, replacing those that are lost."""

    on_arrival = True

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def scale(self, view: View) -> Iterator[Scaling]:
        """Acquire what is missing."""
        wanted = self._parameters
        kinds = [kind for kind in view.kinds if wanted.type in ("", kind.type.name)]
        if not kinds:
            names = ", ".join(kind.type.name for kind in view.kinds)
            raise ValueError(f"there is no machine type {wanted.type!r}; there are {names}")
        for pool in view.pools():
            if not pool.runs:
                continue
            for place, kind in enumerate(kinds):
                share = wanted.machines // len(kinds) + (place < wanted.machines % len(kinds))
                missing = share - len(pool.fleets[kind.index].machines)
                if missing > 0:
                    yield Rent(pool, kind, missing, f"{share} of type {kind.type.name} are to be held")


OFFER = Offer(
    name="fixed",
    summary="a fixed number of machines, whatever the load",
    parameters=Parameters,
    build=lambda parameters: Policy("fixed", Fixed(parameters), FirstIdle()),
)
