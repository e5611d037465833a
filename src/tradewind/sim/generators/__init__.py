"""Workflow generators: published families and plain shapes of any size, the same for the same seed.

The published families follow Bharathi et al., `Characterization of scientific workflows` (2008), and Juve et al.,
`Characterizing and profiling scientific workflows` (2013). Each module says where it differs.
"""

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from tradewind.formats.errors import did_you_mean, quoted
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
    """Return a workflow of a family with a number of tasks, or as close as its structure permits."""
    if family not in FAMILIES:
        hint = did_you_mean(family.lower(), FAMILIES) or f"use one of {', '.join(FAMILIES)}"
        raise ValueError(f"no workflow family is named {quoted(family)}; {hint}")
    return FAMILIES[family](tasks, rng)
