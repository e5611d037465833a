from dataclasses import replace

import pytest
from studies import ELASTICITY, Change, made_up, only, timing

from tradewind.experiments.claims import Claim
from tradewind.experiments.pfa.judge import judge
from tradewind.experiments.pfa.measure import UserResult
from tradewind.experiments.pfa.notes import notes
from tradewind.experiments.pfa.run import Study
from tradewind.experiments.pfa.settings import (
    BASELINE,
    DIFFERENT,
    EQUAL,
    FULL,
    PFA_EWMA,
    PFA_MA,
    PLF,
    QUICK,
    RICHEST,
    SCF,
    SCF_DYNAMIC,
    SECOND_WORKLOAD,
    Setting,
    Variant,
)


def verdicts(study: Study) -> dict[str, bool | None]:
    return {claim.id: claim.holds for claim in judge(study)}


def claim(number: str, study: Study) -> Claim:
    return next(each for each in judge(study) if each.id == number)


def failing(study: Study) -> set[str]:
    return {number for number, holds in verdicts(study).items() if not holds}


def at(setting: Setting, change: Change) -> Change:
    return lambda where, variant, user: change(where, variant, user) if where == setting else user


def test_all_claims_hold_where_all_figures_are_the_papers() -> None:
    assert verdicts(made_up()) == dict.fromkeys("12345678", True)


@pytest.mark.parametrize("setting", [EQUAL[0], BASELINE, DIFFERENT, SECOND_WORKLOAD])
@pytest.mark.parametrize("variant", [PFA_MA[0], PFA_MA[2], PFA_EWMA[1]])
def test_one_variant_of_pfa_behind_scf_in_one_setting_refutes_claim_1(setting: Setting, variant: Variant) -> None:
    study = made_up(at(setting, only(variant, slowdowns=(3.2, 3.4))))
    assert "1" in failing(study)
    assert claim("1", study).ours.startswith("in " + ("5 of 7" if setting == DIFFERENT else "6 of 7"))


def test_one_user_of_two_is_enough_to_refute_claim_1() -> None:
    def change(setting: Setting, variant: Variant, user: UserResult) -> UserResult:
        slow = setting == DIFFERENT and variant == PFA_MA[0] and user.budget == 80
        return replace(user, slowdowns=(9.0,)) if slow else user

    assert claim("1", made_up(change)).ours.startswith("in 6 of 7")


def test_the_lead_is_that_of_the_best_variant_over_the_worst_rival() -> None:
    study = made_up(only(PFA_EWMA[0], slowdowns=(1.0,)))
    assert "by up to 77%" in claim("1", study).ours  # 1 against 4 (1.2 - 60/600) of PLF at the smallest budget


@pytest.mark.parametrize("variant", [PFA_MA[0], PFA_EWMA[0], PLF, SCF])
def test_a_step_up_refutes_claim_2(variant: Variant) -> None:
    study = made_up(at(RICHEST, lambda _s, v, user: _slower(user, 1.2) if v == variant else user))
    assert "2" in failing(study)
    assert variant.label in claim("2", study).note


def test_a_tiny_rise_is_no_step_up() -> None:
    def level(setting: Setting, _variant: Variant, user: UserResult) -> UserResult:
        middle = {EQUAL[1]: 2.0, EQUAL[2]: 2.03}.get(setting)
        return user if middle is None else replace(user, slowdowns=(0.5 * middle, 1.5 * middle))

    found = claim("2", made_up(lambda s, v, u: level(s, v, u) if v == PFA_MA[0] else u))
    assert found.holds
    assert "another seed may give another verdict" in found.note


def test_growing_deviation_alone_refutes_claim_2() -> None:
    study = made_up(at(RICHEST, lambda _s, v, user: replace(user, slowdowns=(0.1, 5.9)) if v == SCF else user))
    assert claim("2", study).note.startswith("Rising: deviation of scf from 100 to 120 by ")


def test_one_overspent_interval_refutes_claim_3() -> None:
    study = made_up(at(DIFFERENT, only(SCF_DYNAMIC, peak=120.000001)))
    assert failing(study) == {"3"}
    assert claim("3", study).ours.startswith("in 2 of 120 cases")  # one run, both users


def test_slow_decisions_refute_claim_4() -> None:
    assert failing(made_up(plf=timing("plf", mean=2.9))) == {"4"}
    assert "2.9 times (plf)" in claim("4", made_up(plf=timing("plf", mean=2.9))).ours


def test_cheap_planning_or_dear_tokens_refute_claim_5() -> None:
    assert failing(made_up(scf=timing("scf", phases={"supply": 0.3, "plan": 0.5}))) == {"5"}
    assert failing(made_up(pfa=timing("pfa", phases={"tokens": 0.65}))) == {"5"}
    assert failing(made_up(pfa=timing("pfa", phases={"tokens": 0.45}))) == set()


@pytest.mark.parametrize(
    ("variant", "metric", "value"),
    [
        (SCF, "a_o", 0.01),  # no longer the most in excess
        (SCF, "t_u", 0.9),  # no longer the least time short
        (PLF, "a_u", 0.04),  # no longer the most short
        (PFA_MA[0], "a_o", 0.30),  # no longer the most accurate
        (PFA_EWMA[0], "a_u", 0.12),
    ],
)
def test_other_elasticity_refutes_claim_6(variant: Variant, metric: str, value: float) -> None:
    elasticity = ELASTICITY[variant.policy] | {metric: value}
    assert failing(made_up(only(variant, elasticity=elasticity))) == {"6"}


def test_scf_may_be_anything_at_small_budgets() -> None:
    tame = ELASTICITY["scf"] | {"t_o": 0.1, "t_u": 0.9}
    assert failing(made_up(at(EQUAL[0], only(SCF, elasticity=tame)))) == set()


@pytest.mark.parametrize(
    "change",
    [
        only(SCF, busy=((9.0,), (0.0,))),
        only(PLF, held=((9.0,), (0.0,))),
        at(EQUAL[0], only(PFA_EWMA[0], held=((20.5,), (0.0,)))),
    ],
)
def test_other_counts_of_machines_refute_claim_7(change: Change) -> None:
    study = made_up(change)
    assert failing(study) == {"7"}
    assert claim("7", study).note


def test_parameters_that_matter_refute_claim_8() -> None:
    assert failing(made_up(at(BASELINE, only(PFA_MA[1], slowdowns=(1.5, 1.9))))) == {"8"}


def test_the_notes_tell_what_placement_explains() -> None:
    first = notes(made_up(), FULL)[0]
    # at budget 100 the means are 31/15 for pfa; plf gains 0.5 of a lead of 31/15, scf 0.5 of one of 31/30
    assert "24% of PFA's lead over plf and 48% of PFA's lead over scf" in first


def test_a_shortened_run_says_so() -> None:
    assert not any("shortened" in note for note in notes(made_up(), FULL))
    assert any("1 of 3 sets" in note for note in notes(made_up(), QUICK))


def test_the_missing_claim_is_named() -> None:
    assert any(note.startswith("Claim 9") for note in notes(made_up(), FULL))


def _slower(user: UserResult, factor: float) -> UserResult:
    return replace(user, slowdowns=tuple(factor * value for value in user.slowdowns))
