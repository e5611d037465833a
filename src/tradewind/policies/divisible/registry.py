"""The balancers by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tradewind.model.units import Duration
from tradewind.policies.divisible.original import Original
from tradewind.policies.divisible.protocol import Balancer
from tradewind.policies.divisible.ruper import Ruper
from tradewind.policies.divisible.static import Static

BALANCERS: Mapping[str, Callable[[Duration], Balancer]] = MappingProxyType(
    {"ruper": Ruper, "ruper-original": Original, "static": Static}
)
"""Each made with the shortest report interval."""
