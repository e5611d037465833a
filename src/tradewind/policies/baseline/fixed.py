"""A fixed fleet: the same machines from the first submission to the last result."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tradewind.policies.parts.first_idle import FirstIdle
from tradewind.policies.protocol import Offer, Policy, Rent, Scaling, View


@dataclass(frozen=True, slots=True)
class Parameters:
    """Number and type of machines."""

    machines: int = field(default=8, metadata={"help": "number of machines per tenant"})
    type: str = field(default="", metadata={"help": "machine type; by default all types in equal numbers"})

    def __post_init__(self) -> None:
        if self.machines < 1:
            raise ValueError("machines must be at least 1")


class Fixed:
    """A scaler that always holds the same machines, and replaces lost ones."""

    on_arrival = True

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def scale(self, view: View) -> Iterator[Scaling]:
        """Acquire missing machines."""
        wanted = self._parameters
        kinds = [kind for kind in view.kinds if wanted.type in ("", kind.type.name)]
        if not kinds:
            names = ", ".join(kind.type.name for kind in view.kinds)
            raise ValueError(f"no machine type is named {wanted.type!r}; use one of {names}")
        for pool in view.pools():
            if not pool.runs:
                continue
            for place, kind in enumerate(kinds):
                share = wanted.machines // len(kinds) + (place < wanted.machines % len(kinds))
                missing = share - len(pool.fleets[kind.index].machines)
                if missing > 0:
                    yield Rent(pool, kind, missing, f"{share} of type {kind.type.name} should be held")


OFFER = Offer(
    name="fixed",
    summary="a fixed number of machines for any load",
    parameters=Parameters,
    build=lambda parameters: Policy("fixed", Fixed(parameters), FirstIdle()),
)
