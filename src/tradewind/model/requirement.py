"""What a piece of work asks of the machine it runs on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Amounts: TypeAlias = tuple[tuple[str, int], ...]
"""Countable things such as cpus, memory (in bytes) and gpus, sorted by name so that equal amounts are equal values."""


def amounts(**counts: int) -> Amounts:
    """Amounts by name; what is zero is not asked for and left out."""
    return amounts_of(counts)


def amounts_of(counts: Mapping[str, int]) -> Amounts:
    """Amounts from a mapping; what is zero is not asked for and left out."""
    return tuple(sorted((name, count) for name, count in counts.items() if count))


@dataclass(frozen=True, slots=True)
class Requirement:
    """Capabilities a machine must offer, and the amounts that are taken from it while the work runs."""

    capabilities: frozenset[str] = frozenset()
    amounts: Amounts = ()

    def __str__(self) -> str:
        parts = sorted(self.capabilities) + [f"{name}={count}" for name, count in self.amounts]
        return ", ".join(parts) or "any machine"


ANYTHING = Requirement()
"""Asks for one slot of any machine."""
