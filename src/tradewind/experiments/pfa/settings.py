"""The budget paper's system, workloads, budgets and policies (sections 4.2 and 4.3, Table 3).

We run every policy in every setting, where the paper leaves some out. `plf dynamic` and `scf dynamic` are ours: they
combine the scaling of PLF and SCF with PFA's placement, which shows how much of PFA's lead comes from renting and how
much from starting tasks immediately.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tradewind.model.machine import MachineType
from tradewind.model.scenario import Arrivals, Scenario
from tradewind.model.tenant import Tenant
from tradewind.model.units import MINUTE, money

TYPES = (MachineType("small", money(1), limit=32), MachineType("large", money(5), limit=32))
"""Billed by the minute and ready immediately, as in the paper."""
SIZE = sum(type.limit for type in TYPES)
USERS = ("user 1", "user 2")
INTERVAL = MINUTE
ARRIVALS = Arrivals("poisson", {"utilisation": 0.2, "machines": SIZE})
REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy with its parameters."""

    label: str
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)


PFA_MA = tuple(Variant(f"pfa m={m}", "pfa", {"smoothing": "ma", "m": m}) for m in (10, 20, 30))
PFA_EWMA = tuple(Variant(f"pfa alpha={a}", "pfa", {"smoothing": "ewma", "alpha": a}) for a in (0.7, 0.8, 0.9))
PFAS = (*PFA_MA, *PFA_EWMA)
PLF = Variant("plf", "plf")
SCF = Variant("scf", "scf")
PLF_DYNAMIC = Variant("plf dynamic", "plf", {"placement": "dynamic"})
SCF_DYNAMIC = Variant("scf dynamic", "scf", {"placement": "dynamic"})
VARIANTS = (*PFAS, PLF, SCF, PLF_DYNAMIC, SCF_DYNAMIC)

MAIN = (PFA_MA[0], PFA_EWMA[0], PLF, SCF)
"""The policies of most figures: PFA with m = 10 and with alpha = 0.7, PLF and SCF."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A workload, and the budget of each user per interval."""

    label: str
    workload: int
    budgets: tuple[int, int]


EQUAL = tuple(Setting(f"{b}", 1, (b, b)) for b in (60, 80, 100, 120))
DIFFERENT = Setting("120/80", 1, (120, 80))
SECOND_WORKLOAD = Setting("100, WL II", 2, (100, 100))
SETTINGS = (*EQUAL, DIFFERENT, SECOND_WORKLOAD)
BASELINE = EQUAL[2]
RICHEST = EQUAL[3]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is run."""

    workflows: int = 200
    repetitions: int = REPETITIONS
    rounds: int = 3
    """Rounds of timing decisions: with one round the ratio of two policies varies by a quarter, with three by 5%."""
    everywhere: bool = True
    """Whether all variants run in every setting, or only the main ones outside the baseline."""

    def grid(self) -> list[tuple[Setting, Variant]]:
        """Return which policies run in which setting."""
        return [
            (setting, variant)
            for setting in SETTINGS
            for variant in VARIANTS
            if self.everywhere or setting == BASELINE or variant in MAIN
        ]


FULL = Extent()
QUICK = Extent(repetitions=1, everywhere=False)
"""One complete set out of three: with fewer workflows, chance decides most of the claims."""


def scenario(setting: Setting, variant: Variant, seed: int) -> Scenario:
    """Return one experiment without its submissions, which are the same for all."""
    return Scenario(
        workload=(),
        machines=TYPES,
        tenants=tuple(
            Tenant(user, money(budget), INTERVAL) for user, budget in zip(USERS, setting.budgets, strict=True)
        ),
        policy=variant.policy,
        parameters=variant.parameters,
        interval=INTERVAL,
        seed=seed,
    )
