"""The papers whose experiments can be run again, by the name of their system."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tradewind.experiments.pfa import reproduce as pfa
from tradewind.experiments.request import Reproduction, Request
from tradewind.experiments.steep import reproduce as steep

PAPERS: Mapping[str, Callable[[Request], Reproduction]] = MappingProxyType(
    {"pfa": pfa.reproduce, "steep": steep.reproduce}
)
