"""Made-up studies with known answers: the paper's claims all hold in them until a test changes a figure."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tradewind.experiments.pfa.measure import Result, UserResult
from tradewind.experiments.pfa.run import Study
from tradewind.experiments.pfa.settings import FULL, MAIN, PFAS, PLF, SCF, Setting, Variant
from tradewind.experiments.pfa.timing import Timing

Change = Callable[[Setting, Variant, UserResult], UserResult]

MEANS = {"pfa": 2.0, "plf": 4.0, "scf": 3.0}
COUNTS = {"pfa": (8.0, 10.0), "plf": (8.0, 20.0), "scf": (6.0, 30.0)}
"""Machines busy and held."""
ELASTICITY = {
    "pfa": {"a_u": 0.05, "a_o": 0.05, "t_u": 0.3, "t_o": 0.6},
    "plf": {"a_u": 0.10, "a_o": 0.06, "t_u": 0.4, "t_o": 0.5},
    "scf": {"a_u": 0.02, "a_o": 0.20, "t_u": 0.1, "t_o": 0.8},
}
PHASES: Mapping[str, Mapping[str, float]] = {
    "pfa": {"profile": 0.4, "tokens": 0.5},
    "plf": {"supply": 0.03, "consolidate": 0.05, "plan": 0.9},
    "scf": {"supply": 0.3, "plan": 0.65},
}
SPEEDS = {"pfa": 1.0, "plf": 3.5, "scf": 4.0}


def made_up(change: Change = lambda _setting, _variant, user: user, **timings: Timing) -> Study:
    """A study in which every claim holds, but for what is changed; timings go by policy."""
    results = {
        (setting, variant): (
            Result(tuple(change(setting, variant, _user(setting, variant, i)) for i in (0, 1)), 600.0),
        )
        for setting, variant in FULL.grid()
    }
    return Study(results, {v: timings.get(v.policy, timing(v.policy)) for v in MAIN}, {})


def only(*variants: Variant, **fields: object) -> Change:
    """Changes fields of what users of some variants saw."""
    return lambda _setting, variant, user: replace(user, **fields) if variant in variants else user  # type: ignore[arg-type]


def timing(policy: str, *, mean: float | None = None, phases: Mapping[str, float] | None = None) -> Timing:
    """Two decisions of a mean length, of which phases take so large shares."""
    mean = SPEEDS[policy] if mean is None else mean
    shares = PHASES[policy] if phases is None else phases
    return Timing((0.5 * mean, 1.5 * mean), {name: 2 * mean * share for name, share in shares.items()})


def _user(setting: Setting, variant: Variant, index: int) -> UserResult:
    budget = setting.budgets[index]
    mean = MEANS[variant.policy] * (1.2 - budget / 600)
    if variant not in (*PFAS, PLF, SCF):
        mean -= 0.5
    busy, held = COUNTS[variant.policy]
    return UserResult(
        budget=budget,
        slowdowns=(0.5 * mean, 1.5 * mean),
        waits=(10.0,),
        peak=budget,
        costs=((5.0, 5.0), (25.0, 25.0)),
        busy=((busy, busy), (0.0, 0.0)),
        held=((held, held), (0.0, 0.0)),
        elasticity=ELASTICITY[variant.policy],
    )
