"""The papers whose experiments can be reproduced, by the name of their system."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tradewind.experiments.pfa import reproduce as pfa
from tradewind.experiments.request import Reproduction, Request
from tradewind.experiments.scs import reproduce as scs
from tradewind.experiments.slacksched import reproduce as slacksched
from tradewind.experiments.steep import reproduce as steep
from tradewind.experiments.tascaas import reproduce as tascaas

PAPERS: Mapping[str, Callable[[Request], Reproduction]] = MappingProxyType(
    {
        "pfa": pfa.reproduce,
        "scs": scs.reproduce,
        "slacksched": slacksched.reproduce,
        "steep": steep.reproduce,
        "tascaas": tascaas.reproduce,
    }
)

LIVE = frozenset({"steep", "tascaas"})
"""Papers with experiments that also run with real processes."""
