"""`capability` and `capability-old`: tasks go to machines that offer what they require, rented if necessary.

Both are from Krämer's paper on the Steep workflow system, and differ only in the heuristic of section 5.3 (`placer`).
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
        default=600.0, metadata={"help": "seconds after which a set that was passed over goes first; 0: never"}
    )

    def __post_init__(self) -> None:
        Renting.__post_init__(self)
        if self.patience < 0:
            raise ValueError("patience must not be negative")


def build(name: str, preference: Preference, parameters: Parameters) -> Policy:
    """Return a policy that places by a preference and rents on demand."""
    placer = Capability(preference, round(parameters.patience * SECOND))
    return Policy(name, OnDemand(parameters), placer, memory=placer.memory)


OFFER = Offer(
    name="capability",
    summary="matches tasks to machines by capability; flexible machines help where most units remain",
    parameters=Parameters,
    build=lambda parameters: build("capability", most_remaining, parameters),
)

OLD = Offer(
    name="capability-old",
    summary="like capability, but flexible machines take required sets in a fixed order",
    parameters=Parameters,
    build=lambda parameters: build("capability-old", fixed_order, parameters),
)
