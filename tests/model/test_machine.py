"""What machine types offer, and what their use costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.model.machine import Billing, MachineType
from tradewind.model.requirement import ANYTHING, Requirement, amounts
from tradewind.model.units import HOUR, MINUTE, SECOND


@pytest.mark.parametrize(
    ("billing", "held", "used"),
    [
        (Billing(HOUR), 1, HOUR),
        (Billing(HOUR), HOUR, HOUR),
        (Billing(HOUR), HOUR + 1, 2 * HOUR),
        (Billing(HOUR), 0, 0),
        (Billing(HOUR, rounding=MINUTE), 61 * SECOND, 2 * MINUTE),
        (Billing(HOUR, rounding=SECOND, minimum=MINUTE), SECOND, MINUTE),
    ],
)
def test_use_is_rounded_up(billing: Billing, held: int, used: int) -> None:
    assert billing.used(held) == used


@given(st.integers(1, HOUR), st.integers(0, 10 * HOUR))
def test_never_less_than_held_is_charged(period: int, held: int) -> None:
    assert held <= Billing(period).used(held) < held + period


@pytest.mark.parametrize(
    ("memory", "shown"), [(37 * 10**9, "memory=37GB"), (1_500_000, "memory=1.5MB"), (2**30 + 1, "memory=1073741825")]
)
def test_memory_is_shown_as_a_size_unless_that_would_round_it(memory: int, shown: str) -> None:
    assert str(Requirement(amounts=amounts(cpus=5, memory=memory))) == f"cpus=5, {shown}"


def test_offers_what_it_has() -> None:
    machine = MachineType("m", capabilities=frozenset({"gpu", "fast"}), amounts=amounts(cpus=4, memory=8))
    assert machine.offers(ANYTHING)
    assert machine.offers(Requirement(frozenset({"gpu"}), amounts(cpus=4)))
    assert not machine.offers(Requirement(frozenset({"tpu"})))
    assert not machine.offers(Requirement(amounts=amounts(cpus=5)))
    assert not machine.offers(Requirement(amounts=amounts(licences=1)))


def test_requirements_tell_themselves() -> None:
    assert str(ANYTHING) == "any machine"
    assert str(Requirement(frozenset({"b", "a"}), amounts(cpus=2, gpus=0))) == "a, b, cpus=2"
