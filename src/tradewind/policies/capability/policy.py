"""`capability` and `capability-old`: work goes to the machines that offer what it requires, and they are rented for it.

Both are from Krämer's paper on the Steep workflow system and differ in the heuristic of section 5.3 only (`placer`).
"""

from dataclasses import dataclass, field

from tradewind.model.units import SECOND
from tradewind.policies.capability.placer import Capability, Preference, fixed_order, most_remaining
from tradewind.policies.capability.scaler import OnDemand, Renting
from tradewind.policies.protocol import Offer, Policy


@dataclass(frozen=True, slots=True)
class Parameters(Renting):
    """How machines are rented, and how long a required set may be passed over."""

    patience: float = field(
        default=600.0, metadata={"help": "seconds after which a set that others were preferred to goes first; 0: never"}
    )

    def __post_init__(self) -> None:
        Renting.__post_init__(self)
        if self.patience < 0:
            raise ValueError("patience must not be negative")


def build(name: str, preference: Preference, parameters: Parameters) -> Policy:
    """A policy that places by a preference and rents on demand."""
    placer = Capability(preference, round(parameters.patience * SECOND))
    return Policy(name, OnDemand(parameters), placer, memory=placer.memory)


OFFER = Offer(
    name="capability",
    summary="machines that offer what work requires; those that offer more help where most of it remains",
    parameters=Parameters,
    build=lambda parameters: build("capability", most_remaining, parameters),
)

OLD = Offer(
    name="capability-old",
    summary="as capability, but machines that offer more take required sets in a fixed order",
    parameters=Parameters,
    build=lambda parameters: build("capability-old", fixed_order, parameters),
)
