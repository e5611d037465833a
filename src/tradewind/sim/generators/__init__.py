"""Workflows made to order: families of published structure and plain shapes, any size, the same for the same seed."""

import difflib
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from tradewind.model.workflow import Workflow
from tradewind.sim.generators.chain import chain
from tradewind.sim.generators.cybershake import cybershake
from tradewind.sim.generators.epigenomics import epigenomics
from tradewind.sim.generators.forkjoin import forkjoin
from tradewind.sim.generators.layered import layered
from tradewind.sim.generators.ligo import ligo
from tradewind.sim.generators.montage import montage
from tradewind.sim.generators.sipht import sipht

Family: TypeAlias = Callable[[int, random.Random], Workflow]

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "chain": chain,
        "cybershake": cybershake,
        "epigenomics": epigenomics,
        "forkjoin": forkjoin,
        "layered": layered,
        "ligo": ligo,
        "montage": montage,
        "sipht": sipht,
    }
)


def generate(family: str, tasks: int, rng: random.Random) -> Workflow:
    """A workflow of the family with so many tasks, or as near as its structure permits."""
    if family not in FAMILIES:
        near = difflib.get_close_matches(family.lower(), FAMILIES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(FAMILIES)}"
        raise ValueError(f"no family of workflows is named {family!r}; {hint}")
    return FAMILIES[family](tasks, rng)
