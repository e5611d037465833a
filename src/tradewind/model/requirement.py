"""Requirements: what a piece of work needs from its machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tradewind.model.units import parse_size, show_size

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Countable resources such as cpus, memory (in bytes) and gpus, sorted by name so that equal amounts are equal."""


def amounts(**counts: int) -> Amounts:
    """Return amounts by name, without zeros."""
    return amounts_of(counts)


def amounts_of(counts: Mapping[str, int]) -> Amounts:
    """Return amounts from a mapping, without zeros."""
    return tuple(sorted((name, count) for name, count in counts.items() if count))


@dataclass(frozen=True, slots=True)
class Requirement:
    """Capabilities that a machine must offer, and amounts that the work takes from it."""

    capabilities: frozenset[str] = frozenset()
    amounts: Amounts = ()

    def with_memory(self, count: int) -> "Requirement":
        """Return the same requirement with another amount of memory."""
        return Requirement(self.capabilities, amounts_of({**dict(self.amounts), "memory": count}))

    def __str__(self) -> str:
        parts = sorted(self.capabilities) + [f"{name}={_shown(name, count)}" for name, count in self.amounts]
        return ", ".join(parts) or "any machine"


def _shown(name: str, count: int) -> str:
    """Format an amount; memory as a size, unless that would round it."""
    size = show_size(count)
    return size if name == "memory" and parse_size(size) == count else str(count)


ANYTHING = Requirement()
"""A requirement for one slot of any machine."""
